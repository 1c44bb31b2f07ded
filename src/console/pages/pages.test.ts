import {describe, expect, test} from 'vitest';
import {adviseHost} from '../../advice/host.ts';
import type {ACMEIssuer, Domain, Project} from '../../operator/kinds/kinds.ts';
import type {KubeClient} from '../../runtime/kube/client.ts';
import type {UserSession} from '../access/sessions.ts';
import type {Rights} from '../projects/read.ts';
import {proposalPage, removalPage} from './change.ts';
import {hostCard, hostRow} from './host.ts';
import {messagePage} from './layout.ts';
import {namespacePage, overviewPage} from './overview.ts';
import {platformPage} from './platform.ts';
import {projectPage} from './project.ts';

const EVIL = `<img src=x onerror=alert(1)>"'&`;

/** The API server's rules exclude most of this. The pages must not depend on these rules. */
const session: UserSession = {
  id: 'id',
  formToken: EVIL,
  user: EVIL,
  name: EVIL,
  namespaces: [EVIL],
  client: {} as KubeClient,
  expiresAtMs: 0,
  signal: new AbortController().signal,
  mayListAll: true,
  streams: 0,
};
const condition = (type: string, status: 'True' | 'False') => ({
  ...{type, status, reason: EVIL, message: EVIL, lastTransitionTime: EVIL, observedGeneration: 1},
});
const domain = {
  apiVersion: 'nameplate.dev/v1alpha1',
  kind: 'Domain',
  metadata: {name: EVIL, namespace: EVIL},
  spec: {host: EVIL, projectRef: {name: EVIL}, redirect: {to: EVIL}},
  status: {
    state: EVIL,
    dns: {
      required: [{type: EVIL, name: EVIL, label: EVIL, value: EVIL, ttl: 1}],
      observed: [{type: EVIL, name: EVIL, value: EVIL, server: EVIL}],
    },
    certificate: {notAfter: EVIL, renewalTime: EVIL, nextAttemptAt: EVIL},
    conditions: [condition('DNSVerified', 'False'), condition('Claimed', 'True'), condition('Ready', 'False')],
  },
} as unknown as Domain;
const project = {
  apiVersion: EVIL,
  kind: EVIL,
  metadata: {name: EVIL, namespace: EVIL},
  spec: {service: {name: EVIL, port: EVIL}, domains: {primary: EVIL, aliases: [`${EVIL}2`], redirects: [{from: EVIL}]}},
  status: {url: `https://${EVIL}`, domains: [{host: EVIL, state: EVIL}], conditions: [condition('Ready', 'False')]},
} as unknown as Project;
const place = {namespace: EVIL, project: EVIL};
const rights: Rights = {mayWatch: true, mayEdit: true, mayVerify: true, mayDelete: true};
const advice = adviseHost(domain);
const edit = {domains: {primary: EVIL}, patch: []};
const problems = (['form', 'host', 'to'] as const).map(field => ({field, message: EVIL}));
const view = {place, session, rights, project, domains: [domain], hasMore: true, resourceVersion: EVIL};
const issuer = {
  metadata: {name: EVIL},
  status: {orders: {left: EVIL, leftForRenewals: EVIL, waiting: EVIL}, conditions: [condition('Ready', 'False')]},
} as unknown as ACMEIssuer;
const overview = {namespaces: [{namespace: EVIL, projects: [project]}], next: EVIL, mayListAll: true};

// attack: console-markup
test.each([
  ['a project', projectPage({...view, notice: EVIL, form: {host: EVIL, to: EVIL, withTwin: true, problems}})],
  ['a host of a project', projectPage({...view, chosen: EVIL})],
  ['a project of many hosts', projectPage({...view, domains: Array.from({length: 9}, () => domain)})],
  ['a card', hostCard(advice, {place, session, rights, isListed: false})],
  ['a row', hostRow(advice, place)],
  ['the projects', overviewPage({session, overview, help: EVIL, refused: EVIL})],
  ['a namespace', namespacePage(session, {namespace: EVIL, projects: [project]})],
  ['a removal', removalPage({place, session, hosts: [EVIL, EVIL], isServed: true, version: EVIL, problem: EVIL})],
  ['a proposal', proposalPage({place, session, project, owner: EVIL, edit})],
  ['a message', messagePage(EVIL, EVIL, undefined, session)],
  [
    'the platform team',
    platformPage({
      session,
      filter: {state: undefined, actor: undefined, reason: EVIL},
      hosts: [{namespace: EVIL, project: EVIL, isPaused: true, advice}],
      next: EVIL,
      seen: 1,
      issuers: [issuer],
    }),
  ],
])('the page of %s escapes every text in it', (_, page) => {
  const text = page.toString();
  expect(text).toContain('&lt;img src=x onerror=alert(1)&gt;&quot;&#39;&amp;');
  expect(text).not.toContain('<img');
  expect(text).not.toMatch(/="[^"]*'&/);
});

describe('buttons', () => {
  const card = (allowed: Partial<Rights>, isListed = true) =>
    hostCard(advice, {
      place: {namespace: 'team', project: 'shop'},
      session,
      rights: {mayWatch: true, mayEdit: false, mayVerify: false, mayDelete: false, ...allowed},
      isListed,
    }).toString();

  test.each<[string, string, Partial<Rights>, boolean, boolean]>([
    ['/verify', 'a user who may patch Domains', {mayVerify: true}, true, true],
    ['/verify', 'a user who may do everything else', {mayEdit: true, mayDelete: true}, true, false],
    ['/remove', 'a user who may patch Projects', {mayEdit: true}, true, true],
    ['/remove', 'a user who may do everything else', {mayVerify: true, mayDelete: true}, true, false],
    ['/remove', 'a user who may delete Domains, if no Project lists the host', {mayDelete: true}, false, true],
    ['/remove', 'a user who may do everything else, if no Project lists it', {mayEdit: true}, false, false],
  ])('%s is there for %s: %j', (path, _, allowed, isListed, isThere) => {
    expect(card(allowed, isListed).includes(path)).toBe(isThere);
  });
});
