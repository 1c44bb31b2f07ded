/** The console at a real API server, with ID tokens of a real identity provider, as docs/console.md configures both. */
import {Agent, request} from 'undici';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {addHost} from '../../../src/console/projects/edit.ts';
import {CHANGED_MEANWHILE, explainRefusedChange} from '../../../src/console/projects/refusal.ts';
import {DOMAIN, PROJECT, type Project} from '../../../src/operator/kinds/kinds.ts';
import type {KubeClient} from '../../../src/runtime/kube/client.ts';
import {until} from '../../cluster/wait.ts';
import {createTestClient} from '../../support/kube.ts';
import {type ConsoleWorld, startConsoleWorld} from './console-world.ts';
import {newProject, report, TARGET, unverified} from './objects.ts';
import type {Page, Visitor} from './visitor.ts';

const EVIL = `<script>alert(1)</script>"'><img src=x onerror=alert(2)>&`;

let world: ConsoleWorld;
let admin: KubeClient;

beforeAll(async () => {
  world = await startConsoleWorld();
  admin = createTestClient(world.api.kubeconfig);
});
afterAll(async () => {
  await admin?.close();
  await world?.stop();
});

/** Each test has its own Project. */
const project = (name: string, domains: Project['spec']['domains'] = {}, more: Parameters<typeof newProject>[2] = {}) =>
  newProject(admin, name, {...more, domains});
const reported = (name: string, host: string, status = unverified(host)) => report(admin, name, host, status);

async function signedIn(name: string, path = '/'): Promise<{visitor: Visitor; page: Page}> {
  const visitor = world.visitor();
  return {visitor, page: await visitor.signIn(name, path)};
}

function tokenIn({text}: Page): string {
  return /name="form-token" value="([^"]+)"/.exec(text)?.[1] ?? '';
}

async function domainsOf(name: string, namespace = 'acme') {
  return (await admin.get(PROJECT, {namespace, name}))?.spec.domains;
}

describe('a tenant', () => {
  test('signs in, and gets to the page that was requested', async () => {
    const path = await project('first');
    const {page, visitor} = await signedIn('tenant', `${path}?host=a.example.com`);
    expect([page.status, new URL(page.url).pathname]).toEqual([200, path]);
    expect(page.text).toContain('Signed in as <bdi>tenant</bdi>');
    expect(visitor.session).toMatch(/^[\w-]{43}$/);
  });

  test('sees the namespaces of the claim in which it may list Projects, and no others', async () => {
    await project('secret', {}, {namespace: 'globex'});
    const {page, visitor} = await signedIn('tenant');
    expect(page.text).toContain('/namespaces/acme');
    expect(page.text).not.toContain('/namespaces/globex');
    const typed = await visitor.get('/?namespace=globex');
    expect(typed.text).toContain('You may not list projects in this namespace');
    expect(typed.text).toContain('help@platform.example');
  });

  test('sees what to do next, and the record to create beside the one that was found', async () => {
    const host = 'shop.example.com';
    const path = await project('next', {primary: host});
    await reported('next', host);
    const {page} = await signedIn('tenant', path);
    expect(page.text).toContain('What to do next');
    expect(page.text).toContain(`Create ${host}. CNAME ${TARGET}.`);
    expect(page.text).toContain(`data-copy="${TARGET}"`);
    expect(page.text).toContain('data-copy="shop"');
    expect(page.text).toMatch(/✗ A <code><bdi>192\.0\.2\.7<\/bdi><\/code>/);
    expect(page.text).toContain(`aria-label="Verify ${host}"`);
    expect(Buffer.byteLength(page.text)).toBeLessThan(30_000);
  });

  test('adds an apex with its www, verifies, and removes both', async () => {
    const path = await project('story');
    const {page, visitor} = await signedIn('tenant', path);
    const token = tokenIn(page);
    const added = await visitor.post(`${path}/add`, {
      'form-token': token,
      host: 'https://Example.com/',
      twin: 'yes',
      to: '',
    });
    expect(added.text).toContain('Added example.com.');
    expect(await domainsOf('story')).toEqual({
      primary: 'example.com',
      redirects: [{from: 'www.example.com', to: 'example.com'}],
    });

    await reported('story', 'example.com');
    const verified = await visitor.post(`${path}/verify`, {'form-token': token, host: 'example.com'});
    expect(verified.text).toContain('Requested a check of example.com.');
    expect(verified.text).toContain('Nameplate is checking this host now.');
    const domain = await admin.get(DOMAIN, {namespace: 'acme', name: 'example.com'});
    expect(domain?.metadata.annotations?.['nameplate.dev/verify-requested-at']).toMatch(/^\d{4}-/);

    const question = await visitor.get(`${path}/remove?host=example.com`);
    expect(question.text).toContain('These hosts redirect to it and are removed too: <bdi>www.example.com</bdi>');
    const version = /name="version" value="([^"]+)"/.exec(question.text)?.[1] ?? '';
    const removed = await visitor.post(`${path}/remove`, {'form-token': token, host: 'example.com', version});
    expect(removed.text).toContain('Removed example.com.');
    expect(await domainsOf('story')).toEqual({});
  });

  test('sees the refusal of the API server at the field that it concerns', async () => {
    const path = await project('refused', {primary: 'a.example.com', aliases: ['b.example.com']});
    const {page, visitor} = await signedIn('tenant', path);
    const refused = await visitor.post(`${path}/add`, {'form-token': tokenIn(page), host: 'a.example.com', to: ''});
    expect(refused.status).toBe(422);
    expect(refused.text).toMatch(
      /id="problem-(host|form)"[^>]*><p dir="auto">&#39;a\.example\.com&#39; is both the primary and an alias/,
    );
    expect(refused.text).toContain('value="a.example.com"');
    const typo = await visitor.post(`${path}/add`, {'form-token': tokenIn(page), host: 'localhost', to: ''});
    expect(typo.text).toMatch(/aria-invalid="true" aria-describedby="problem-host"/);
    expect(typo.text).toContain('Localhost has no dot');
  });

  test('changes nothing that somebody else has changed since', async () => {
    const path = await project('raced', {primary: 'a.example.com'});
    const {page, visitor} = await signedIn('tenant', path);
    const question = await visitor.get(`${path}/remove?host=a.example.com`);
    const version = /name="version" value="([^"]+)"/.exec(question.text)?.[1] ?? '';
    await admin.patch(PROJECT, {namespace: 'acme', name: 'raced'}, {spec: {domains: {aliases: ['b.example.com']}}});
    const late = await visitor.post(`${path}/remove`, {'form-token': tokenIn(page), host: 'a.example.com', version});
    expect(late.status).toBe(409);
    expect(late.text).toContain('The Project has changed in the meantime.');
    expect(await domainsOf('raced')).toEqual({primary: 'a.example.com', aliases: ['b.example.com']});
  });

  test('sees a race that the API server decides as a change by somebody else', async () => {
    await project('lost', {primary: 'a.example.com'});
    const read = await admin.get(PROJECT, {namespace: 'acme', name: 'lost'});
    if (!read) throw new Error('no Project');
    const {patch} = addHost(read, {host: 'b.example.com', redirectTo: undefined, withTwin: false});
    await admin.patch(PROJECT, {namespace: 'acme', name: 'lost'}, {spec: {domains: {primary: 'c.example.com'}}});
    const error = await admin
      .jsonPatch(PROJECT, {namespace: 'acme', name: 'lost'}, patch)
      .catch((thrown: unknown) => thrown);
    expect(explainRefusedChange(error)).toEqual([{field: 'form', message: CHANGED_MEANWHILE}]);
  });

  test.each([
    ['Argo CD', {annotations: {'argocd.argoproj.io/tracking-id': 'x'}}],
    ['Flux', {labels: {'kustomize.toolkit.fluxcd.io/name': 'x'}}],
  ])('gets the YAML to commit if %s applies the Project', async (owner, metadata) => {
    const name = owner === 'Flux' ? 'flux' : 'argo';
    const path = await project(name, {primary: 'a.example.com'}, metadata);
    const {page, visitor} = await signedIn('tenant', path);
    expect(page.text).toContain(`${owner} applies this project`);
    const proposed = await visitor.post(`${path}/add`, {'form-token': tokenIn(page), host: 'b.example.com', to: ''});
    expect(proposed.text).toContain('aliases:\n      - b.example.com');
    const removal = await visitor.get(`${path}/remove?host=a.example.com`);
    expect(removal.text).toContain('Commit this change');
    expect(removal.text).not.toContain('primary: a.example.com');
    await visitor.post(`${path}/remove`, {'form-token': tokenIn(page), host: 'a.example.com', version: ''});
    expect(await domainsOf(name)).toEqual({primary: 'a.example.com'});
  });

  test('finds many hosts on a first page of less than 50 kB', async () => {
    const hosts = Array.from({length: 200}, (_, index) => `h${index}.example.com`);
    const path = await project('many', {primary: 'h0.example.com', aliases: hosts.slice(1, 101)});
    await Promise.all(hosts.slice(0, 60).map(host => reported('many', host)));
    const {page, visitor} = await signedIn('tenant', path);
    expect(Buffer.byteLength(page.text)).toBeLessThan(36_000);
    const assets = [...page.text.matchAll(/(?:href|src)="(\/assets\/[^"]+)"/g)].map(([, asset = '']) => asset);
    const sizes = await Promise.all(assets.map(async asset => Buffer.byteLength((await visitor.get(asset)).text)));
    expect(Buffer.byteLength(page.text) + sizes.reduce((a, b) => a + b, 0)).toBeLessThan(50_000);
    expect((await visitor.get(`${path}?from=40`)).text).toContain('All hosts of this project');
  });
});

describe('rights', () => {
  test('a reader sees the project, and no button', async () => {
    const path = await project('read', {primary: 'a.example.com'});
    await reported('read', 'a.example.com');
    const {page, visitor} = await signedIn('reader', path);
    expect(page.text).toContain('You may not change this project.');
    expect(page.text).not.toMatch(/\/(add|verify|remove)"/);
    expect(page.text).not.toContain('aria-label="Remove');
    const fields = {'form-token': tokenIn(page), host: 'a.example.com'};
    expect((await visitor.post(`${path}/verify`, fields)).status).toBe(403);
    expect((await visitor.post(`${path}/add`, {...fields, host: 'b.example.com'})).status).toBe(422);
    expect(await domainsOf('read')).toEqual({primary: 'a.example.com'});
  });

  // attack: console-rights
  test("a second tenant gets nothing at the first one's addresses", async () => {
    const path = await project('mine', {primary: 'a.example.com'});
    await reported('mine', 'a.example.com');
    const {visitor: first, page: own} = await signedIn('tenant', path);
    const {visitor} = await signedIn('other');
    const token = tokenIn(await visitor.get('/'));
    for (const address of [
      path,
      `${path}/remove?host=a.example.com`,
      `${path}/events?from=1`,
      '/namespaces/acme',
      '/platform',
    ]) {
      const page = await visitor.get(address);
      expect([address, page.status]).toEqual([address, 403]);
      expect(page.text).not.toContain('a.example.com');
    }
    const fields = {'form-token': token, host: 'a.example.com', version: ''};
    for (const deed of ['add', 'verify', 'remove']) {
      expect([deed, (await visitor.post(`${path}/${deed}`, fields)).status]).toEqual([deed, 403]);
    }
    expect(await domainsOf('mine')).toEqual({primary: 'a.example.com'});
    // Both sessions are open, and each acts as its own user.
    for (const page of [own, await first.get(path)]) expect(page.text).toContain('a.example.com');
  });

  test('names that are no names reach no path at the API server', async () => {
    const {visitor} = await signedIn('tenant');
    for (const address of ['/namespaces/..%2f..%2fapi', '/namespaces/acme/projects/..%2fdomains', '/namespaces/ACME']) {
      expect([address, (await visitor.get(address)).status]).toEqual([address, 404]);
    }
  });

  test("the audience's groups have a prefix, so a binding for kubectl is worth nothing here", async () => {
    const {visitor} = await signedIn('tenant');
    expect((await visitor.get('/platform')).status).toBe(403);
    expect((await visitor.get('/namespaces/kube-system')).status).toBe(403);
  });

  test('the platform team sees all domains by state and by who must act', async () => {
    await project('seen', {primary: 'seen.example.com'});
    await reported('seen', 'seen.example.com');
    const {visitor, page} = await signedIn('platform', '/platform?state=Unverified&actor=owner');
    expect(page.text).toContain('seen.example.com');
    expect((await visitor.get('/platform?state=Live')).text).not.toContain('seen.example.com');
    expect((await visitor.get('/platform?reason=Drifted')).text).not.toContain('seen.example.com');
    expect((await visitor.get('/')).text).toContain('/namespaces/globex');
  });
});

describe('a session', () => {
  test('ends when the user signs out: a copy of its cookie is worth nothing', async () => {
    const path = await project('left');
    const {visitor, page} = await signedIn('tenant', path);
    const stolen = visitor.session ?? '';
    const out = await visitor.post('/sign-out', {'form-token': tokenIn(page)});
    expect(visitor.visited.some(address => address.startsWith(`${world.issuer}/session/end?`))).toBe(true);
    expect(out.status).toBe(200);
    const thief = world.visitor();
    thief.cookies.set(world.url, new Map([['__Host-nameplate-console', stolen]]));
    expect(new URL((await thief.get(path)).url).origin).toBe(world.issuer);
    expect((await thief.post(`${path}/add`, {'form-token': tokenIn(page), host: 'a.example.com'})).status).toBe(401);
  });

  test('ends with its token, and so does its stream', async () => {
    const path = await project('short');
    const {visitor, ended} = await streamOfShortToken(path);
    expect(ended.text).toMatch(/event: end\ndata: \n\n$/);
    const elsewhere = world.visitor();
    elsewhere.cookies.set(world.url, visitor.cookies.get(world.url) ?? new Map());
    expect(new URL((await elsewhere.get(path)).url).origin).toBe(world.issuer);
  });

  test('survives a restart of the console as one silent redirect', async () => {
    const path = await project('again');
    const {visitor} = await signedIn('tenant', path);
    await world.restart();
    const page = await visitor.get(path);
    expect([page.status, new URL(page.url).pathname]).toEqual([200, path]);
    expect(visitor.visited.some(address => address.includes('/interaction/'))).toBe(true); // only of the first login
    expect(visitor.visited.filter(address => address.includes('/interaction/')).length).toBeLessThanOrEqual(2);
  });

  // attack: console-session
  test('has an id of its own, whatever cookie the browser had before', async () => {
    const visitor = world.visitor();
    visitor.cookies.set(world.url, new Map([['__Host-nameplate-console', 'chosen-by-somebody-else']]));
    await visitor.signIn('tenant');
    expect(visitor.session).toMatch(/^[\w-]{43}$/);
  });

  // attack: console-session
  test("does not begin in a browser that has not begun the login, and not with another session's form", async () => {
    const attacker = world.visitor();
    const form = await attacker.get('/');
    const action = /<form[^>]* action="([^"]+)"/.exec(form.text)?.[1] ?? '';
    // The attacker signs in, and stops before the console gets the code.
    const caught = await stopAtCallback(attacker, new URL(action, form.url).href);
    const victim = world.visitor();
    // The victim has begun a login, too, so its browser has a cookie of its own.
    await victim.get('/');
    const page = await victim.get(caught);
    expect([page.status, victim.session]).toEqual([400, undefined]);
    const {visitor: one} = await signedIn('tenant');
    const {visitor: two} = await signedIn('tenant');
    const path = await project('forged');
    const token = tokenIn(await one.get(path));
    const refused = await two.post(`${path}/add`, {'form-token': token, host: 'a.example.com'});
    expect([refused.status, await domainsOf('forged')]).toEqual([403, {}]);
  });

  // attack: console-session
  test.each(['https://evil.example/', '//evil.example/', '/\\evil.example', '/%09/evil.example'])(
    'does not lead to %s after the login',
    async to => {
      const visitor = world.visitor();
      await visitor.signIn('tenant', `/sign-in?${new URLSearchParams({to})}`);
      expect(visitor.visited.filter(address => new URL(address).hostname.includes('evil'))).toEqual([]);
    },
  );
});

/** A machine that is too slow to open the stream before its token expires gets a longer one. */
async function streamOfShortToken(path: string) {
  for (let seconds = 3; ; seconds *= 2) {
    world.idTokenSeconds = seconds;
    const {visitor, page} = await signedIn('tenant', path);
    world.idTokenSeconds = 600;
    const events = eventsOf(page);
    const ended = events === '' ? undefined : await visitor.get(events, {accept: 'text/event-stream'});
    if (ended?.status === 200 && ended.text !== '') return {visitor, ended};
  }
}

/** Follows the login by hand, and returns the address of the callback with its code. */
async function stopAtCallback(visitor: Visitor, action: string): Promise<string> {
  const agent = new Agent({connect: {ca: world.ca}});
  const jar = visitor.cookies.get(world.issuer) ?? new Map<string, string>();
  const cookie = () => [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
  let next = action;
  let body: string | null = new URLSearchParams({prompt: 'login', login: 'other', password: 'any'}).toString();
  for (let hops = 0; hops < 6; hops++) {
    const method = body === null ? 'GET' : 'POST';
    const headers = {cookie: cookie(), 'content-type': 'application/x-www-form-urlencoded'};
    const answer = await request(next, {method, dispatcher: agent, headers, body});
    await answer.body.dump();
    for (const line of [answer.headers['set-cookie'] ?? []].flat()) {
      const [pair = ''] = line.split(';');
      jar.set(pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1));
    }
    next = new URL(`${answer.headers.location}`, next).href;
    body = null;
    if (next.startsWith(`${world.url}/callback`)) break;
  }
  await agent.close();
  return next;
}

describe('a page', () => {
  // attack: console-forms
  test.each<[string, Record<string, string>]>([
    ['another origin', {origin: 'https://evil.example', 'sec-fetch-site': 'cross-site'}],
    ['a page without an origin', {origin: 'null', 'sec-fetch-site': 'cross-site'}],
    ['a sibling', {'sec-fetch-site': 'same-site'}],
  ])('refuses a form of %s', async (from, headers) => {
    const name = `forms-${from.replace(/\W+/g, '-')}`;
    const path = await project(name);
    const {visitor, page} = await signedIn('tenant', path);
    const refused = await visitor.post(`${path}/add`, {'form-token': tokenIn(page), host: 'a.example.com'}, headers);
    expect([refused.status, await domainsOf(name)]).toEqual([403, {}]);
  });

  test('cannot be framed, runs no inline script, and leaks no address', async () => {
    const {page, visitor} = await signedIn('tenant');
    expect(page.headers['x-frame-options']).toBe('DENY');
    expect(page.headers['referrer-policy']).toBe('same-origin');
    expect(page.headers['cache-control']).toBe('no-store');
    const policy = `${page.headers['content-security-policy']}`;
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toContain('unsafe');
    expect(page.text).not.toMatch(/<script(?! src="\/assets\/)|\son\w+=|style=/);
    expect((await visitor.get('/nothing')).headers['x-frame-options']).toBe('DENY');
  });

  // attack: console-markup
  test('escapes every field that a tenant or a DNS server chooses', async () => {
    const host = 'evil.example.com';
    const path = await project('evil', {primary: host}, {annotations: {note: EVIL}});
    const status = unverified(host, EVIL);
    await reported('evil', host, {
      ...status,
      dns: {
        required: [{type: EVIL, name: EVIL, label: EVIL, value: EVIL, ttl: 1}],
        observed: [{type: EVIL, name: EVIL, value: EVIL, server: EVIL}],
      },
    });
    await admin.applyStatus(PROJECT, {
      apiVersion: 'nameplate.dev/v1alpha1',
      kind: 'Project',
      metadata: {name: 'evil', namespace: 'acme'},
      status: {url: EVIL, observedGeneration: 1},
    } as never);
    const {visitor, page} = await signedIn('tenant', path);
    const others = [
      await visitor.get(`${path}?did=add&about=${encodeURIComponent(EVIL)}`),
      await visitor.get(`/?namespace=${encodeURIComponent(EVIL)}`),
      await visitor.get('/namespaces/acme'),
      await visitor.post(`${path}/add`, {'form-token': tokenIn(page), host: EVIL, to: EVIL}),
      await visitor.get(`/callback?error=x&error_description=${encodeURIComponent(EVIL)}`),
    ];
    for (const {text} of [page, ...others]) expect(text).not.toMatch(/<img|<script>|onerror=alert\(2\)>/);
    expect(page.text).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
    await reported('evil', host, {
      ...status,
      dns: {required: [{type: 'A', name: EVIL, label: EVIL, value: EVIL, ttl: 1}]},
    });
    const events = await streamFor(visitor, eventsOf(page), 1);
    expect(events[0]?.card).not.toMatch(/<img|<script>/);
  });

  // attack: console-markup
  test('shows no words of the person who sent a link', async () => {
    const path = await project('linked');
    const {visitor} = await signedIn(
      'tenant',
      `${path}?did=remove&about=${encodeURIComponent('all. Call +1 555 0100')}`,
    );
    const page = await visitor.get(`${path}?did=remove&about=${encodeURIComponent('all. Call +1 555 0100')}`);
    expect([page.status, page.text.includes('555')]).toEqual([200, false]);
  });

  // attack: console-token
  test('no page, address, or line of the log has a token', async () => {
    const path = await project('quiet');
    const {visitor, page} = await signedIn('tenant', path);
    const log = await world.log();
    const jwt = /eyJ[\w-]+\.[\w-]+\.[\w-]+/;
    expect(page.text).not.toMatch(jwt);
    expect(visitor.visited.join(' ')).not.toMatch(jwt);
    expect(log).not.toMatch(jwt);
    expect(log).not.toContain(visitor.session ?? 'no session');
    expect(log).not.toContain('a-secret-of-the-tests');
    expect(log.length).toBeGreaterThan(100);
  });

  test('says that the API server is away, and works again once it is back', async () => {
    const path = await project('away');
    const {visitor} = await signedIn('tenant', path);
    await world.api.crash();
    const page = await visitor.get(path);
    expect(page.status).toBe(503);
    expect(page.text).toContain('The Kubernetes API server did not answer as it should.');
    await world.api.resume();
    const isBack = async () => (await visitor.get(path)).status === 200;
    await until('the page is back', isBack);
  });
});

/** The address of the page's events. */
function eventsOf({text}: Page): string {
  return / data-live="([^"]+)"/.exec(text)?.[1] ?? '';
}

interface HostEvent {
  readonly id: string;
  readonly card: string;
  readonly row: string;
}

/** The first events of a stream. `after` runs once the first has arrived. */
async function streamFor(
  visitor: Visitor,
  path: string,
  count: number,
  after?: () => Promise<void>,
): Promise<HostEvent[]> {
  const agent = new Agent({connect: {ca: world.ca}});
  const cookie = `__Host-nameplate-console=${visitor.session}`;
  const answer = await request(`${world.url}${path}`, {
    dispatcher: agent,
    headers: {cookie, accept: 'text/event-stream'},
  });
  expect(answer.statusCode).toBe(200);
  const found: HostEvent[] = [];
  let text = '';
  try {
    for await (const chunk of answer.body) {
      text += `${chunk}`;
      const complete = text.split('\n\n');
      text = complete.pop() ?? '';
      for (const event of complete) {
        const data = /^event: host\ndata: (.*)$/m.exec(event)?.[1];
        if (data === undefined) continue;
        if (found.push(JSON.parse(data) as HostEvent) === 1) await after?.();
      }
      if (found.length >= count) break;
    }
  } finally {
    await agent.destroy();
  }
  return found;
}

describe('a live page', () => {
  test('gets each change since it was read, also the end of a host, and nothing twice', async () => {
    const host = 'live.example.com';
    const path = await project('live', {primary: host});
    await reported('live', host, unverified(host, 'the first message'));
    const {visitor, page} = await signedIn('tenant', path);
    await reported('live', host, unverified(host, 'the second message'));
    const remove = async () => void (await admin.delete(DOMAIN, {namespace: 'acme', name: host}));
    const [changed, gone] = await streamFor(visitor, eventsOf(page), 2, remove);
    expect(changed).toMatchObject({id: `host-${host}`, card: expect.stringContaining('the second message')});
    expect(changed?.row).toContain('<li');
    expect(gone).toEqual({id: `host-${host}`, card: '', row: ''});
  });

  test('gets nothing about another project of the namespace', async () => {
    const path = await project('alone', {primary: 'alone.example.com'});
    await project('loud', {primary: 'loud.example.com'});
    await reported('alone', 'alone.example.com');
    const {visitor, page} = await signedIn('tenant', path);
    await reported('loud', 'loud.example.com');
    await reported('alone', 'alone.example.com', unverified('alone.example.com', 'changed'));
    const events = await streamFor(visitor, eventsOf(page), 1);
    expect(events.map(({id}) => id)).toEqual(['host-alone.example.com']);
  });

  test('ends if it is too far behind', async () => {
    const path = await project('behind', {primary: 'behind.example.com'});
    const {visitor} = await signedIn('tenant', path);
    const {text} = await visitor.get(`${path}/events?from=1`, {accept: 'text/event-stream'});
    expect(text).toBe(': \n\nevent: end\ndata: \n\n');
  });

  test('is one of a limited number per session', async () => {
    const path = await project('streams');
    const {visitor, page} = await signedIn('tenant', path);
    const open = new AbortController();
    const agent = new Agent({connect: {ca: world.ca}});
    const headers = {cookie: `__Host-nameplate-console=${visitor.session}`, accept: 'text/event-stream'};
    const connect = () => request(`${world.url}${eventsOf(page)}`, {dispatcher: agent, headers, signal: open.signal});
    // At the same moment: each counts before it waits for anything.
    const answers = await Promise.all(Array.from({length: 8}, connect));
    const statuses = answers.map(({statusCode}) => statusCode);
    expect(statuses.sort()).toEqual([200, 200, 200, 200, 200, 200, 204, 204]);
    await agent.destroy();
    await until('a stream that was left is free again', async () => {
      const again = new Agent({connect: {ca: world.ca}});
      const {statusCode} = await request(`${world.url}${eventsOf(page)}`, {dispatcher: again, headers});
      await again.destroy();
      return statusCode === 200;
    });
  });
});
