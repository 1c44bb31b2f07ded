/**
 * Whom the chart's NetworkPolicies let in, according to the rendered peers. The test cluster's network enforces none.
 */
import {join} from 'node:path';
import {beforeAll, describe, expect, test} from 'vitest';
import {parseAllDocuments} from 'yaml';
import {run} from '../../cluster/children.ts';
import {ensurePrograms, HELM} from '../../cluster/programs.ts';

const ROOT = join(import.meta.dirname, '../../..');
const SYSTEM = 'nameplate-system';

type Labels = Readonly<Record<string, string>>;
interface Selector {
  readonly matchLabels?: Labels;
}
interface Peer {
  readonly podSelector?: Selector;
  readonly namespaceSelector?: Selector;
}
interface Policy {
  readonly metadata: {readonly name: string; readonly namespace: string};
  readonly spec: {
    readonly podSelector: Selector;
    readonly policyTypes: readonly string[];
    readonly ingress: readonly {readonly from?: readonly Peer[]; readonly ports: readonly {readonly port: string}[]}[];
    readonly egress?: readonly {
      readonly to?: readonly Peer[];
      readonly ports: readonly {readonly port: number; readonly protocol: string}[];
    }[];
  };
}
interface Pod {
  readonly namespace: string;
  readonly labels?: Labels;
}

let helm: string;
beforeAll(async () => {
  helm = (await ensurePrograms([HELM])).path('helm');
});

/** The policies by name. */
async function render(...values: readonly string[]): Promise<ReadonlyMap<string, Policy>> {
  const files = [
    '--values',
    join(ROOT, 'examples/values.yaml'),
    '--set',
    'messages.enabled=true,messages.host=a.example,challenges.enabled=true',
    '--set',
    'nameserver.enabled=true,nameserver.names={ns1.example.net},config.platform.acmeDomain=acme.example.net',
  ];
  const rendered = await run([
    helm,
    'template',
    'nameplate',
    join(ROOT, 'charts/nameplate'),
    '-n',
    SYSTEM,
    ...files,
    ...values,
  ]);
  const objects = parseAllDocuments(rendered).map(document => document.toJS() as ({kind: string} & Policy) | null);
  return new Map(
    objects.flatMap(object => (object?.kind === 'NetworkPolicy' ? [[object.metadata.name, object] as const] : [])),
  );
}

/**
 * Selects like Kubernetes: a rule without peers admits everybody, and a peer without a namespaceSelector only its own
 * namespace.
 */
function admits({metadata, spec}: Policy, port: string, {namespace, labels = {}}: Pod): boolean {
  const has = ({matchLabels = {}}: Selector, actual: Labels) =>
    Object.entries(matchLabels).every(([key, value]) => actual[key] === value);
  const isPeer = ({podSelector = {}, namespaceSelector}: Peer) =>
    has(podSelector, labels) &&
    (namespaceSelector
      ? has(namespaceSelector, {'kubernetes.io/metadata.name': namespace})
      : namespace === metadata.namespace);
  const rules = spec.ingress.filter(({ports}) => ports.some(each => each.port === port));
  return rules.some(({from}) => from === undefined || from.some(isPeer));
}

const TRAEFIK = {'app.kubernetes.io/name': 'traefik'};
const tenant: Pod = {namespace: 'tenant', labels: {...TRAEFIK, 'app.kubernetes.io/instance': 'nameplate'}};
const ours: Pod = {namespace: SYSTEM};
const prometheus: Pod = {namespace: 'monitoring'};
const MONITORING = 'namespaceSelector.matchLabels.kubernetes\\.io/metadata\\.name=monitoring';

describe.each([
  ['by default', [], [ours]],
  ['with a named Prometheus', ['--set-string', `networkPolicy.metricsFrom[0].${MONITORING}`], [prometheus]],
])('%s', (_, values, readers) => {
  // attack: blocked-probes
  test('only the platform reads metrics, whatever labels a tenant gives its pods', async () => {
    const policies = await render(...values);
    for (const [name, port] of [
      ['nameplate', 'http'],
      ['nameplate-messages', 'operations'],
      ['nameplate-challenges', 'operations'],
      ['nameplate-nameserver', 'operations'],
    ] as const) {
      const policy = policies.get(name);
      if (!policy) throw new Error(`no policy ${name}`);
      expect(policy.spec.policyTypes).toEqual(['Ingress', 'Egress']);
      const admitted = [tenant, ours, prometheus].filter(pod => admits(policy, port, pod));
      expect(admitted).toEqual(readers);
    }
  });
});

describe.each(['nameplate-messages', 'nameplate-challenges'])('%s', name => {
  // attack: blocked-probes
  test.each([
    {who: 'Traefik as its chart installs it', pod: {namespace: 'traefik', labels: TRAEFIK}, want: true},
    {who: 'Traefik of k3s', pod: {namespace: 'kube-system', labels: TRAEFIK}, want: true},
    {who: 'another pod of kube-system', pod: {namespace: 'kube-system', labels: {'k8s-app': 'kube-dns'}}, want: false},
    {who: "a tenant's pod that calls itself Traefik", pod: tenant, want: false},
  ])('does it let in $who? $want', async ({pod, want}) => {
    const policy = (await render()).get(name);
    expect(policy && admits(policy, 'http', pod)).toBe(want);
  });
});

test('the operator reaches the challenge responder, which reaches nothing', async () => {
  const policies = await render();
  const operator: Pod = {namespace: SYSTEM, labels: policies.get('nameplate')?.spec.podSelector.matchLabels ?? {}};
  const policy = policies.get('nameplate-challenges');
  expect(policy && admits(policy, 'http', operator)).toBe(true);
  expect(policy?.spec).toMatchObject({policyTypes: ['Ingress', 'Egress']});
  expect(policy?.spec.egress).toBeUndefined();
  const to = [{podSelector: policy?.spec.podSelector}];
  expect(policies.get('nameplate')?.spec.egress).toContainEqual({ports: [{port: 8080, protocol: 'TCP'}], to});
});

test('everybody reaches the name server, which reaches only the API server', async () => {
  const policy = (await render()).get('nameplate-nameserver');
  expect(policy && admits(policy, 'dns', tenant)).toBe(true);
  expect(policy?.spec.egress).toEqual([{ports: [443, 6443, 8443, 16443].map(port => ({port, protocol: 'TCP'}))}]);
});

test('without peers, only the release’s namespace reaches the messages API', async () => {
  const policy = (await render('--set-json', 'messages.networkPolicy.from=[]')).get('nameplate-messages');
  const pods = [tenant, ours, {namespace: 'traefik', labels: TRAEFIK}];
  expect(pods.filter(pod => policy && admits(policy, 'http', pod))).toEqual([ours]);
});

test('the operator reaches resolvers on the ports that its configuration names', async () => {
  const recursives = 'config.dns.recursives={9.9.9.9,10.0.0.1:5353,[fd00::1]:5300,fd00::53}';
  const policy = (await render('--set', recursives)).get('nameplate');
  const outside = policy?.spec.egress?.filter(({to}) => to === undefined);
  const udp = outside?.flatMap(({ports}) => ports.filter(({protocol}) => protocol === 'UDP'));
  expect(udp?.map(({port}) => port)).toEqual([53, 5353, 5353, 5300]);
});

const tcpPorts = (policy: Policy | undefined) =>
  policy?.spec.egress?.map(({ports}) => ports.filter(({protocol}) => protocol === 'TCP').map(({port}) => port));

test('the operator reaches the edge on the ports that its configuration names', async () => {
  const addresses = 'config.probes.addresses={edge.edge.svc:9443,192.0.2.7,[fd00::7]:10443,fd00::8}';
  expect(tcpPorts((await render('--set', addresses)).get('nameplate'))).toContainEqual([443, 8443, 10_443, 9443]);
});

test('a list without ports allows none: a rule without ports would allow all', async () => {
  const [all, without] = await Promise.all([render(), render('--set-json', 'networkPolicy.edgePorts=[]')]);
  const [before, after] = [all, without].map(policies => tcpPorts(policies.get('nameplate')));
  expect(after).toEqual(before?.filter(ports => !ports.includes(10_443)));
  await expect(render('--set-json', 'networkPolicy.apiServerPorts=[]')).rejects.toThrow(
    'networkPolicy.apiServerPorts is',
  );
});

test('the messages API reaches its database only if it has one, and nothing else of the internet', async () => {
  const egress = async (...values: readonly string[]) => {
    const rules = (await render(...values)).get('nameplate-messages')?.spec.egress ?? [];
    return rules.map(({to, ports}) => ({to, ports: ports.map(({port, protocol}) => `${port}/${protocol}`)}));
  };
  const [apiServer, ...none] = await egress();
  expect(none).toEqual([]);
  const to = [{podSelector: {matchLabels: {'cnpg.io/cluster': 'messages-db'}}}];
  const network = `messages.postgres.networkPolicy={"to": ${JSON.stringify(to)}, "port": 5433}`;
  const kind = 'messages.config.store.kind=postgres,messages.postgres.secret=s';
  expect(await egress('--set', kind, '--set-json', network)).toEqual([
    apiServer,
    {to: undefined, ports: ['53/UDP', '53/TCP', '5353/UDP', '5353/TCP']},
    {to, ports: ['5433/TCP']},
  ]);
});

test('the migration reaches the database and nothing else, and nobody reaches it', async () => {
  const kind = 'messages.config.store.kind=postgres,messages.postgres.secret=s';
  const policies = await render('--set', `${kind},messages.postgres.migrate=true`);
  const names = ['nameplate-messages', 'nameplate-messages-migration', 'nameplate-messages-check'];
  const [ofPods, ofMigration, ofCheck] = names.map(name => policies.get(name));
  expect(ofMigration?.spec).toMatchObject({
    podSelector: {matchLabels: {'app.kubernetes.io/component': 'messages-migration'}},
    policyTypes: ['Ingress', 'Egress'],
  });
  expect(ofMigration?.spec.ingress).toBeUndefined();
  expect(ofMigration?.spec.egress).toEqual(ofPods?.spec.egress?.slice(1)); // all but the API server
  expect(ofCheck?.spec).toEqual(ofMigration?.spec);
  const undo = await render('--set', 'messages.postgres.secret=s,messages.postgres.undoMigration=true');
  expect(undo.get('nameplate-messages-undo')?.spec).toEqual(ofMigration?.spec);
  expect([...(await render('--set', kind)).keys()].join()).not.toMatch(/migration|check|undo/);
});

test('they can be disabled', async () => {
  expect([...(await render('--set', 'networkPolicy.enabled=false')).keys()]).toEqual([]);
});
