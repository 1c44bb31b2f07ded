import {describe, expect, test} from 'vitest';
import {ManualClock} from '../../../test/support/manual-clock.ts';
import type {KubeClient} from '../../runtime/kube/client.ts';
import {LOGIN_SECONDS, LoginTickets, localPath} from './login-ticket.ts';
import {Sessions} from './sessions.ts';
import type {SignedIn} from './user-client.ts';

const START = 1_800_000_000_000;

describe('a login', () => {
  const tickets = new LoginTickets();
  const ticket = tickets.issue(START);

  test('ends in the browser that began it, with the path that it began with', () => {
    expect(tickets.pathIn(tickets.stateFor(ticket, '/namespaces/team?a=b'), ticket)).toBe('/namespaces/team?a=b');
  });

  test('does not end in another browser, another process, or with another path', () => {
    const state = tickets.stateFor(ticket, '/a');
    expect(tickets.pathIn(state, tickets.issue(START))).toBeUndefined();
    expect(new LoginTickets().pathIn(state, ticket)).toBeUndefined();
    const [mac] = state.split('.');
    expect(tickets.pathIn(`${mac}.${Buffer.from('/b').toString('base64url')}`, ticket)).toBeUndefined();
    expect(tickets.pathIn('', ticket)).toBeUndefined();
  });

  test('has a nonce and a verifier of its own', () => {
    const [own, other] = [tickets.secretsOf(ticket), tickets.secretsOf(tickets.issue(START))];
    expect(new Set([...Object.values(own), ...Object.values(other)]).size).toBe(4);
    expect(tickets.secretsOf(ticket)).toEqual(own);
    expect(own.verifier).toMatch(/^[\w-]{43,128}$/); // RFC 7636, section 4.1
  });

  test('has a limited time', () => {
    expect(tickets.isCurrent(ticket, START + LOGIN_SECONDS * 1000 - 1)).toBe(true);
    expect(tickets.isCurrent(ticket, START + LOGIN_SECONDS * 1000)).toBe(false);
    for (const forged of [undefined, '', 'x', `${START + 1}.${'a'.repeat(43)}`, `${START}.a`]) {
      expect(tickets.isCurrent(forged, START)).toBe(false);
    }
  });
});

test.each([
  ['/namespaces/team/projects/shop?host=a.example.com', '/namespaces/team/projects/shop?host=a.example.com'],
  ['https://evil.example/', '/'],
  ['//evil.example/', '/'],
  ['/\\evil.example/', '/'],
  ['/a\\b', '/'],
  ['javascript:alert(1)', '/'],
  ['/a\r\nset-cookie: b', '/'],
  ['', '/'],
  [undefined, '/'],
  [`/${'a'.repeat(2000)}`, '/'],
])('after the login, %j leads to %s', (given, path) => {
  expect(localPath(given)).toBe(path);
});

describe('sessions', () => {
  function world(limits = {total: 3, perUser: 2, maxSeconds: 3600}) {
    const clock = new ManualClock(START);
    const closed: string[] = [];
    const sessions = new Sessions(limits, clock);
    let count = 0;
    const begin = (user: string, seconds = 600) => {
      const signedIn: SignedIn = {
        idToken: `token-${++count}`,
        user,
        name: user,
        expiresAtMs: clock.now() + seconds * 1000,
        namespaces: [],
      };
      const client = {close: async () => closed.push(signedIn.idToken)} as unknown as KubeClient;
      return sessions.begin(signedIn, client, false);
    };
    return {clock, sessions, closed, begin};
  }

  test('have ids and form tokens that nobody guesses', () => {
    const {begin} = world();
    const [a, b] = [begin('a'), begin('b')];
    expect(new Set([a.id, a.formToken, b.id, b.formToken]).size).toBe(4);
    expect(a.id).toMatch(/^[\w-]{43}$/);
  });

  test('are limited per user and in total; the oldest ends, with its connections', () => {
    const {sessions, closed, begin} = world();
    const [first, second, third] = [begin('a'), begin('a'), begin('a')];
    expect(sessions.find(first.id)).toBeUndefined();
    expect(first.signal.aborted).toBe(true);
    expect(closed).toEqual(['token-1']);
    begin('b');
    begin('c');
    expect(sessions.size).toBe(3);
    expect([second, third].map(({id}) => sessions.find(id) !== undefined)).toEqual([false, true]);
  });

  test('end with their token, or at the longest time', async () => {
    const {clock, sessions, closed, begin} = world();
    const [short, long] = [begin('a', 600), begin('b', 7200)];
    await clock.advance(600_000);
    expect(sessions.find(short.id)).toBeUndefined();
    await new Promise(setImmediate);
    expect(short.signal.aborted).toBe(true);
    expect(closed).toEqual(['token-1']);
    await clock.advance(3_000_000);
    expect(sessions.find(long.id)).toBeUndefined();
  });

  test('end at once when the user signs out', () => {
    const {sessions, closed, begin} = world();
    const {id, signal} = begin('a');
    sessions.end(id);
    expect([sessions.find(id), signal.aborted, closed, sessions.size]).toEqual([undefined, true, ['token-1'], 0]);
    sessions.end(id);
  });

  test('hold no token that a log or a page could show', () => {
    const {begin} = world();
    expect(JSON.stringify(begin('a'))).not.toContain('token-1');
  });
});
