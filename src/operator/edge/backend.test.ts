import {expect, test} from 'vitest';
import {Store} from '../../runtime/cache/store.ts';
import {slimService} from '../caches/slim.ts';
import {backendName} from '../kinds/derived-names.ts';
import type {Project, Service} from '../kinds/kinds.ts';
import {explainNoBackend, findBackend} from './backend.ts';

/** The report of a Project if its Service has this spec. */
function told(spec: NonNullable<Service['spec']>, port: string | number = 80) {
  const services = new Store<Service>({onHandlerError: () => undefined});
  services.upsert(slimService({apiVersion: 'v1', kind: 'Service', metadata: {name: 'shop', namespace: 'a'}, spec}));
  const sources = {
    stores: {services, platform: {get: () => undefined, list: () => []}},
    edge: {problem: () => undefined},
  };
  const metadata = {name: 'shop', namespace: 'a'};
  const project: Project = {
    apiVersion: 'any/v1',
    kind: 'Project',
    metadata,
    spec: {service: {name: 'shop', port}},
  };
  const found = findBackend(sources, project);
  return found.kind === 'found' ? found.backend : explainNoBackend(found);
}

const labels = (count: number) =>
  Object.fromEntries(Array.from({length: count}, (_, index) => [`label-${index}.example.com/part-of`, 'shop']));

test('a Service with a dozen labels in its selector is routed', () => {
  const port = {name: 'http', port: 80, targetPort: 'web'};
  expect(told({selector: labels(12), ports: [port]})).toEqual({
    name: backendName('a', 'shop', {port: 80}),
    project: 'shop',
    selector: labels(12),
    port,
  });
});

// attack: operator-work
test.each<{has: string; spec: NonNullable<Service['spec']>}>([
  {has: 'thousands of labels in its selector', spec: {selector: labels(5000), ports: [{port: 80}]}},
  {
    has: 'thousands of ports',
    spec: {selector: labels(1), ports: Array.from({length: 5000}, (_, port) => ({name: `p${port}`, port}))},
  },
])('a Service with $has is not routed, and the reason says so', ({spec}) => {
  expect(told(spec)).toEqual({
    reason: 'ServiceUnsuitable',
    message:
      'Service shop has a selector and ports that together exceed 4096 characters. Pods of its own namespace serve a project: give the Service a selector for these pods, or set spec.service.name of the Project to another Service.',
  });
});

// attack: foreign-backend
test.each<{spec: NonNullable<Service['spec']>; says: string}>([
  {
    spec: {type: 'ExternalName', selector: labels(1), ports: [{port: 80}]},
    says: 'is an ExternalName, which points elsewhere',
  },
  {spec: {ports: [{port: 80}]}, says: 'has no selector'},
])('a Service that $says is not routed', ({spec, says}) => {
  expect(told(spec)).toMatchObject({
    reason: 'ServiceUnsuitable',
    message: expect.stringContaining(`Service shop ${says}. `),
  });
});

test('a Service that asks for session affinity is not routed: the edge would not keep it', () => {
  const spec = {selector: labels(1), ports: [{port: 80}]};
  expect(told({...spec, sessionAffinity: 'ClientIP'})).toEqual({
    reason: 'ServiceUnsuitable',
    message:
      'Service shop has session affinity ClientIP. The edge chooses the pod of each request: set spec.sessionAffinity of the Service to None, or set spec.service.name of the Project to another Service.',
  });
  expect(told({...spec, sessionAffinity: 'None'})).toMatchObject({port: {port: 80}});
});

test.each<[string, object]>([
  ['IPv6 only', {ipFamilies: ['IPv6'], ipFamilyPolicy: 'SingleStack'}],
  ['both families', {ipFamilies: ['IPv4', 'IPv6'], ipFamilyPolicy: 'PreferDualStack'}],
  ['addresses of pods that are not ready', {publishNotReadyAddresses: true}],
])('a Service with %s is carried over', (_, options) => {
  expect(told({selector: labels(1), ports: [{port: 80}], ...options})).toMatchObject(options);
});

test('another first IP family, which cannot change, has another Service', () => {
  const named = (...ipFamilies: string[]) => told({selector: labels(1), ports: [{port: 80}], ipFamilies});
  expect(named('IPv4', 'IPv6')).toMatchObject({name: backendName('a', 'shop', {port: 80})});
  expect(named('IPv6', 'IPv4')).toMatchObject({name: backendName('a', 'shop', {port: 80}, 'IPv6')});
  expect(backendName('a', 'shop', {port: 80}, 'IPv6')).not.toBe(backendName('a', 'shop', {port: 80}));
});

test('of two ports with one number, HTTP gets that of TCP, and a port without TCP is refused', () => {
  const ports = [
    {name: 'dns-udp', port: 53, protocol: 'UDP'},
    {name: 'dns-tcp', port: 53, protocol: 'TCP'},
  ];
  expect(told({selector: labels(1), ports}, 53)).toMatchObject({port: {name: 'dns-tcp'}});
  expect(told({selector: labels(1), ports}, 'dns-udp')).toMatchObject({
    reason: 'PortNotFound',
    message: expect.stringContaining('has no port dns-udp; it has dns-udp (53, UDP, and HTTP needs TCP), dns-tcp (53)'),
  });
});

// YAML and Helm values quote numbers easily, and a name of a port has a letter.
test.each([80, '80', 'http'])('the port %j of a Project is that of the Service', given => {
  const port = {name: 'http', port: 80};
  expect(told({selector: labels(1), ports: [{port: 81}, port]}, given)).toMatchObject({port});
});

test.each([81, '81', 'https', '080'])('the port %j of a Project, which the Service lacks, is named', given => {
  const ports = [{name: 'http', port: 8080}];
  expect(told({selector: labels(1), ports}, given)).toMatchObject({
    reason: 'PortNotFound',
    message: expect.stringContaining(`has no port ${given}`),
  });
});
