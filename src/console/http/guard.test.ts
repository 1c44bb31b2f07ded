import {Hono} from 'hono';
import {expect, test} from 'vitest';
import type {Env} from './env.ts';
import {fewAtATime, sameOrigin, usersTakeTurns} from './guard.ts';

// attack: console-work
test("a user's requests are answered a few at a time, whatever the sessions; others are not refused", async () => {
  const {promise: answer, resolve: open} = Promise.withResolvers<void>();
  const app = new Hono<Env>();
  app.use(async (context, next) => {
    context.set('session', {user: context.req.header('user')} as Env['Variables']['session']);
    await next();
  });
  app.use(fewAtATime());
  app.get('/', async context => {
    await answer;
    return context.text('a page');
  });
  const statusFor = async (user: string) => (await app.request('/', {headers: {user}})).status;
  const first = Array.from({length: 12}, () => statusFor('a'));
  expect(await statusFor('a')).toBe(429);
  const other = statusFor('b');
  open();
  expect(await Promise.all([...first, other])).toEqual(Array.from({length: 13}, () => 200));
  expect(await statusFor('a')).toBe(200);
});

// attack: console-work
test('users take turns: one with many requests delays another by one of them', async () => {
  const opened: PromiseWithResolvers<void>[] = [];
  const begun: string[] = [];
  const app = new Hono<Env>();
  app.use(async (context, next) => {
    context.set('session', {user: context.req.header('user')} as Env['Variables']['session']);
    await next();
  });
  app.use(usersTakeTurns());
  app.get('/:name', async context => {
    begun.push(context.req.param('name'));
    const gate = Promise.withResolvers<void>();
    opened.push(gate);
    await gate.promise;
    return context.text('a page');
  });
  const open = (name: string) => app.request(`/${name}`, {headers: {user: name.slice(0, 1)}});
  const all = ['a1', 'a2', 'a3', 'a4', 'a5', 'a6', 'a7', 'a8', 'b1', 'c1'].map(open);
  const shown = async (count: number) => {
    while (begun.length < count) await new Promise(setImmediate);
    return [...begun];
  };
  expect(await shown(6)).toEqual(['a1', 'a2', 'a3', 'a4', 'a5', 'a6']);
  for (const gate of opened.splice(0, 1)) gate.resolve();
  expect(await shown(7)).toContain('a7');
  for (const gate of opened.splice(0, 2)) gate.resolve();
  expect((await shown(9)).slice(7).sort()).toEqual(['b1', 'c1']);
  for (const gate of opened) gate.resolve();
  await shown(10);
  for (const gate of opened) gate.resolve();
  expect((await Promise.all(all)).map(({status}) => status)).toEqual(Array.from({length: 10}, () => 200));
});

// attack: console-forms
test.each<[number, string, string, Record<string, string>]>([
  [200, 'GET', 'a browser without these headers', {}],
  [200, 'GET', 'our own page', {'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty'}],
  [
    200,
    'GET',
    'the address bar',
    {'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document'},
  ],
  [
    200,
    'GET',
    'a link or a redirect of another site',
    {'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document'},
  ],
  [
    403,
    'GET',
    'a frame of another site',
    {'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe'},
  ],
  [
    403,
    'GET',
    'a script of a sibling',
    {'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'empty'},
  ],
  [200, 'POST', 'our own page', {origin: 'https://console.example.com', 'sec-fetch-site': 'same-origin'}],
  [200, 'POST', 'our own page in an old browser', {origin: 'https://console.example.com'}],
  [403, 'POST', 'another origin', {origin: 'https://evil.example', 'sec-fetch-site': 'cross-site'}],
  [403, 'POST', 'another origin in an old browser', {origin: 'https://evil.example'}],
  [403, 'POST', 'no origin', {}],
  [403, 'POST', 'a sandbox', {origin: 'null', 'sec-fetch-site': 'cross-site'}],
  [403, 'POST', 'a sibling', {origin: 'https://console.example.com', 'sec-fetch-site': 'same-site'}],
])('%i for %s from %s', async (status, method, _, headers) => {
  const app = new Hono<Env>();
  app.use(sameOrigin('https://console.example.com'));
  app.all('/', context => context.text('a page'));
  expect((await app.request('/', {method, headers})).status).toBe(status);
});
