import {expect, test} from 'vitest';
import type {KubeObject} from '../../runtime/kube/object.ts';
import {type ApiAnswer, warningsIn} from './call.ts';
import {resendable, verdictOf} from './dry-run.ts';

const CLASS = 'kubernetes.io/ingress.class';
const object = (kind: string, content: object, annotations?: Record<string, string>) =>
  ({
    apiVersion: 'v1',
    kind,
    metadata: {name: 'a', namespace: 'b', ...(annotations && {annotations})},
    ...content,
  }) as KubeObject;

test('nothing is sent that the API server has assigned', () => {
  const metadata = {
    ...{name: 'a', namespace: 'b', labels: {l: '1'}, annotations: {a: '1'}},
    ...{uid: 'u', resourceVersion: '7', generation: 2, creationTimestamp: '2026-01-01T00:00:00Z'},
    ownerReferences: [{apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'q'}],
    finalizers: ['any/any'],
    managedFields: [{manager: 'helm'}],
  };
  const sent = resendable({apiVersion: 'v1', kind: 'Pod', metadata, ...{spec: {a: 1}, status: {b: 1}}});
  expect(sent).toEqual({
    ...{apiVersion: 'v1', kind: 'Pod', spec: {a: 1}},
    metadata: {name: 'a', namespace: 'b', labels: {l: '1'}, annotations: {a: '1'}},
  });
});

test.each([
  {
    given: {clusterIP: '10.0.0.7', clusterIPs: ['10.0.0.7'], ports: [{port: 80, nodePort: 30_080}], externalIPs: ['a']},
    sent: {ports: [{port: 80}], externalIPs: ['a']},
  },
  {given: {clusterIP: 'None', clusterIPs: ['None']}, sent: {clusterIP: 'None'}},
  {
    given: {type: 'LoadBalancer', loadBalancerIP: 'b', healthCheckNodePort: 1},
    sent: {type: 'LoadBalancer', loadBalancerIP: 'b'},
  },
])('the addresses of a Service are not requested again: $given', ({given, sent}) => {
  expect(resendable(object('Service', {spec: given}))).toMatchObject({spec: sent});
  expect((resendable(object('Service', {spec: given})) as {spec?: object}).spec).toEqual(sent);
});

test.each([
  {what: 'no class', ingress: object('Ingress', {spec: {}}), annotations: {[CLASS]: ''}},
  {what: 'a class', ingress: object('Ingress', {spec: {ingressClassName: 'internal'}}), annotations: {}},
  {what: 'the old annotation', ingress: object('Ingress', {spec: {}}, {[CLASS]: 'old'}), annotations: {[CLASS]: 'old'}},
])('an Ingress with $what gets no default class', ({ingress, annotations}) => {
  expect(resendable(ingress).metadata.annotations).toEqual(annotations);
});

const answer = (status: number, fields: Partial<ApiAnswer> = {}): ApiAnswer => ({
  ...{status, message: '', warnings: [], body: {}},
  ...fields,
});
const said = (name: string, text: string) =>
  `Validation failed for ValidatingAdmissionPolicy '${name}' with binding '${name}': ${text}`;
const denied = (name: string, text: string) => ({
  message: `ingresses "a" is forbidden: ValidatingAdmissionPolicy '${name}' with binding '${name}' denied request: ${text}`,
});
const exists = {message: 'ingresses "a" already exists'};
const ROUTES = {refusals: ['nameplate-routes: no']};
const OURS = 'nameplate-routes';

test.each([
  {when: 'the name exists', given: answer(409, exists), want: {refusals: []}},
  {when: 'the object was deleted meanwhile', given: answer(201), want: {refusals: []}},
  {when: 'a policy warns', given: answer(409, {...exists, warnings: [said(OURS, 'no')]}), want: ROUTES},
  {
    when: 'two bindings warn alike',
    given: answer(409, {...exists, warnings: [said(OURS, 'no'), said(OURS, 'no')]}),
    want: ROUTES,
  },
  {when: 'a policy denies', given: answer(403, denied(OURS, 'no')), want: ROUTES},
  {
    when: 'somebody else warns',
    given: answer(409, {...exists, warnings: [said('theirs', 'no'), 'v1 is deprecated']}),
    want: {refusals: []},
  },
  {
    when: 'a quota is used up',
    given: answer(403, {message: 'exceeded quota: q, requested: a=1'}),
    want: {refusals: []},
  },
  {
    when: 'a policy of somebody else denies, which may hide ours',
    given: answer(403, denied('theirs', 'no')),
    want: undefined,
  },
  {
    when: 'a webhook denies',
    given: answer(400, {message: 'admission webhook "w" denied the request'}),
    want: undefined,
  },
  {
    when: 'the namespace is being deleted',
    given: answer(403, {message: 'unable to create new content in namespace a because it is being terminated'}),
    want: {refusals: []},
  },
  {when: 'the schema has changed', given: answer(422, {message: 'spec.a: Required value'}), want: undefined},
  {when: 'the user may not', given: answer(403, {message: 'User "u" cannot create'}), want: undefined},
  {
    when: 'a policy warns and a webhook denies',
    given: answer(400, {message: 'admission webhook "w"', warnings: [said(OURS, 'no')]}),
    want: ROUTES,
  },
])('the verdict when $when', ({given, want}) => {
  const verdict = verdictOf(given, new Set([OURS, 'nameplate-issuers']));
  expect(verdict).toEqual(want ?? {unchecked: `${given.status} ${given.message}`});
});

test.each([
  {header: '299 - "one"', texts: ['one']},
  {header: '299 - "one", 299 - "two, with 299 - inside"', texts: ['one', 'two, with 299 - inside']},
  {header: String.raw`299 - "a \"b\" \\ c"`, texts: ['a "b" \\ c']},
  {header: '199 - "none"', texts: []},
  {header: Buffer.from('299 - "naïve"').toString('latin1'), texts: ['naïve']},
])('the header Warning: $header', ({header, texts}) => {
  expect(warningsIn(header)).toEqual(texts);
});
