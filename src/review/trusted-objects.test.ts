import {expect, test} from 'vitest';
import {ANNOTATION, LABEL} from '../api/names.ts';
import {routeName} from '../operator/model/derived-names.ts';
import type {KubeObject} from '../runtime/kube/object.ts';
import {isTrusted, NEXT_KEY_LABEL} from './trusted-objects.ts';

const HOST = 'shop.example.com';
const NAME = routeName('a', HOST);
const labels = {[LABEL.managedBy]: 'nameplate'};
const annotations = {[ANNOTATION.host]: HOST};
const trusted = {services: new Set([`a/${NAME}`])};
const slice = {'kubernetes.io/service-name': NAME};

function owned(kind: string, uid: string, controller = true) {
  return {ownerReferences: [{apiVersion: 'any/v1', kind, name: 'any', uid, controller}]};
}

test.each([
  {what: 'an object of a host', kind: 'Ingress', metadata: {labels, annotations}, want: true},
  {what: 'one without the label', kind: 'Ingress', metadata: {annotations}, want: false},
  {
    what: 'one whose name is of another host',
    kind: 'Ingress',
    metadata: {name: routeName('a', 'x'), labels, annotations},
    want: false,
  },
  {what: 'one with the label, and no host', kind: 'Ingress', metadata: {name: 'mine', labels}, want: false},
  {
    what: 'the Middleware of a host',
    kind: 'Middleware',
    metadata: {name: `${NAME}-https`, labels, annotations},
    want: true,
  },
  {what: 'Endpoints of a Service of a host', kind: 'Endpoints', metadata: {labels}, want: true},
  {what: 'Endpoints of no such Service', kind: 'Endpoints', metadata: {name: routeName('a', 'x'), labels}, want: false},
  {
    what: 'a slice of such a Service',
    kind: 'EndpointSlice',
    metadata: {name: `${NAME}-x`, labels: {...labels, ...slice}},
    want: true,
  },
  {
    what: 'a slice that a tenant wrote for it',
    kind: 'EndpointSlice',
    metadata: {name: 'mine', labels: slice},
    want: false,
  },
  {
    what: 'a request of a Certificate',
    kind: 'CertificateRequest',
    metadata: {name: 'r', ...owned('Certificate', 'c')},
    want: true,
  },
  {what: 'a request of nobody', kind: 'CertificateRequest', metadata: {name: 'r'}, want: false},
  {
    what: 'the next private key of a Certificate',
    kind: 'Secret',
    metadata: {name: 's', labels: {[NEXT_KEY_LABEL]: 'true'}, ...owned('Certificate', 'x')},
    want: true,
  },
  {
    what: 'a next private key that a finalizer keeps',
    kind: 'Secret',
    metadata: {
      name: 's',
      labels: {[NEXT_KEY_LABEL]: 'true'},
      finalizers: ['mallory.example/keep'],
      ...owned('Certificate', 'x'),
    },
    want: false,
  },
  {
    what: 'another Secret of a Certificate',
    kind: 'Secret',
    metadata: {name: 's', ...owned('Certificate', 'x')},
    want: false,
  },
  {
    what: "an object with the label of cert-manager's solvers",
    kind: 'Service',
    metadata: {name: 's', labels: {'acme.cert-manager.io/http01-solver': 'true'}, ...owned('Challenge', 'c')},
    want: false,
  },
])('$what: $want', ({kind, metadata, want}) => {
  const object = {apiVersion: 'any/v1', kind, metadata: {namespace: 'a', name: NAME, ...metadata}};
  expect(isTrusted(object as KubeObject, trusted)).toBe(want);
});
