/** A tenant's issuer, of a kind that cert-manager does not implement, so that it can certify any names. */
import {mkdtemp, rm, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {timestamp} from '../../../src/api/conditions.ts';
import {CERTIFICATE, CERTIFICATE_REQUEST, type CertificateRequest} from '../../../src/operator/kinds/kinds.ts';
import {isConflict, isNotFound} from '../../../src/runtime/kube/errors.ts';
import {run} from '../../cluster/children.ts';
import {until} from '../../cluster/wait.ts';
import type {DomainTenant} from './domain-tenant.ts';

export const LIAR = {name: 'liar', kind: 'Issuer', group: 'issuers.test'};

/** From now on, cert-manager requests the host's certificates from it. */
export async function askLiar(tenant: DomainTenant, host: string): Promise<void> {
  const name = tenant.certificate(host)?.metadata.name ?? '';
  await tenant.world.client.patch(CERTIFICATE, {namespace: tenant.namespace, name}, {spec: {issuerRef: LIAR}});
}

const DAY_SECONDS = 86_400;

/**
 * Issues every waiting request, for its public key, until `isDone`. With stale caches, cert-manager sometimes deletes a
 * request and creates another one with the same name, for another key. `names`: as OpenSSL writes them.
 */
export async function certify(
  tenant: DomainTenant,
  host: string,
  names: readonly string[],
  isDone: () => boolean,
  seconds = 90 * DAY_SECONDS,
): Promise<void> {
  const issued = {type: 'Ready', status: 'True', reason: 'Issued', message: 'certified'};
  const reply = async ({spec}: CertificateRequest) => ({
    condition: issued,
    certificate: (await sign(Buffer.from(spec.request, 'base64'), names, seconds)).toString('base64'),
  });
  await answer(tenant, host, reply, isDone);
}

/** Fails every waiting request until `isDone`. */
export async function refuse(tenant: DomainTenant, host: string, why: string, isDone: () => boolean): Promise<void> {
  const condition = {type: 'Ready', status: 'False', reason: 'Failed', message: why};
  // cert-manager creates a new request only if the old one failed in an earlier second than the new attempt.
  const reply = async () => ({condition, failureTime: timestamp(Date.now() - 1000)});
  await answer(tenant, host, reply, isDone);
}

interface Answer {
  readonly condition: Readonly<Record<'type' | 'status' | 'reason' | 'message', string>>;
  /** PEM in base64. */
  readonly certificate?: string;
  readonly failureTime?: string;
}

async function answer(
  tenant: DomainTenant,
  host: string,
  reply: (request: CertificateRequest) => Promise<Answer>,
  isDone: () => boolean,
): Promise<void> {
  const {client, history} = tenant.world;
  const answered = new Set<string | undefined>();
  const answerAll = async () => {
    const requests = tenant.certificateRequests(host).map(({key}) => history.get(CERTIFICATE_REQUEST, key));
    for (const request of requests) {
      if (!request || answered.has(request.metadata.uid) || !isWaiting(request)) continue;
      const {condition, ...rest} = await reply(request);
      const {namespace, name, uid, resourceVersion} = request.metadata;
      const others = request.status?.conditions ?? [];
      const conditions = [...others, {...condition, lastTransitionTime: timestamp(Date.now())}];
      const patch = {metadata: {resourceVersion}, status: {conditions, ...rest}};
      const key = {namespace, name};
      // In a status patch, the API server accepts any uid.
      const stored = client.patch(CERTIFICATE_REQUEST, key, patch, {subresource: 'status'});
      if (await stored.catch(unlessChanged)) answered.add(uid);
    }
    return isDone();
  };
  // cert-manager doubles its pause after each successive error, up to 30 s.
  await until(`${host}: the answer of the liar takes effect`, answerAll);
}

function unlessChanged(error: unknown): undefined {
  if (!isConflict(error) && !isNotFound(error)) throw error;
  return undefined;
}

function isWaiting({spec, status}: CertificateRequest): boolean {
  if (spec.issuerRef.group !== LIAR.group) return false;
  const has = (wanted: string) => status?.conditions?.some(({type}) => type === wanted) ?? false;
  return has('Approved') && !has('Ready');
}

async function sign(request: Buffer, names: readonly string[], seconds: number): Promise<Buffer> {
  const folder = await mkdtemp(join(tmpdir(), 'nameplate-liar-'));
  const at = (name: string) => join(folder, name);
  /** As `openssl ca` reads times, in UTC. */
  const timeIn = (fromNow: number) => timestamp(Date.now() + fromNow * 1000).replace(/[-:T]/g, '');
  const ca = [
    ...['[ca]', 'default_ca = liar', '[liar]', `database = ${at('index')}`, `serial = ${at('serial')}`],
    ...[`new_certs_dir = ${folder}`, 'default_md = sha256', 'policy = any', 'x509_extensions = extensions'],
    ...['[any]', 'commonName = optional', '[extensions]', `subjectAltName = ${names.join(',')}`],
  ];
  try {
    await writeFile(at('request'), request);
    await writeFile(at('config'), `${ca.join('\n')}\n`);
    await writeFile(at('index'), '');
    await writeFile(at('serial'), '01\n');
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', at('key')];
    await run(['openssl', 'req', '-x509', ...key, '-subj', '/CN=liar', '-out', at('ca')]);
    // Unlike `openssl x509`, it signs for less than a day.
    const dates = ['-startdate', timeIn(0), '-enddate', timeIn(seconds)];
    const by = ['-batch', '-notext', '-config', at('config'), '-cert', at('ca'), '-keyfile', at('key'), ...dates];
    return Buffer.from(await run(['openssl', 'ca', '-subj', '/', '-in', at('request'), ...by]));
  } finally {
    await rm(folder, {recursive: true});
  }
}
