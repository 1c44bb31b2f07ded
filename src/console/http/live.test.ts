import {pino} from 'pino';
import {expect, test} from 'vitest';
import {ManualClock} from '../../../test/support/manual-clock.ts';
import type {Project} from '../../operator/kinds/kinds.ts';
import type {WatchEvent, WatchOptions} from '../../runtime/kube/calls.ts';
import type {KubeClient} from '../../runtime/kube/client.ts';
import type {KubeObject, ResourceType} from '../../runtime/kube/object.ts';
import type {IdentityProvider} from '../access/identity-provider.ts';
import {LoginTickets} from '../access/login-ticket.ts';
import {Sessions} from '../access/sessions.ts';
import type {ConsoleConfig} from '../generated/config.ts';
import {actionsVersion} from '../pages/project.ts';
import {createConsole} from './app.ts';

const ALL = ['get', 'list', 'watch', 'patch', 'delete'];
const RIGHTS = {mayWatch: true, mayEdit: true, mayVerify: true, mayDelete: true};
const READER = {mayWatch: true, mayEdit: false, mayVerify: false, mayDelete: false};

function projectWith(labels: Record<string, string>): Project {
  return {
    apiVersion: 'nameplate.dev/v1alpha1',
    kind: 'Project',
    metadata: {name: 'shop', namespace: 'team', resourceVersion: '7', labels},
    spec: {service: {name: 'shop', port: 80}},
  };
}

/** An API server whose watches never end, and open pages of one user. Nothing else is in this process. */
function worldOfOpenPages({seconds = 86_400} = {}) {
  const clock = new ManualClock(1_800_000_000_000);
  const api = {verbs: ALL, calls: 0, incomplete: false};
  const watchers: ((event: WatchEvent<Project>) => void)[] = [];
  const client = {
    get: async () => projectWith({}),
    create: async ({kind}: ResourceType, object: KubeObject) => {
      api.calls += 1;
      if (kind === 'SelfSubjectRulesReview') {
        const rule = {verbs: api.verbs, apiGroups: ['nameplate.dev'], resources: ['projects', 'domains']};
        return {...object, status: {incomplete: api.incomplete, resourceRules: api.incomplete ? [] : [rule]}};
      }
      const {spec} = object as unknown as {spec: {resourceAttributes: {verb: string}}};
      return {...object, status: {allowed: api.verbs.includes(spec.resourceAttributes.verb)}};
    },
    watch: ({kind}: ResourceType, {signal}: WatchOptions, on: (event: WatchEvent<Project>) => void) => {
      if (kind === 'Project') watchers.push(on);
      return new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
      });
    },
    close: async () => {},
  } as unknown as KubeClient;
  const sessions = new Sessions({total: 10, perUser: 10, maxSeconds: 86_400}, clock);
  const expiresAtMs = clock.now() + seconds * 1000;
  const signedIn = {idToken: 'token', user: 'tenant', name: 'tenant', expiresAtMs, namespaces: []};
  const {id} = sessions.begin(signedIn, client, false);
  const app = createConsole({
    config: {url: 'https://console.example.com', help: 'nobody', sessions: {streams: 6}} as ConsoleConfig,
    act: () => client,
    tickets: new LoginTickets(),
    provider: {} as IdentityProvider,
    logger: pino({level: 'silent'}),
    ...{sessions, clock},
  });
  /** Returns a function that reads events up to one of this kind. */
  const open = async (shown = actionsVersion(RIGHTS, undefined)) => {
    const path = `/namespaces/team/projects/shop/events?from=${shown}.1`;
    const headers = {cookie: `__Host-nameplate-console=${id}`, accept: 'text/event-stream'};
    const {body} = await app.request(path, {headers});
    const reader = (body ?? new ReadableStream<Uint8Array>()).getReader();
    let text = '';
    return async (event: string) => {
      while (!text.includes(`event: ${event}\n`)) {
        const {value, done} = await reader.read();
        if (done) return undefined;
        text += Buffer.from(value).toString();
      }
      const found = new RegExp(`event: ${event}\ndata: (.*)\n\n`).exec(text);
      text = text.slice((found?.index ?? 0) + (found?.[0].length ?? 0));
      return found?.[1];
    };
  };
  /** Until the streams wait for the next minute. */
  const minute = async () => {
    while (clock.sleepers < 2) await new Promise(setImmediate);
    await clock.advance(60_000);
  };
  return {api, open, minute, watchers, clock};
}

// attack: console-rights
test.each([
  ['all rules', false],
  ['answers to questions only', true],
])('an open page gets other buttons within a minute after its rights have changed, by %s', async (_, incomplete) => {
  const {api, open, minute} = worldOfOpenPages();
  api.incomplete = incomplete;
  const next = await open();
  api.verbs = ['get', 'list', 'watch'];
  await minute();
  expect(await next('actions')).toBe(actionsVersion(READER, undefined));
  api.verbs = ALL;
  await minute();
  expect(await next('actions')).toBe(actionsVersion(RIGHTS, undefined));
});

// attack: console-rights
test('an open page ends within a minute after its user may no longer watch', async () => {
  const {api, open, minute} = worldOfOpenPages();
  const next = await open();
  api.verbs = ['get', 'list'];
  await minute();
  expect(await next('end')).toBe('');
});

// attack: console-session
test('an open page ends with its token', async () => {
  const {open, clock, watchers} = worldOfOpenPages({seconds: 30});
  const next = await open();
  while (watchers.length === 0) await new Promise(setImmediate);
  await clock.advance(30_000);
  expect(await next('end')).toBe('');
});

test('an open page gets other buttons once a GitOps controller owns its Project, and ends with the Project', async () => {
  const {open, watchers} = worldOfOpenPages();
  const next = await open();
  while (watchers.length === 0) await new Promise(setImmediate);
  const flux = projectWith({'kustomize.toolkit.fluxcd.io/name': 'apps'});
  watchers[0]?.({type: 'MODIFIED', object: flux});
  expect(await next('actions')).toBe(actionsVersion(RIGHTS, 'Flux'));
  watchers[0]?.({type: 'DELETED', object: flux});
  expect(await next('end')).toBe('');
});

test('a page that was loaded before such a change gets other buttons as soon as it is open', async () => {
  const {open} = worldOfOpenPages();
  const next = await open(actionsVersion(READER, undefined));
  expect(await next('actions')).toBe(actionsVersion(RIGHTS, undefined));
});

// attack: console-work
test('five open pages of a session cost one call per minute', async () => {
  const {api, open, minute, clock} = worldOfOpenPages();
  for (let page = 0; page < 5; page++) await open();
  expect(api.calls).toBe(1);
  while (clock.sleepers < 6) await new Promise(setImmediate);
  for (let minutes = 0; minutes < 10; minutes++) await minute();
  expect(api.calls).toBe(11);
});
