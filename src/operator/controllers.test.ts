/** Which changes requeue what, with caches that a test fills. */

import {Registry} from 'prom-client';
import {expect, test} from 'vitest';
import {memoryOperator} from '../../test/support/memory-operator.ts';
import {operatorConfig} from '../../test/support/operator-config.ts';
import {ANNOTATION, API_VERSION, LABEL} from '../api/names.ts';
import type {Controller, ControllerOptions} from '../runtime/controller/controller.ts';
import type {KubeObject} from '../runtime/kube/object.ts';
import {addControllers} from './controllers.ts';
import {traefik} from './edge/traefik.ts';

type Put = (kind: string, object: {metadata: Partial<KubeObject['metadata']>; spec?: object; status?: object}) => void;

/**
 * All controllers: `put` fills a cache, `fill` before they start, and `requeued` has the keys that changes have requeued
 * since it was read.
 */
function controllers(fill: (put: Put) => void = () => undefined) {
  const config = operatorConfig();
  const caches = memoryOperator({config, edge: {...traefik(config.routing), resources: [], platformKinds: []}});
  const requeued: string[] = [];
  const controller = ({name}: ControllerOptions): Controller => {
    const self: Controller = {
      name,
      watch: (store, keysOf) => {
        store.subscribe(delta => requeued.push(...[...keysOf(delta)].map(key => `${name} ${key}`)));
        return self;
      },
      enqueue: key => void requeued.push(`${name} ${key}`),
    };
    return self;
  };
  let version = 0;
  const put: Put = (kind, {metadata, ...rest}) => {
    const whole = {name: 'a', uid: 'u', ...metadata, resourceVersion: `${++version}`};
    caches.put({apiVersion: API_VERSION, kind, metadata: whole, ...rest});
  };
  fill(put);
  addControllers({controller}, caches.operator, new Registry());
  return {
    put,
    requeued: () => requeued.splice(0),
    reinstall: (kind: string) => {
      const store = caches.store(kind);
      store?.markMissing();
      requeued.splice(0);
      store?.replace(new Map(), '0');
    },
  };
}

test.each<{what: string; change: Partial<KubeObject['metadata']>; want: boolean}>([
  {what: 'an annotation that Nameplate does not read', change: {annotations: {'example.com/seen': 'now'}}, want: false},
  {what: 'a label that Nameplate does not read', change: {labels: {'example.com/team': 'a'}}, want: false},
  {what: 'its account', change: {labels: {[LABEL.account]: 'acme'}}, want: true},
  {what: 'its plan', change: {labels: {[LABEL.plan]: 'pro'}}, want: true},
  {what: 'its pause', change: {annotations: {[ANNOTATION.paused]: 'true'}}, want: true},
  {what: 'its deletion', change: {deletionTimestamp: '2026-06-01T00:00:00Z'}, want: true},
])('a namespace whose change is $what requeues its Domains: $want', ({change, want}) => {
  const {put, requeued} = controllers();
  const before = {labels: {'kubernetes.io/metadata.name': 'a'}, annotations: {'example.com/seen': 'before'}};
  put('Namespace', {metadata: before});
  const [host, projectRef] = ['shop.example.com', {name: 'shop'}];
  put('Domain', {metadata: {name: host, namespace: 'a'}, spec: {host, projectRef}});
  requeued();
  put('Namespace', {metadata: {...before, ...change}});
  expect(requeued().filter(key => key.startsWith('domain '))).toEqual(want ? [`domain a/${host}`] : []);
});

test.each([
  {kind: 'Certificate', want: ['project ns/shop', 'domain ns/a.test']},
  {kind: 'Project', want: ['managed-domain ns/a.test', 'domain ns/a.test']},
  {kind: 'Domain', want: ['domain ns/held.test']},
])('$kind, once it is installed, requeues what waits for it', ({kind, want}) => {
  const {put, requeued, reinstall} = controllers();
  put('Namespace', {metadata: {name: 'ns'}});
  put('Project', {metadata: {name: 'shop', namespace: 'ns'}, spec: {service: {name: 'shop', port: 80}}});
  put('Domain', {metadata: {name: 'a.test', namespace: 'ns'}, spec: {host: 'a.test', projectRef: {name: 'shop'}}});
  put('DomainClaim', {metadata: {name: 'held.test'}, spec: {account: 'a', namespace: 'ns'}});
  reinstall(kind);
  expect(requeued()).toEqual(want);
});

// attack: too-many-projects
test('at the start, a Project or a Service requeues nothing else: what depends on it is requeued by itself', () => {
  const [host, service] = ['shop.example.com', {name: 'shop', port: 80}];
  const {put, requeued} = controllers(fill => {
    fill('Namespace', {metadata: {name: 'ns', labels: {[LABEL.plan]: 'pro'}}});
    fill('Project', {metadata: {name: 'shop', namespace: 'ns'}, spec: {service}});
    fill('Service', {metadata: {name: 'shop', namespace: 'ns'}, spec: {ports: [{port: 80}]}});
    fill('Domain', {metadata: {name: host, namespace: 'ns'}, spec: {host, projectRef: {name: 'shop'}}});
  });
  const domains = () => requeued().filter(key => key === `domain ns/${host}`);
  expect(domains()).toHaveLength(2); // of the Domain, and of its namespace
  put('Project', {metadata: {name: 'shop', namespace: 'ns', generation: 2}, spec: {service}});
  put('Service', {metadata: {name: 'shop', namespace: 'ns'}, spec: {ports: [{port: 81}]}});
  expect(domains()).toHaveLength(2);
});

test('an ACMEIssuer that appears, and no other change of it, requeues the requests that it is to sign', () => {
  const {put, requeued} = controllers();
  const signing = () => requeued().filter(key => key.startsWith('sign '));
  for (const name of ['a', 'b']) {
    const issuerRef = {name: `of-${name}`, kind: 'ACMEIssuer', group: 'nameplate.dev'};
    const status = {conditions: [{type: 'Approved', status: 'True'}]};
    put('CertificateRequest', {metadata: {name, namespace: 'ns'}, spec: {issuerRef, request: ''}, status});
  }
  signing();
  put('ACMEIssuer', {metadata: {name: 'of-a'}, spec: {}});
  expect(signing()).toEqual(['sign ns/a']);
  put('ACMEIssuer', {metadata: {name: 'of-a', labels: {team: 'a'}}, spec: {}});
  expect(signing()).toEqual([]);
});

test.each([
  {what: 'the names of the CA in CAA records', change: {spec: {caaIdentities: ['other-ca.test']}}, want: true},
  {what: 'the account at the CA', change: {status: {accountURI: 'https://ca.test/2'}}, want: true},
  {what: 'its orders', change: {status: {accountURI: 'https://ca.test/1', orders: {left: 1}}}, want: false},
])('an ACMEIssuer that changes $what requeues all Domains: $want', ({change, want}) => {
  const {put, requeued} = controllers();
  const issuer = {
    metadata: {name: 'ca'},
    spec: {caaIdentities: ['ca.test']},
    status: {accountURI: 'https://ca.test/1'},
  };
  const domains = () => requeued().filter(key => key.startsWith('domain '));
  const [host, projectRef] = ['shop.example.com', {name: 'shop'}];
  put('Domain', {metadata: {name: host, namespace: 'ns'}, spec: {host, projectRef}});
  domains();
  put('ACMEIssuer', issuer);
  expect(domains()).toEqual([`domain ns/${host}`]); // it may have been missing
  put('ACMEIssuer', {...issuer, ...change});
  expect(domains()).toEqual(want ? [`domain ns/${host}`] : []);
});

test.each([
  {reason: 'IssuerNotReady', status: 'False', want: true},
  {reason: 'RenewalFailing', status: 'True', want: true},
  {reason: 'Issued', status: 'True', want: false},
])('a ClusterIssuer that changes requeues a Domain whose certificate is $reason: $want', ({reason, status, want}) => {
  const {put, requeued} = controllers();
  const [host, projectRef] = ['shop.example.com', {name: 'shop'}];
  const conditions = [{type: 'CertificateReady', status, reason, message: ''}];
  put('Domain', {metadata: {name: host, namespace: 'ns'}, spec: {host, projectRef}, status: {conditions}});
  requeued();
  put('ClusterIssuer', {metadata: {name: 'ca'}, spec: {}});
  expect(requeued()).toEqual(want ? [`domain ns/${host}`] : []);
});
