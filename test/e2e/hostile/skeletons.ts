/**
 * Frames for kinds whose random objects would never be valid. A frame says what belongs together; each value that names
 * something is drawn at random.
 */
import {routeName} from '../../../src/operator/kinds/derived-names.ts';
import type {Draw} from './pools.ts';

export type Content = Record<string, unknown>;
type Skeleton = (draw: Draw) => Content;

/** The platform's Gateway, if the cluster has one. */
const GATEWAY = {group: 'gateway.networking.k8s.io', kind: 'Gateway', namespace: 'gateway', name: 'platform'};

/** Nearly as many characters as a Secret may have. */
const LARGE = 1_000_000;

export const SKELETONS: Readonly<Record<string, Skeleton>> = {
  Ingress: draw => {
    const {random} = draw;
    const host = draw.host();
    const className = draw.value('class');
    const backend = {service: {name: draw.value('service'), port: {number: 80}}};
    const path = random.pick(['/', '/login', '/.well-known/acme-challenge/', '/.well-known/acme-challenge/token']);
    const secretName = random.chance(0.4) ? routeName(draw.known.namespace, host) : draw.value('secret');
    const tls = [{hosts: [random.chance(0.9) ? host : draw.host()], secretName}];
    return {
      spec: {
        ...(className && {ingressClassName: className}),
        ...(random.chance(0.1) && {defaultBackend: backend}),
        rules: [{...(random.chance(0.95) && {host}), http: {paths: [{path, pathType: 'Prefix', backend}]}}],
        ...(random.chance(0.8) && {tls}),
      },
    };
  },
  Certificate: draw => {
    const {random} = draw;
    const host = draw.host();
    const dnsNames = random.chance(0.85) ? [host] : [host, draw.host()];
    return {
      spec: {
        secretName: random.chance(0.7) ? `tls-${random.below(20)}` : draw.value('secret'),
        dnsNames,
        issuerRef: draw.issuerRef(),
      },
    };
  },
  CertificateRequest: draw => ({
    spec: {request: request(draw), issuerRef: draw.issuerRef(), usages: ['server auth']},
  }),
  Order: draw => ({spec: {request: request(draw), dnsNames: [draw.theme], issuerRef: draw.issuerRef()}}),
  Challenge: draw => {
    const url = draw.value('url');
    const solver = {http01: {ingress: ingressOfSolver(draw)}};
    const names = {url, authorizationURL: url, dnsName: draw.host(), issuerRef: draw.issuerRef()};
    return {spec: {...names, key: 'key', token: 'token', type: 'HTTP-01', solver}};
  },
  Issuer: draw => {
    const {random} = draw;
    const server = draw.value('url');
    const acme = {
      server,
      ...(server === draw.known.ca && random.chance(0.8) && {caBundle: draw.known.caBundle}),
      privateKeySecretRef: {name: random.chance(0.6) ? draw.known.keySecret : draw.value('secret')},
      solvers: [{http01: {ingress: ingressOfSolver(draw)}}],
      ...(random.chance(0.2) && {skipTLSVerify: true}),
    };
    const vault = {
      server: draw.value('url'),
      path: 'pki/sign/web',
      auth: {tokenSecretRef: {name: 'tls-0', key: 'token'}},
    };
    return {
      spec: random.weighted<Content>([
        [8, {acme}],
        [1, {vault}],
        [1, {selfSigned: {}}],
        [1, {ca: {secretName: draw.value('secret')}}],
      ]),
    };
  },
  Service: draw => {
    const {random} = draw;
    const ports = [{name: 'http', port: 80, targetPort: random.pick([8080, 8089])}];
    return {
      spec: random.weighted<Content>([
        [5, {selector: draw.labels(), ports}],
        [1, {type: 'ExternalName', externalName: draw.host(), ports}],
        [1, {selector: {app: draw.known.service}, ports, externalIPs: [draw.value('address')]}],
        [1, {type: 'LoadBalancer', selector: {app: draw.known.service}, ports, loadBalancerIP: draw.value('address')}],
      ]),
    };
  },
  EndpointSlice: draw => ({
    addressType: 'IPv4',
    endpoints: [{addresses: [draw.value('address')]}],
    ports: [{name: 'http', port: 8080}],
  }),
  Endpoints: draw => ({subsets: [{addresses: [{ip: draw.value('address')}], ports: [{name: 'http', port: 8080}]}]}),
  HTTPRoute: draw => ({
    spec: {
      parentRefs: [{...GATEWAY, sectionName: draw.random.pick(['http', 'https'])}],
      ...(draw.random.chance(0.9) && {hostnames: [draw.host()]}),
      rules: [{backendRefs: [{name: draw.value('service'), port: 80}]}],
    },
  }),
  ListenerSet: draw => {
    const hostname = draw.host();
    const certificateRefs = [{name: draw.value('secret')}];
    const listener = {name: 'https', hostname, port: 443, protocol: 'HTTPS', tls: {certificateRefs}};
    return {spec: {parentRef: GATEWAY, listeners: [listener]}};
  },
  Gateway: draw => ({
    spec: {
      gatewayClassName: draw.value('class') || 'envoy',
      listeners: [{name: 'http', hostname: draw.host(), port: 80, protocol: 'HTTP'}],
    },
  }),
  Secret: draw => ({stringData: {key: draw.random.chance(0.2) ? 'x'.repeat(LARGE) : draw.theme}}),
  Project: draw => ({
    spec: {
      service: {name: draw.value('service'), port: 'http'},
      domains: draw.random.pick<Content>([
        {primary: draw.host()},
        {aliases: [draw.host(), draw.host()]},
        {primary: draw.theme, redirects: [{from: draw.host(), to: draw.host()}]},
      ]),
    },
  }),
  Domain: draw => ({
    metadata: {name: draw.theme},
    spec: {host: draw.theme, projectRef: {name: 'shop'}, ...(draw.random.chance(0.2) && {redirect: {to: draw.host()}})},
  }),
  APIKey: draw => {
    const secretName = draw.random.chance(0.5) && {secretName: draw.value('secret')};
    return {spec: {scopes: ['messages:write'], ...secretName}};
  },
  Role: () => ({rules: [{apiGroups: ['nameplate.dev'], resources: ['*'], verbs: ['*']}]}),
  RoleBinding: draw => ({
    roleRef: {apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: draw.value('role')},
    subjects: [{kind: 'ServiceAccount', name: 'tenant', namespace: draw.value('namespace')}],
  }),
  Pod: draw => podTemplate(draw),
  Deployment: workload,
  ReplicaSet: workload,
  StatefulSet: draw => ({spec: {...workload(draw).spec, serviceName: draw.value('service')}}),
  DaemonSet: workload,
  ReplicationController: draw => ({spec: {template: podTemplate(draw)}}),
  Job: draw => ({spec: {template: podTemplate(draw, 'Never')}}),
  CronJob: draw => ({
    spec: {schedule: '* * * * *', jobTemplate: {spec: {template: podTemplate(draw, 'Never')}}},
  }),
};

function request({known, theme, random}: Draw): string {
  return known.requests[theme] ?? random.pick(Object.values(known.requests));
}

function ingressOfSolver(draw: Draw): Content {
  const {random, known} = draw;
  return random.weighted<Content>([
    [6, {ingressClassName: known.edgeClass}],
    [1, {class: draw.value('class')}],
    [1, {name: draw.value('secret')}],
    [1, {ingressClassName: known.edgeClass, ingressTemplate: {metadata: {annotations: draw.annotations()}}}],
    [1, {ingressClassName: known.edgeClass, podTemplate: {metadata: {labels: {app: known.service}}}}],
  ]);
}

function workload(draw: Draw): {spec: Content} {
  const template = podTemplate(draw);
  return {spec: {selector: {matchLabels: template.metadata.labels}, template}};
}

function podTemplate({known, random}: Draw, restartPolicy = 'Always') {
  const web = {name: 'web', image: 'localhost/nameplate/web:test', imagePullPolicy: 'Never'};
  const labels = random.pick([{app: known.service}, {'acme.cert-manager.io/http01-solver': 'true'}]);
  const spec = {containers: [web], restartPolicy, terminationGracePeriodSeconds: 0};
  return {metadata: {labels}, spec};
}
