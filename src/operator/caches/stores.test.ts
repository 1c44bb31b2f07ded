import {describe, expect, test} from 'vitest';
import {ON_GATEWAY} from '../../../test/support/edge.ts';
import {operatorConfig} from '../../../test/support/operator-config.ts';
import {inSmallHeap} from '../../../test/support/small-heap.ts';
import {ANNOTATION, LABEL} from '../../api/names.ts';
import {includes, withHash} from '../../runtime/apply/apply.ts';
import {Store} from '../../runtime/cache/store.ts';
import type {CacheOptions, Manager} from '../../runtime/controller/manager.ts';
import type {KubeObject, ResourceType} from '../../runtime/kube/object.ts';
import {buildCertificate, certifiedBy} from '../certificate/certificate.ts';
import {gateway} from '../edge/gateway.ts';
import {CLIENT_TRAFFIC_POLICY} from '../edge/gateway-kinds.ts';
import {traefik} from '../edge/traefik.ts';
import {MAX_CHARACTERS} from '../kinds/csr.ts';
import {routeName} from '../kinds/derived-names.ts';
import {createStores} from './stores.ts';

const config = operatorConfig();
const edge = traefik(config.routing);

interface Cache {
  readonly resource: ResourceType;
  readonly options: CacheOptions<KubeObject>;
}

/** The caches that the operator creates. */
function caches(of = edge): Cache[] {
  const asked: Cache[] = [];
  const cache = (resource: ResourceType, options: CacheOptions<KubeObject> = {}) => {
    asked.push({resource, options});
    return new Store({onHandlerError: () => undefined});
  };
  createStores({cache} as unknown as Manager, config, {defaultHost: () => 'shop.apps.example.net'}, of);
  return asked;
}

const OURS = `${LABEL.managedBy}=nameplate`;
const isForOurs = ({options}: Cache) => options.labelSelector === OURS;
/** Only the operator writes claims: the policy own-kinds refuses everybody else. */
const ofTenants = caches().filter(({resource}) => !['DomainClaim', 'KeyClaim'].includes(resource.kind));

/** The most that the API server allows for annotations, and about the most for the rest. */
const LARGE = 'x'.repeat(256 * 1024);
const MANY = 4000;
const many = <T>(element: (index: number) => T): T[] => Array.from({length: MANY}, (_, index) => element(index));
const CONDITION = {status: 'True', reason: LARGE, message: LARGE, lastTransitionTime: '2026-11-21T12:00:00Z'};
const STATUS = {conditions: ['Ready', 'Other'].map(type => ({...CONDITION, type})), hoard: LARGE};
/** Content that a tenant may write in each kind if its schema sets no limit. */
const HOARDS: Readonly<Record<string, Record<string, unknown>>> = {
  Service: {
    spec: {
      type: 'ClusterIP',
      selector: Object.fromEntries(many(index => [`label-${index}`, LARGE.slice(0, 63)])),
      ports: many(port => ({name: `port-${port}`, port, protocol: 'TCP', appProtocol: LARGE.slice(0, 63)})),
      externalName: LARGE,
    },
  },
  CertificateRequest: {
    spec: {
      request: LARGE,
      usages: Array(10_000).fill('server auth'),
      issuerRef: {name: LARGE},
      username: LARGE,
      extra: {hoard: [LARGE]},
    },
    status: {...STATUS, certificate: LARGE},
  },
  Issuer: {spec: {acme: {server: LARGE, solvers: []}}, status: STATUS},
};
/** The schema of our own kinds bounds the spec, and only the operator writes their status. */
const OWN_SPEC = {host: 'a.test', projectRef: {name: 'shop'}, service: {name: 'shop'}};

function hoarding({group, version, kind}: ResourceType, name: string, changes: object = {}): KubeObject {
  const labels = {[LABEL.account]: 'acme', [LABEL.managed]: 'true', [LABEL.managedBy]: 'nameplate', hoard: LARGE};
  const annotations = {
    [ANNOTATION.firstDeployedAt]: '2026-11-21T12:00:00Z',
    [ANNOTATION.verifyRequestedAt]: LARGE,
    ...Object.fromEntries(many(index => [`hoard-${index}`, 'x'])),
    hoard: LARGE,
  };
  const metadata = {
    name,
    generateName: LARGE,
    namespace: 'ns',
    resourceVersion: '1',
    uid: 'u',
    labels,
    annotations,
    ownerReferences: [LARGE, ...many(String)].map(uid => ({apiVersion: 'v1', kind: 'ConfigMap', name: 'a', uid})),
    finalizers: many(index => `hoard.test/${index}`),
  };
  const anything = {spec: {hoard: LARGE, issuerRef: {name: LARGE}}, status: STATUS, data: {hoard: LARGE}, type: LARGE};
  const content = group === 'nameplate.dev' ? {spec: OWN_SPEC} : (HOARDS[kind] ?? anything);
  return {apiVersion: `${group}/${version}`, kind, metadata, ...content, ...changes} as KubeObject;
}

function keptOf({options}: Cache, object: KubeObject): KubeObject {
  const {apiVersion, kind, metadata} = object;
  const read = options.metadataOnly ? {apiVersion, kind, metadata} : object;
  return options.transform?.(read) ?? read;
}

test('there are caches of objects that tenants write', () => {
  expect(ofTenants.map(({resource}) => resource.plural)).toEqual(
    expect.arrayContaining(['projects', 'domains', 'apikeys', 'services', 'certificaterequests']),
  );
  const ours = ofTenants.filter(isForOurs).map(({resource}) => resource.plural);
  expect(ours.toSorted()).toEqual(['certificates', 'ingresses', 'middlewares', 'secrets', 'services']);
});

const rows = ofTenants.map(cache => ({what: cache.resource.kind + (isForOurs(cache) ? ' with our label' : ''), cache}));
const {true: labelled = [], false: others = []} = Object.groupBy(rows, ({cache}) => `${isForOurs(cache)}`);

describe('a cache', () => {
  // attack: operator-work
  test.each(rows)('keeps a bounded part of an object, whatever a tenant writes in it: $what', ({cache}) => {
    expect(JSON.stringify(keptOf(cache, hoarding(cache.resource, 'a.test'))).length).toBeLessThan(8192);
  });

  // attack: operator-work
  test.each(others)('keeps only the metadata that the operator reads: $what', ({cache}) => {
    const {metadata} = keptOf(cache, hoarding(cache.resource, 'a.test'));
    expect(metadata).toMatchObject({name: 'a.test', namespace: 'ns', resourceVersion: '1', uid: 'u'});
    const labels = {[LABEL.account]: 'acme', [LABEL.managed]: 'true', [LABEL.managedBy]: 'nameplate'};
    expect(metadata.labels).toEqual(labels);
    expect(metadata.annotations?.[ANNOTATION.firstDeployedAt]).toBe('2026-11-21T12:00:00Z');
  });

  // attack: operator-work
  test.each(labelled)('keeps only the identity, unless it has the name of one of our objects: $what', ({cache}) => {
    const {resource} = cache;
    const {metadata} = keptOf(cache, hoarding(resource, 'a.test'));
    expect(metadata).toEqual({name: 'a.test', namespace: 'ns', resourceVersion: '1', uid: 'u'});
    const content = {spec: {issuerRef: {name: 'ca'}}, status: {}, data: {}, type: ''};
    const named = keptOf(cache, hoarding(resource, routeName('ns', 'a.test'), content));
    expect(JSON.stringify(named).length).toBeLessThan(8192);
    expect(named.metadata.labels?.[LABEL.managedBy]).toBe('nameplate');
  });
});

function cacheOf(plural: string, isOurs = false): Cache {
  const found = ofTenants.find(cache => cache.resource.plural === plural && isForOurs(cache) === isOurs);
  if (!found) throw new Error(`no cache of ${plural}`);
  return found;
}

describe('the text of a certificate request', () => {
  const request = 'A'.repeat(MAX_CHARACTERS);
  const kept = (issuerRef: object) => {
    const cache = cacheOf('certificaterequests');
    return JSON.stringify(keptOf(cache, hoarding(cache.resource, 'a.test', {spec: {request, issuerRef}, status: {}})));
  };

  test('is kept while the request waits for a decision', () => {
    expect(kept({name: 'ca', kind: 'ClusterIssuer'})).toContain(request);
  });

  // attack: operator-work
  test('is not kept if Nameplate does not decide on requests to that kind of issuer', () => {
    expect(kept({name: 'ca', kind: 'AWSPCAIssuer', group: 'awspca.cert-manager.io'}).length).toBeLessThan(1024);
    expect(kept({name: LARGE, kind: LARGE, group: LARGE}).length).toBeLessThan(2048);
  });
});

test.each([
  {what: 'issued for a held host, whose claim has recorded the order', approval: 'HostHeld', held: false},
  {what: 'in progress', approval: 'HostHeld', ready: 'Pending', held: true},
  {what: 'failed', approval: 'HostHeld', ready: 'Failed', held: true},
  {
    what: 'issued for an exempt namespace, whose order is recorded nowhere else',
    approval: 'NamespaceExempt',
    held: true,
  },
  {what: 'issued, approved by cert-manager itself', approval: 'cert-manager.io', held: true},
  {what: 'not decided', held: true},
])('a certificate request is held or not: $what', ({approval, ready = 'Issued', held}) => {
  const {resource, options} = cacheOf('certificaterequests');
  const approved = {type: 'Approved', status: 'True', reason: approval};
  const progress = {type: 'Ready', status: ready === 'Issued' ? 'True' : 'False', reason: ready};
  const status = approval === undefined ? {} : {conditions: [approved, progress]};
  const request = hoarding(resource, 'a', {
    spec: {request: '', issuerRef: {name: 'ca', kind: 'ClusterIssuer'}},
    status,
  });
  const kept = keptOf({resource, options}, request);
  expect(options.holds?.(kept)).toBe(held);
});

test('an API key’s Secret keeps the metadata that identifies its APIKey', () => {
  const cache = cacheOf('secrets', true);
  const secret = hoarding(cache.resource, 'shop-apikey', {data: {}, spec: {}, status: {}, type: ''});
  const {labels, annotations} = secret.metadata;
  const metadata = {
    ...secret.metadata,
    labels: {...labels, [LABEL.apiKey]: 'shop'},
    annotations: {...annotations, [ANNOTATION.apiKeyUid]: 'uid'},
  };
  const kept = keptOf(cache, {...secret, metadata});
  expect(kept.metadata.labels?.[LABEL.apiKey]).toBe('shop');
  expect(kept.metadata.annotations?.[ANNOTATION.apiKeyUid]).toBe('uid');
  expect(JSON.stringify(kept).length).toBeLessThan(8192);
});

test('what the operator applies is kept whole, so that it is not applied again', () => {
  const host = `${'a.'.repeat(90)}example.com`;
  const owner = {apiVersion: 'nameplate.dev/v1alpha1', kind: 'Domain', name: host, uid: '1'};
  const [namespace, name] = ['n'.repeat(63), routeName('n'.repeat(63), host)];
  const issuerRef = {name: 'letsencrypt', kind: 'ClusterIssuer', group: 'cert-manager.io'};
  const backend = {name, project: 'shop', selector: {app: 'shop'}, port: {name: 'http', port: 80, targetPort: 'http'}};
  const redirect = {to: `${'b.'.repeat(90)}example.com`, status: 301 as const};
  const route = {namespace, name, host, owner, project: 'shop', tlsSecret: name, backend, redirect};
  const intents = [
    ...edge.build(route),
    {resource: cacheOf('certificates', true).resource, intent: buildCertificate({...route, issuerRef})},
  ];
  for (const {resource, intent} of intents) {
    const wanted = withHash(resource, intent, ANNOTATION.appliedHash);
    expect(includes(keptOf(cacheOf(resource.plural, true), structuredClone(wanted)), wanted), wanted.kind).toBe(true);
  }
});

test('of the policy that wildcards copy, only the spec is kept, because its status names each of them', () => {
  const onGateway = gateway(
    {...ON_GATEWAY, gateway: {...ON_GATEWAY.gateway, clientTrafficPolicy: 'traffic'}},
    'challenges.example.net',
  );
  const [ofPlatform, copies, ...others] = caches(onGateway).filter(({resource}) => resource === CLIENT_TRAFFIC_POLICY);
  expect(others).toEqual([]);
  expect(copies && isForOurs(copies)).toBe(true);
  expect(ofPlatform?.options.namespace).toBe('edge');
  const spec = {targetRefs: [{kind: 'Gateway', name: 'platform'}], tls: {minVersion: '1.3'}};
  const object = {apiVersion: 'v1', kind: 'ClientTrafficPolicy', metadata: {name: 'traffic'}, spec};
  const kept = ofPlatform?.options.transform?.({...object, status: {ancestors: []}} as KubeObject);
  expect(kept).toMatchObject({spec});
  expect(kept).not.toHaveProperty('status');
});

test('the edge sees every policy in the namespace of the Gateway, not only the one that wildcards copy', () => {
  const onGateway = gateway(
    {...ON_GATEWAY, gateway: {...ON_GATEWAY.gateway, clientTrafficPolicy: 'traffic'}},
    'challenges.example.net',
  );
  const policies = new Store<KubeObject>({onHandlerError: () => undefined});
  const cache = (resource: ResourceType, {namespace}: CacheOptions<KubeObject> = {}) =>
    resource === CLIENT_TRAFFIC_POLICY && namespace === 'edge'
      ? policies
      : new Store({onHandlerError: () => undefined});
  const names = {defaultHost: () => 'shop.apps.example.net'};
  const {platform} = createStores({cache} as unknown as Manager, config, names, onGateway);
  const policy = (name: string, spec: object) =>
    policies.upsert({apiVersion: 'v1', kind: 'ClientTrafficPolicy', metadata: {name, namespace: 'edge'}, ...{spec}});
  policy('traffic', {});
  expect(onGateway.unsupportedWildcard(platform)).toBeUndefined();
  policy('another', {http3: {}});
  expect(onGateway.unsupportedWildcard(platform)).toContain('The ClientTrafficPolicy edge/another has http3');
});

test('objects of a host share where requests go', () => {
  const cache = cacheOf('ingresses', true);
  const owner = {apiVersion: 'nameplate.dev/v1alpha1', kind: 'Domain', name: 'a.test', uid: '1'};
  const backend = {name: 'np-b', project: 'shop', selector: {app: 'shop'}, port: {port: 80}};
  const name = routeName('ns', 'a.test');
  const redirect = {to: 'b.test', status: 301 as const};
  const route = {namespace: 'ns', name, host: 'a.test', owner, project: 'shop', tlsSecret: name, backend, redirect};
  const ingresses = edge.build(route).filter(({resource}) => resource.kind === 'Ingress');
  const [https, http] = ingresses.map(({intent}) => keptOf(cache, structuredClone(intent) as KubeObject));
  expect(https?.metadata.name).not.toBe(http?.metadata.name);
  const rulesOf = (object?: KubeObject & {spec?: {rules?: unknown}}) => object?.spec?.rules;
  expect(rulesOf(https)).toBe(rulesOf(http));
});

test('what cert-manager records on a host’s Secret is kept', () => {
  const cache = cacheOf('secrets', true);
  const names = {
    'alt-names': 'a.test',
    'common-name': 'a.test',
    'ip-sans': '',
    'uri-sans': 'spiffe://b',
    'email-sans': '',
  };
  const annotations = Object.fromEntries(
    Object.entries(names).map(([key, value]) => [`cert-manager.io/${key}`, value]),
  );
  const {apiVersion, kind, metadata} = hoarding(cache.resource, routeName('ns', 'a.test'));
  const kept = keptOf(cache, {apiVersion, kind, metadata: {...metadata, annotations}});
  expect(certifiedBy(kept, 'a.test')).toEqual({kind: 'others', names: 'a.test, spiffe://b'});
});

/** In V8, a slice of a string may keep the whole string in memory. */
// attack: operator-work
test('the garbage collector frees what is cut from a value', async () => {
  const keep = (cut: string) => `
    const {slimMetadata} = await import('operator/caches/slim.ts');
    const slim = ${cut};
    const kept = [];
    for (let n = 0; n < 4000; n++) {
      const value = JSON.parse(JSON.stringify(String(n).padEnd(65_536, 'x')));
      const metadata = {name: 'a.test', namespace: 'ns', annotations: {'${ANNOTATION.verifyRequestedAt}': value}};
      kept.push(slim({apiVersion: 'v1', kind: 'Domain', metadata}));
    }
  `;
  await inSmallHeap(96, keep('slimMetadata'));
  await expect(inSmallHeap(96, keep('object => object'))).rejects.toThrow('memory limit');
});
