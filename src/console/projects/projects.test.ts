import {describe, expect, test} from 'vitest';
import type {Project} from '../../operator/kinds/kinds.ts';
import {ApiError} from '../../runtime/kube/errors.ts';
import {addHost, hostsThatEndWith, removeHost, twinOf} from './edit.ts';
import {gitOpsOwner} from './owner.ts';
import {CHANGED_MEANWHILE, explainRefusedChange, hostTyped} from './refusal.ts';

type Domains = NonNullable<Project['spec']['domains']>;

function project(domains?: Domains): Project {
  return {
    apiVersion: 'nameplate.dev/v1alpha1',
    kind: 'Project',
    metadata: {name: 'shop', namespace: 'team', uid: 'u1'},
    spec: {service: {name: 'shop', port: 80}, ...(domains && {domains})},
  };
}

describe('adding a host', () => {
  const alone = {redirectTo: undefined, withTwin: false};
  test.each<[string, Domains | undefined, Parameters<typeof addHost>[1], Domains]>([
    ['the first one is the primary', undefined, {host: 'a.example.com', ...alone}, {primary: 'a.example.com'}],
    [
      'a second one is an alias',
      {primary: 'a.example.com', aliases: ['b.example.com']},
      {host: 'c.example.com', ...alone},
      {primary: 'a.example.com', aliases: ['b.example.com', 'c.example.com']},
    ],
    ['a wildcard is an alias', undefined, {host: '*.example.com', ...alone}, {aliases: ['*.example.com']}],
    [
      'a redirect to the primary follows the primary',
      {primary: 'a.example.com'},
      {host: 'old.example.com', redirectTo: 'a.example.com', withTwin: false},
      {primary: 'a.example.com', redirects: [{from: 'old.example.com'}]},
    ],
    [
      'an apex and its www in one step',
      undefined,
      {host: 'example.com', redirectTo: undefined, withTwin: true},
      {primary: 'example.com', redirects: [{from: 'www.example.com', to: 'example.com'}]},
    ],
    [
      'www and its apex in one step',
      undefined,
      {host: 'www.example.com', redirectTo: undefined, withTwin: true},
      {primary: 'www.example.com', redirects: [{from: 'example.com', to: 'www.example.com'}]},
    ],
    [
      'both redirect if the host does',
      {primary: 'a.example.com'},
      {host: 'example.org', redirectTo: 'a.example.com', withTwin: true},
      {primary: 'a.example.com', redirects: [{from: 'example.org'}, {from: 'www.example.org', to: 'a.example.com'}]},
    ],
    [
      'a twin that is listed already stays as it is',
      {primary: 'www.example.com'},
      {host: 'example.com', redirectTo: 'www.example.com', withTwin: true},
      {primary: 'www.example.com', redirects: [{from: 'example.com'}]},
    ],
  ])('%s', (_, before, addition, after) => {
    const {domains, patch} = addHost(project(before), addition);
    expect(domains).toEqual(after);
    expect(patch.at(-1)).toEqual({op: before ? 'replace' : 'add', path: '/spec/domains', value: after});
    expect(patch[0]).toEqual({op: 'test', path: '/metadata/uid', value: 'u1'});
    const read = before
      ? {op: 'test', path: '/spec/domains', value: before}
      : {op: 'test', path: '/spec', value: project().spec};
    expect(patch[1]).toEqual(read);
  });

  test.each([
    ['example.com', 'www.example.com'],
    ['www.example.co.uk', 'example.co.uk'],
    ['shop.example.com', undefined],
    ['www.shop.example.com', undefined],
  ])('the twin of %s is %s', (host, twin) => {
    expect(twinOf(host)).toBe(twin);
  });
});

describe('removing a host', () => {
  const listed = {
    primary: 'a.example.com',
    aliases: ['b.example.com'],
    redirects: [
      {from: 'www.example.com'},
      {from: 'old.example.com', to: 'www.example.com'},
      {from: 'c.example.com', to: 'b.example.com'},
    ],
  };

  test('also removes what redirects to it, directly or by way of others', () => {
    const ending = ['a.example.com', 'www.example.com', 'old.example.com'];
    expect(hostsThatEndWith(project(listed), 'a.example.com')).toEqual(ending);
    expect(removeHost(project(listed), 'a.example.com').domains).toEqual({
      aliases: ['b.example.com'],
      redirects: [{from: 'c.example.com', to: 'b.example.com'}],
    });
  });

  test('leaves no empty list', () => {
    expect(removeHost(project({primary: 'a.example.com'}), 'a.example.com').domains).toEqual({});
    expect(removeHost(project(listed), 'old.example.com').domains.redirects).toHaveLength(2);
  });
});

test.each<[string | undefined, Partial<Project['metadata']>]>([
  ['Argo CD', {annotations: {'argocd.argoproj.io/tracking-id': 'x'}}],
  ['Argo CD', {labels: {'argocd.argoproj.io/instance': 'x'}}],
  ['Flux', {labels: {'kustomize.toolkit.fluxcd.io/name': 'x'}}],
  ['Flux', {labels: {'helm.toolkit.fluxcd.io/name': 'x'}}],
  [undefined, {labels: {'app.kubernetes.io/instance': 'shop'}}],
])('%s applies a Project with %j', (owner, metadata) => {
  const plain = project();
  expect(gitOpsOwner({...plain, metadata: {...plain.metadata, ...metadata}})).toBe(owner);
});

describe('a refusal', () => {
  const refused = (status: number, reason: string, message: string, causes: object[] = []) =>
    new ApiError('PATCH /apis/x', status, {reason, message, details: {causes}});

  test.each([
    ['spec.domains.primary', 'host'],
    ['spec.domains.aliases[1]', 'host'],
    ['spec.domains.redirects[0].from', 'host'],
    ['spec.domains.redirects[0].to', 'to'],
    ['spec.service.port', 'form'],
  ])('about %s is at the field %s', (field, shown) => {
    const cause = {field, message: 'Invalid value: "string": \'x y\' has a space or a line break: remove it'};
    expect(explainRefusedChange(refused(422, 'Invalid', 'all', [cause]))).toEqual([
      {field: shown, message: "'x y' has a space or a line break: remove it."},
    ]);
  });

  test('of a policy is shown without the call', () => {
    const error = refused(403, 'Forbidden', 'projects.nameplate.dev "shop" is forbidden: not today');
    expect(explainRefusedChange(error)).toEqual([
      {field: 'form', message: 'projects.nameplate.dev "shop" is forbidden: not today.'},
    ]);
  });

  test('of what was read is a change by somebody else', () => {
    const error = refused(422, 'Invalid', 'the server rejected our request due to an error in our request');
    expect(explainRefusedChange(error)).toEqual([{field: 'form', message: CHANGED_MEANWHILE}]);
  });

  test('is no outage', () => {
    expect(explainRefusedChange(refused(500, 'InternalError', 'no'))).toBeUndefined();
    expect(explainRefusedChange(new Error('no'))).toBeUndefined();
  });
});

test.each([
  [' https://Shop.Example.com/path?x=1 ', 'shop.example.com'],
  ['shop.example.com.', 'shop.example.com'],
  ['bücher.example.com', 'xn--bcher-kva.example.com'],
  ['*.Example.com', '*.example.com'],
])('%j is typed for %s', (typed, host) => {
  expect(hostTyped(typed)).toEqual({ok: true, host});
});

test.each(['', 'localhost', '*.co.uk', 'a b.example.com', 'user@example.com'])('%j is no host', typed => {
  expect(hostTyped(typed)).toMatchObject({ok: false, problem: expect.any(String)});
});
