import {Writable} from 'node:stream';
import {expect, test} from 'vitest';
import {ManualClock} from '../../../test/support/manual-clock.ts';
import {createLogger} from '../../operations/log.ts';
import type {KubeClient} from '../../runtime/kube/client.ts';
import {ApiError} from '../../runtime/kube/errors.ts';
import type {IdentityProvider} from '../access/identity-provider.ts';
import {LoginTickets} from '../access/login-ticket.ts';
import {Sessions} from '../access/sessions.ts';
import type {SignedIn} from '../access/user-client.ts';
import type {ConsoleConfig} from '../generated/config.ts';
import {createConsole} from './app.ts';

const MANY = 1000;

const STRANGER: SignedIn = {
  idToken: 'token',
  user: 'stranger',
  name: 'stranger',
  expiresAtMs: 1_800_000_600_000,
  namespaces: [],
};

/** A console whose identity provider counts codes. It refuses them, or the API server refuses whom it knows. */
function consoleOfStrangers({isKnown = false} = {}) {
  const clock = new ManualClock(1_800_000_000_000);
  const lines: string[] = [];
  let codes = 0;
  const provider: IdentityProvider = {
    loginUrl: async (_, state) => `https://id.example.net/auth?${new URLSearchParams({state})}`,
    complete: async () => {
      codes += 1;
      if (isKnown) return STRANGER;
      throw new Error('invalid_grant');
    },
    logoutUrl: undefined,
  };
  const sessions = new Sessions({total: 1, perUser: 1, maxSeconds: 600}, clock);
  let closed = 0;
  const act = () =>
    ({
      create: async () => {
        throw new ApiError('POST', 401, {});
      },
      close: async () => {
        closed += 1;
      },
    }) as unknown as KubeClient;
  const destination = new Writable({
    write(line, _, done) {
      lines.push(`${line}`);
      done();
    },
  });
  const app = createConsole({
    config: {url: 'https://console.example.com', help: 'nobody', oidc: {}} as ConsoleConfig,
    ...{sessions, act},
    tickets: new LoginTickets(),
    ...{provider, clock, logger: createLogger({level: 'info', program: 'console', destination})},
  });
  /** A browser at this address, and what it sends as the header of the edge. */
  const get = async (path: string, cookie: string, address: string, forwarded?: string) => {
    const headers = {cookie, ...(forwarded !== undefined && {'x-forwarded-for': forwarded})};
    return await app.request(path, {headers}, {incoming: {socket: {remoteAddress: address}}});
  };
  /** Begins a login, as anybody can. Returns the address to which the provider would send the browser. */
  const begin = async () => {
    const answer = await get('/sign-in', '', '192.0.2.1');
    const cookie = answer.headers.get('set-cookie')?.split(';')[0] ?? '';
    const state = new URL(answer.headers.get('location') ?? '').searchParams.get('state') ?? '';
    return {cookie, path: `/callback?${new URLSearchParams({state, code: 'guessed'})}`};
  };
  return {app, get, begin, lines, clock, sessions, act, codes: () => codes, closed: () => closed};
}

// attack: console-strangers
test('a callback reaches the identity provider only from the browser that began the login', async () => {
  const {get, begin, codes, lines} = consoleOfStrangers();
  const [own, other] = [await begin(), await begin()];
  const {searchParams} = new URL(own.path, 'https://console.example.com');
  const changed = `/callback?${new URLSearchParams({state: `${searchParams.get('state')}x`, code: 'guessed'})}`;
  for (const [path, cookie] of [
    ['/callback', ''],
    ['/callback?code=guessed', own.cookie],
    [own.path, ''],
    [own.path, other.cookie],
    [own.path, '__Host-nameplate-login=chosen'],
    [changed, own.cookie],
  ] as const) {
    expect([path, (await get(path, cookie, '192.0.2.1')).status]).toEqual([path, 400]);
  }
  expect([codes(), lines]).toEqual([0, []]);
  expect((await get(own.path, own.cookie, '192.0.2.1')).status).toBe(403);
  expect(codes()).toBe(1);
});

// attack: console-strangers
test.each<[number, string, (index: number) => [address: string, forwarded?: string]]>([
  [100, 'one address', () => ['192.0.2.1']],
  [100, 'one IPv6 network', index => [`2001:db8::${index}`]],
  [500, 'many addresses', index => [`192.0.${index % 250}.1`]],
  [500, 'many addresses behind an edge', index => ['10.0.0.1', `192.0.${index % 250}.1`]],
  [
    100,
    'one address behind an edge, whatever else it writes into the header',
    index => ['10.0.0.1', `192.0.${index % 250}.1, 192.0.2.1`],
  ],
  [100, 'an edge that passes on anything', index => ['10.0.0.1', `a${index}`]],
])('the identity provider gets %i of many codes at the same time from %s', async (most, _, from) => {
  const {get, begin, codes} = consoleOfStrangers();
  const {path, cookie} = await begin();
  const statuses: number[] = [];
  for (let index = 0; index < MANY; index++) statuses.push((await get(path, cookie, ...from(index))).status);
  expect([codes(), statuses.filter(status => status === 429).length]).toEqual([most, MANY - most]);
});

// attack: console-strangers
test('an account of the identity provider that the API server refuses ends no session of somebody else', async () => {
  const {get, begin, sessions, act, lines, closed} = consoleOfStrangers({isKnown: true});
  const {id} = sessions.begin({...STRANGER, user: 'tenant'}, act(), false);
  const {path, cookie} = await begin();
  for (let index = 0; index < 50; index++) expect((await get(path, cookie, '192.0.2.1')).status).toBe(403);
  expect([sessions.find(id)?.user, closed(), lines.length]).toEqual(['tenant', 50, 10]);
});

// attack: console-strangers
test('logins that fail write few lines, which say how many are omitted', async () => {
  const {get, begin, lines, clock} = consoleOfStrangers();
  const {path, cookie} = await begin();
  for (let index = 0; index < 50; index++) await get(path, cookie, '192.0.2.1');
  expect(lines).toHaveLength(10);
  await clock.advance(1000);
  await get(path, cookie, '192.0.2.1');
  expect(JSON.parse(lines.at(-1) ?? '{}')).toMatchObject({reason: 'invalid_grant', omittedBefore: 40});
});

// attack: console-strangers
test.each([
  ['GET', '/'],
  ['GET', '/sign-in?to=//evil.example'],
  ['GET', '/signed-out'],
  ['GET', '/namespaces/team/projects/shop/events?from=1'],
  ['GET', '/nothing/%ff'],
  ['POST', '/sign-out'],
  ['POST', '/callback'],
  ['POST', '/namespaces/team/projects/shop/add'],
  ['PUT', '/'],
])('a stranger writes no line of the log by %s %s', async (method, path) => {
  const {app, lines, codes} = consoleOfStrangers();
  const body = method === 'GET' ? null : '------\r\n';
  const headers = {
    cookie: '__Host-nameplate-console=%ff',
    'content-type': 'multipart/form-data; boundary=x',
    ...(body !== null && {origin: 'https://console.example.com'}),
  };
  const {status} = await app.request(path, {method, headers, body});
  expect([status < 500, lines, codes()]).toEqual([true, [], 0]);
});
