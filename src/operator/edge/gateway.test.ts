import {describe, expect, test} from 'vitest';
import {ON_GATEWAY, ROUTE as route} from '../../../test/support/edge.ts';
import {withoutNulls} from '../../runtime/apply/merge-patch.ts';
import type {DeepReadonly, KubeObject, ResourceType} from '../../runtime/kube/object.ts';
import type {HostRoute, PlatformReader} from '../kinds/edge-provider.ts';
import {SERVICE} from '../kinds/kinds.ts';
import {gateway} from './gateway.ts';
import {
  CLIENT_TRAFFIC_POLICY,
  type ClientTrafficPolicy,
  GATEWAY,
  GATEWAY_CLASS,
  HTTP_ROUTE,
  type HttpRoute,
  LISTENER_SET,
  type ListenerSet,
} from './gateway-kinds.ts';

const CONTROLLER = 'example.com/edge';
const PLATFORM = {group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'platform', namespace: 'edge'};

function edgeWith(supportedFeatures: readonly string[] = []) {
  return gateway({...ON_GATEWAY, gateway: {...ON_GATEWAY.gateway, supportedFeatures}}, 'challenges.edge.test');
}

const edge = edgeWith();

function platformWith(features?: readonly string[]): PlatformReader {
  const objects: Record<string, object> = {
    'Gateway edge/platform': {spec: {gatewayClassName: 'edge'}},
    'GatewayClass edge': {
      spec: {controllerName: CONTROLLER},
      ...(features && {status: {supportedFeatures: features.map(name => ({name}))}}),
    },
  };
  return {get: ({kind}: ResourceType<never>, key: string) => objects[`${kind} ${key}`] as never, list: () => []};
}

const platform = platformWith();
const EMPTY_POLICY = {apiVersion: 'v1', kind: CLIENT_TRAFFIC_POLICY.kind};
const NOTHING: PlatformReader = {get: () => undefined, list: () => []};

const redirecting: HostRoute = {...route, redirect: {to: 'b.test', status: 308}};

function built(of: HostRoute) {
  const objects = edge.build(of);
  const find = (resource: ResourceType, name: string) =>
    objects.find(object => object.resource === resource && object.intent.metadata.name === name)?.intent;
  return {
    kinds: objects.map(({resource}) => resource),
    service: find(SERVICE, 'np-b'),
    set: find(LISTENER_SET, 'np-a') as ListenerSet | undefined,
    https: find(HTTP_ROUTE, 'np-a') as HttpRoute,
    http: find(HTTP_ROUTE, 'np-a-http') as HttpRoute | undefined,
  };
}

const toHttps = (hostname: string, statusCode: number) => [
  {filters: [{type: 'RequestRedirect', requestRedirect: {scheme: 'https', hostname, statusCode}}]},
];

test('a host that serves: the listener that takes it comes last', () => {
  const {kinds, service, set, https, http} = built(route);
  expect(kinds).toEqual([SERVICE, HTTP_ROUTE, LISTENER_SET]);
  expect(service).toMatchObject({spec: {clusterIP: 'None', selector: {app: 'shop'}}});
  expect(set?.spec).toEqual({
    parentRef: PLATFORM,
    listeners: [
      {
        name: 'https',
        port: 443,
        protocol: 'HTTPS',
        hostname: 'a.test',
        tls: {certificateRefs: [{name: 'np-a'}]},
        allowedRoutes: {namespaces: {from: 'Same'}, kinds: [{kind: 'HTTPRoute'}]},
      },
    ],
  });
  const own = {group: 'gateway.networking.k8s.io', kind: 'ListenerSet', name: 'np-a', sectionName: 'https'};
  const rules = [{backendRefs: [{name: 'np-b', port: 80}]}];
  expect(https.spec).toEqual({parentRefs: [own], hostnames: ['a.test'], rules});
  expect(http, 'the platform redirects all hosts that serve').toBeUndefined();
});

test('a host that redirects takes one hop from http and from https, and needs no Service', () => {
  const {kinds, https, http} = built(redirecting);
  expect(kinds).toEqual([HTTP_ROUTE, HTTP_ROUTE, LISTENER_SET]);
  expect(https.spec.rules).toEqual(toHttps('b.test', 308));
  const challenge = {scheme: 'http', hostname: 'challenges.edge.test', statusCode: 302};
  const forChallenges = {
    matches: [{path: {type: 'PathPrefix', value: '/.well-known/acme-challenge/'}}],
    filters: [{type: 'RequestRedirect', requestRedirect: challenge}],
  };
  expect(http?.spec).toEqual({
    parentRefs: [{...PLATFORM, sectionName: 'http'}],
    hostnames: ['a.test'],
    rules: [forChallenges, ...toHttps('b.test', 308)],
  });
});

test('a default host without its own certificate attaches to the https listener of the Gateway', () => {
  const {tlsSecret: _, ...shared} = route;
  const {kinds, https} = built({...shared, project: 'shop'});
  expect(kinds).toEqual([SERVICE, HTTP_ROUTE]);
  expect(https.spec.parentRefs).toEqual([{...PLATFORM, sectionName: 'https'}]);
});

test('a default host with its own certificate also stays attached to the https listener of the Gateway', () => {
  const {parentRefs} = built({...route, project: 'shop'}).https.spec;
  expect(parentRefs).toEqual([...(built(route).https.spec.parentRefs ?? []), {...PLATFORM, sectionName: 'https'}]);
});

test('what is emptied matches no request, serves nothing, and is not changed again', () => {
  const objects = edge.build(route).map(({intent}) => intent as KubeObject);
  expect(edge.serves('np-a', objects)).toBe(true);
  const emptied = objects.map(object => {
    const {spec} = (edge.emptied(object) ?? {spec: {}}) as {spec: object};
    const merged = {...(object as unknown as {spec: object}).spec, ...spec};
    const kept = Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== null));
    return {...object, spec: kept} as unknown as KubeObject;
  });
  expect(emptied.map(object => edge.emptied(object))).toEqual([undefined, undefined, undefined]);
  expect(edge.serves('np-a', emptied)).toBe(false);
  expect(emptied[2]).toMatchObject({spec: {listeners: [{hostname: 'np-a.invalid'}]}});
  expect(emptied[1]).not.toHaveProperty('spec.parentRefs');
});

test.each([
  {of: route, missing: 'HTTPRoute/np-a', want: false},
  {of: route, missing: 'ListenerSet/np-a', want: false},
  {of: redirecting, missing: 'HTTPRoute/np-a-http', want: true},
  {of: {...route, project: 'shop'}, missing: 'ListenerSet/np-a', want: true}, // the shared listener serves it
])('without $missing, the route serves the host over HTTPS: $want', ({of, missing, want}) => {
  const objects = edge.build(of).map(({intent}) => intent as KubeObject);
  expect(edge.serves('np-a', objects)).toBe(true);
  const left = objects.filter(({kind, metadata}) => `${kind}/${metadata.name}` !== missing);
  expect(left).toHaveLength(objects.length - 1);
  expect(edge.serves('np-a', left)).toBe(want);
});

test('a ListenerSet that is emptied serves no host', () => {
  const objects = edge.build(route).map(({intent}) => intent as KubeObject);
  const emptied = objects.map(object =>
    object.kind === LISTENER_SET.kind ? {...object, ...edge.emptied(object)} : object,
  );
  expect(edge.serves('np-a', emptied)).toBe(false);
});

describe('the status codes of redirects', () => {
  test('301 and 302 are Core', () => {
    expect(edge.unsupportedStatus(301, NOTHING)).toBeUndefined();
    expect(edge.unsupportedStatus(302, NOTHING)).toBeUndefined();
  });

  test.each([303, 307, 308] as const)('%i needs a feature, from the GatewayClass or from the configuration', status => {
    const feature = `HTTPRoute${status}RedirectStatusCode`;
    expect(edge.unsupportedStatus(status, platform)).toContain(`Use ${status === 308 ? 301 : 302}`);
    expect(edge.unsupportedStatus(status, platformWith(['HTTPRoutePathRedirect']))).toContain(feature);
    expect(edge.unsupportedStatus(status, platformWith([feature]))).toBeUndefined();
    expect(edgeWith([feature]).unsupportedStatus(status, platform)).toBeUndefined();
  });
});

describe('the platform', () => {
  test('without its Gateway or GatewayClass, nothing is routed', () => {
    expect(edge.problem(NOTHING)).toMatchObject({reason: 'GatewayNotFound'});
    const classless = {
      get: (resource: ResourceType, key: string) => (resource === GATEWAY ? platform.get(GATEWAY, key) : undefined),
    };
    expect(edge.problem(classless as PlatformReader)?.message).toContain('GatewayClass edge');
    expect(edge.problem(platform)).toBeUndefined();
  });

  test('a GatewayClass that lists features must list those that every route needs', () => {
    const problem = edge.problem(platformWith(['HTTPRouteSchemeRedirect']));
    expect(problem?.reason).toBe('GatewayUnsuitable');
    expect(problem?.message).toContain('does not support ListenerSet,');
    expect(edge.problem(platformWith(['HTTPRouteSchemeRedirect', 'ListenerSet']))).toBeUndefined();
  });

  test('only its Gateway and the GatewayClasses are read', () => {
    const object = (kind: string, namespace: string) => ({
      apiVersion: 'v1',
      kind,
      metadata: {name: 'platform', namespace},
    });
    expect(edge.reads(object(GATEWAY.kind, 'edge'))).toBe(true);
    expect(edge.reads(object(GATEWAY.kind, 'acme'))).toBe(false);
    expect(edge.reads(object(GATEWAY_CLASS.kind, ''))).toBe(true);
  });
});

describe('a wildcard', () => {
  const wildcard: HostRoute = {...route, host: '*.a-b.test', proof: 'proof'};
  const withPolicy = gateway(
    {...ON_GATEWAY, gateway: {...ON_GATEWAY.gateway, clientTrafficPolicy: 'traffic'}},
    'challenges.edge.test',
  );
  /** `ofAnother`: fields of another policy in the namespace of the Gateway. */
  const platformWithPolicy = (spec: object, ofAnother = {}): PlatformReader => ({
    get: (resource, key) =>
      resource === (CLIENT_TRAFFIC_POLICY as ResourceType)
        ? ((key === 'edge/traffic' ? {spec} : undefined) as never)
        : platform.get(resource, key),
    list: () => [{metadata: {name: 'default-hosts', namespace: 'edge'}, spec: {...spec, ...ofAnother}}] as never,
  });
  const targetRefs = [{group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'platform'}];
  const prepared = (of: HostRoute, spec: object) => withPolicy.prepare?.(of, platformWithPolicy(spec)) ?? [];

  test('is refused without the policy of the Gateway, and if that cannot be copied', () => {
    expect(edge.unsupportedWildcard(platform)).toContain('config.routing.gateway.clientTrafficPolicy');
    expect(withPolicy.unsupportedWildcard(platform)).toContain('ClientTrafficPolicy edge/traffic');
    const says = withPolicy.unsupportedWildcard(platformWithPolicy({tls: {clientValidation: {optional: true}}}));
    expect(says).toContain('validates the certificates of clients');
    expect(withPolicy.unsupportedWildcard(platformWithPolicy({targetRefs}))).toBeUndefined();
  });

  // attack: wildcard-over-host
  test('is refused while a policy of any listener has HTTP/3, which all listeners of the port then have', () => {
    const says = withPolicy.unsupportedWildcard(platformWithPolicy({targetRefs}, {http3: {}}));
    expect(says).toContain('The ClientTrafficPolicy edge/default-hosts has http3');
    expect(withPolicy.reads({...EMPTY_POLICY, metadata: {name: 'default-hosts', namespace: 'edge'}})).toBe(true);
  });

  // attack: wildcard-over-host
  test('has the policy of the Gateway for HTTP/1.1, before everything else', () => {
    const tls = {minVersion: '1.3', alpnProtocols: ['h2', 'http/1.1']};
    const copied = {clientIPDetection: {xForwardedFor: {numTrustedHops: 1}}, timeout: {http: {idleTimeout: '1m'}}};
    const [policy, ...others] = prepared(wildcard, {
      targetRefs,
      targetSelectors: [],
      tls,
      http2: {},
      http3: {},
      proxyProtocol: {},
      tcpKeepalive: {},
      ...copied,
    });
    expect(others).toEqual([]);
    expect(policy?.resource).toBe(CLIENT_TRAFFIC_POLICY);
    const {metadata, spec} = withoutNulls(policy?.intent) as ClientTrafficPolicy;
    expect(metadata).toMatchObject({
      name: 'np-a',
      namespace: 'acme',
      labels: {'app.kubernetes.io/managed-by': 'nameplate'},
    });
    expect(spec).toEqual({
      ...copied,
      targetRefs: [{group: 'gateway.networking.k8s.io', kind: 'ListenerSet', name: 'np-a'}],
      tls: {minVersion: '1.3', alpnProtocols: ['http/1.1']},
    });
    expect(policy?.intent, 'what the Gateway no longer has').toHaveProperty('spec.headers', null);
    expect(policy?.intent, 'if it was there before').toHaveProperty('spec.http3', null);
  });

  test('alone has one', () => {
    expect(prepared(route, {targetRefs})).toEqual([]);
    expect(edge.resources).not.toContain(CLIENT_TRAFFIC_POLICY);
    expect(edge.platformKinds).toHaveLength(2);
  });

  // attack: wildcard-over-host
  test('has one even if that of the Gateway was deleted after the wildcard was accepted', () => {
    const [policy] = withPolicy.prepare?.(wildcard, platform) ?? [];
    expect(policy?.intent).toHaveProperty('spec.tls', {alpnProtocols: ['http/1.1']});
  });

  test('changes if the policy of the Gateway does', () => {
    expect(withPolicy.reads({...EMPTY_POLICY, metadata: {name: 'traffic', namespace: 'edge'}})).toBe(true);
  });

  // attack: wildcard-over-host
  test('every rule of its route names the hosts one label below', () => {
    const {https, http, set} = built(wildcard);
    expect(set?.spec.listeners[0]?.hostname).toBe('*.a-b.test');
    expect(http).toBeUndefined();
    expect(https.spec.hostnames).toEqual(['*.a-b.test']);
    const matches = https.spec.rules.flatMap(rule => rule.matches ?? [{}]);
    expect(matches).toHaveLength(2);
    for (const {headers = []} of matches) {
      expect(headers).toEqual([
        {name: 'Host', type: 'RegularExpression', value: String.raw`(?i)[^.]+\.a-b\.test(:\d+)?`},
      ]);
    }
  });

  test('is accepted once its policy is, for its own ListenerSet, by the controller of the Gateway', () => {
    const verdictOf = (changes: object, observedGeneration = 1) => {
      const conditions = [
        {type: 'Accepted', status: 'True', reason: 'Some', message: 'so', observedGeneration, ...changes},
      ];
      const ancestorRef = {group: 'gateway.networking.k8s.io', kind: 'ListenerSet', namespace: 'acme', name: 'np-a'};
      const ancestors = [
        {ancestorRef: {...ancestorRef, name: 'np-b'}, controllerName: CONTROLLER, conditions: []},
        {ancestorRef, controllerName: 'example.com/another', conditions: []},
        {ancestorRef, controllerName: CONTROLLER, conditions},
      ];
      const [policy] = prepared(wildcard, {targetRefs});
      const object = {...policy?.intent, status: {ancestors}} as unknown as KubeObject;
      const whole = {...object, metadata: {...object.metadata, generation: 1}};
      const found = withPolicy.verdict([whole], platform);
      expect(withPolicy.verdict([{...whole, status: withPolicy.statusOf?.(whole)} as KubeObject], platform)).toEqual(
        found,
      );
      return found;
    };
    expect(verdictOf({})).toEqual({kind: 'accepted'});
    expect(verdictOf({}, 0)).toMatchObject({kind: 'pending', what: 'ClientTrafficPolicy np-a'});
    const why = 'Accepted is False, Some: so';
    expect(verdictOf({status: 'False'})).toEqual({kind: 'rejected', what: 'ClientTrafficPolicy np-a', why});
  });
});

test("a default host's route is read once the controller has reported on its generation, for either listener", () => {
  const {https} = built({...route, project: 'shop'});
  const unread = (observedGeneration: number, controllerName = CONTROLLER, generation = 2) => {
    const conditions = [{type: 'Accepted', status: 'False', observedGeneration}];
    const parents = https.spec.parentRefs?.slice(1).map(parentRef => ({parentRef, controllerName, conditions}));
    const object = {...https, metadata: {...https.metadata, generation}, status: {parents}} as HttpRoute;
    return edge.unread?.([{...object, status: edge.statusOf?.(object)} as KubeObject], platform)?.what;
  };
  expect(unread(2)).toBeUndefined();
  expect(unread(1)).toBe('HTTPRoute np-a');
  expect(unread(2, 'example.com/another')).toBe('HTTPRoute np-a');
  expect(unread(0, CONTROLLER, 1)).toBeUndefined();
});

describe('the verdict', () => {
  const GENERATION = 3;
  interface Reported {
    readonly status?: string;
    readonly observedGeneration?: number;
  }
  const conditions = (types: readonly string[], changes: Readonly<Record<string, Reported>> = {}) =>
    types.map(type => ({
      ...{type, status: 'True', reason: 'Some', message: `of ${type}`, observedGeneration: GENERATION},
      ...changes[type],
    }));
  const LISTENER_TYPES = ['Accepted', 'Programmed', 'ResolvedRefs', 'Conflicted'];
  const ROUTE_TYPES = ['Accepted', 'ResolvedRefs', 'BackendsAvailable'];

  /** The status of each object as the API server holds it: everything is good, except for `changes`. */
  function reported(
    listener: Readonly<Record<string, Reported>> = {},
    http: Readonly<Record<string, Reported>> = {},
    controllerName = CONTROLLER,
  ): KubeObject[] {
    return edge.build(redirecting).map(({intent}) => {
      const object = {...intent, metadata: {...intent.metadata, generation: GENERATION}} as KubeObject;
      if (object.kind === 'Service') return object;
      if (object.kind === 'ListenerSet') {
        const listeners = [{name: 'https', conditions: conditions(LISTENER_TYPES, listener)}];
        return {...object, status: {conditions: conditions(['Accepted', 'Programmed']), listeners}};
      }
      const [parentRef] = (object as HttpRoute).spec.parentRefs ?? [];
      const changes = object.metadata.name === 'np-a-http' ? http : {};
      const stale = {Accepted: {status: 'False'}, ResolvedRefs: {status: 'False'}};
      const parents = [
        {parentRef, controllerName: 'example.com/another', conditions: conditions(ROUTE_TYPES, stale)},
        {parentRef: {...parentRef, sectionName: 'other'}, controllerName, conditions: conditions(ROUTE_TYPES, stale)},
        {parentRef, controllerName, conditions: conditions(ROUTE_TYPES, changes)},
      ];
      return {...object, status: {parents}};
    });
  }

  /** The verdicts on the objects as they are and as the cache keeps them. */
  function verdicts(objects: readonly DeepReadonly<KubeObject>[]) {
    const kept = objects.map(object => ({...object, status: edge.statusOf?.(object as KubeObject)}));
    const [whole, cached] = [edge.verdict(objects, platform), edge.verdict(kept, platform)];
    expect(cached).toEqual(whole);
    return whole;
  }

  test('all of them accepted; other controllers and other parents do not count', () => {
    expect(verdicts(reported())).toEqual({kind: 'accepted'});
  });

  test.each(['Accepted', 'Programmed', 'ResolvedRefs'])('a listener with %s False', type => {
    const why = `${type} is False, Some: of ${type}`;
    expect(verdicts(reported({[type]: {status: 'False'}}))).toEqual({kind: 'rejected', what: 'ListenerSet np-a', why});
  });

  test('a set that the Gateway does not allow, with no word on its listener', () => {
    const refused = {type: 'Accepted', status: 'False', reason: 'NotAllowed', message: 'here', observedGeneration: 3};
    const objects = reported().map(object =>
      object.kind === 'ListenerSet' ? {...object, status: {conditions: [refused]}} : object,
    );
    const why = 'Accepted is False, NotAllowed: here';
    expect(verdicts(objects)).toEqual({kind: 'rejected', what: 'ListenerSet np-a', why});
  });

  test.each(['Accepted', 'ResolvedRefs'])('an HTTPRoute with %s False', type => {
    const why = `${type} is False, Some: of ${type}`;
    expect(verdicts(reported({}, {[type]: {status: 'False'}}))).toEqual({
      kind: 'rejected',
      what: 'HTTPRoute np-a-http',
      why,
    });
  });

  test('a verdict on an earlier generation is none', () => {
    const earlier = {observedGeneration: GENERATION - 1};
    const pending = (what: string) => ({kind: 'pending', what, version: expect.any(String)});
    expect(verdicts(reported({Programmed: earlier}))).toEqual(pending('ListenerSet np-a'));
    expect(verdicts(reported({}, {Accepted: {...earlier, status: 'False'}}))).toEqual(pending('HTTPRoute np-a-http'));
  });

  test('what no controller, or only another one, has seen is pending', () => {
    const unseen = edge.build(redirecting).map(({intent}) => intent);
    expect(verdicts(unseen)).toMatchObject({kind: 'pending', what: 'ListenerSet np-a'});
    expect(verdicts(reported({}, {}, 'example.com/former'))).toMatchObject({
      kind: 'pending',
      what: 'HTTPRoute np-a-http',
    });
    expect(edge.verdict(reported(), NOTHING)).toMatchObject({kind: 'pending', what: 'HTTPRoute np-a-http'});
  });

  test('a rejection comes before what is pending', () => {
    const verdict = verdicts(reported({Programmed: {observedGeneration: 1}}, {Accepted: {status: 'False'}}));
    expect(verdict.kind).toBe('rejected');
  });

  test('the part of the status that is kept is small', () => {
    const text = 'x'.repeat(32_768);
    for (const object of reported()) {
      const large = JSON.parse(JSON.stringify(object).replaceAll(/of (\w+)/g, `$1 ${text}`)) as KubeObject;
      expect(JSON.stringify(edge.statusOf?.(large) ?? null).length).toBeLessThan(4096);
    }
  });
});
