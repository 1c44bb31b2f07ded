/** An admission webhook that refuses what the operator writes in one namespace. */
import {createServer, type Server} from 'node:https';
import type {AddressInfo} from 'node:net';
import {json} from 'node:stream/consumers';
import {freePorts} from '../../cluster/free-ports.ts';
import {until} from '../../cluster/wait.ts';
import {OPERATOR_USER} from '../../support/install.ts';
import {selfSigned} from '../../support/self-signed.ts';
import type {OperatorWorld} from './operator-world.ts';

export interface Refused {
  readonly namespace: string;
  readonly apiGroup: string;
  /** Perhaps with a subresource: "domains/status". */
  readonly resource: string;
  /** Default: CREATE and UPDATE. */
  readonly operations?: readonly string[];
}

/** What a webhook of `denyWith` says. */
export const DENIAL = 'denied the request: closed on Sundays';

/** Denies with the code. Returns a function that ends this. */
export async function denyWith(code: number, world: OperatorWorld, refused: Refused): Promise<() => Promise<void>> {
  const {cert, key} = await selfSigned(world.folder, `denying-${refused.namespace}`, 'IP:127.0.0.1');
  const server = createServer({cert, key}, async (request, response) => {
    const review = (await json(request)) as {request: {uid: string}};
    const verdict = {uid: review.request.uid, allowed: false, status: {code, message: 'closed on Sundays'}};
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response: verdict}));
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const {port} = server.address() as AddressInfo;
  const uninstall = await install(world, refused, port, cert.toString('base64'));
  return async () => {
    await uninstall();
    await close(server);
  };
}

/** Registers a webhook where nothing listens. */
export async function beDown(world: OperatorWorld, refused: Refused): Promise<() => Promise<void>> {
  const [port = 0] = await freePorts(1);
  return install(world, refused, port);
}

/** Returns once the API server enforces it, which takes it a moment: it also refuses the ConfigMaps of this function. */
async function install(
  {api}: OperatorWorld,
  {namespace, apiGroup, resource, operations = ['CREATE', 'UPDATE']}: Refused,
  port: number,
  caBundle?: string,
): Promise<() => Promise<void>> {
  const name = `${resource.replace('/', '-')}.${namespace}.test`;
  const webhook = {
    name,
    clientConfig: {url: `https://127.0.0.1:${port}/`, ...(caBundle && {caBundle})},
    rules: [
      {apiGroups: [apiGroup], apiVersions: ['*'], resources: [resource], operations},
      {apiGroups: [''], apiVersions: ['*'], resources: ['configmaps'], operations: ['CREATE']},
    ],
    namespaceSelector: {matchLabels: {'kubernetes.io/metadata.name': namespace}},
    matchConditions: [
      {
        name: 'operator',
        expression: `request.userInfo.username == '${OPERATOR_USER}' || request.resource.resource == 'configmaps'`,
      },
    ],
    failurePolicy: 'Fail',
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
    timeoutSeconds: 5,
  };
  const kind = 'ValidatingWebhookConfiguration';
  await api.apply(
    JSON.stringify({apiVersion: 'admissionregistration.k8s.io/v1', kind, metadata: {name}, webhooks: [webhook]}),
  );
  const probe = () => api.kubectl('create', 'configmap', 'probe', '-n', namespace, '--dry-run=server');
  const isEnforced = () =>
    probe().then(
      () => false,
      (error: Error) => error.message.includes(name),
    );
  await until(`${name} is enforced`, isEnforced, {intervalMs: 200});
  return async () => {
    await api.kubectl('delete', kind, name);
  };
}

async function close(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise<void>(resolve => server.close(() => resolve()));
}
