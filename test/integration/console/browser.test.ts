/** The console in a real browser: the story of a tenant, both themes, without script, and what assistive technology finds. */
import {mkdir, readFile} from 'node:fs/promises';
import {createRequire} from 'node:module';
import {join} from 'node:path';
import type {Browser, BrowserContext, BrowserContextOptions, Page, Request} from 'playwright-core';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {PROJECT} from '../../../src/operator/kinds/kinds.ts';
import type {KubeClient} from '../../../src/runtime/kube/client.ts';
import {PATIENCE_MS} from '../../cluster/wait.ts';
import {startChromium} from '../../support/console/chromium.ts';
import {createTestClient} from '../../support/kube.ts';
import {type ConsoleWorld, startConsoleWorld} from './console-world.ts';
import {live, newProject, newShowcase, report, unverified} from './objects.ts';

/** PICTURES=FOLDER: where pictures of all pages go. PICTURES=1: those of the documentation go there. */
const {PICTURES} = process.env;
const IMAGES = join(import.meta.dirname, '../../../docs/images');
const DESKTOP = {width: 1000, height: 900};
const AXE = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

let world: ConsoleWorld;
let admin: KubeClient;
let browser: Browser;
let showcase: string;
let gitops: string;
let empty: string;

beforeAll(async () => {
  [world, browser] = await Promise.all([startConsoleWorld(), startChromium()]);
  admin = createTestClient(world.api.kubeconfig);
  showcase = await newShowcase(admin);
  gitops = await newProject(admin, 'repository', {
    domains: {primary: 'git.example.org'},
    labels: {'kustomize.toolkit.fluxcd.io/name': 'shop'},
  });
  empty = await newProject(admin, 'empty');
});
afterAll(async () => {
  await browser?.close();
  await admin?.close();
  await world?.stop();
});

/** A browser without cookies. */
async function newContext(options: BrowserContextOptions = {}): Promise<BrowserContext> {
  const context = await browser.newContext({ignoreHTTPSErrors: true, viewport: DESKTOP, ...options});
  context.setDefaultTimeout(PATIENCE_MS);
  return context;
}

interface Visit {
  readonly context: BrowserContext;
  readonly page: Page;
  readonly errors: string[];
}

/** Signed in, on the page. `errors`: what the page does that its own policy forbids, and what its script throws. */
async function opened(name: string, path: string, options: BrowserContextOptions = {}): Promise<Visit> {
  const context = await newContext(options);
  const page = await context.newPage();
  const errors: string[] = [];
  page.on('console', message => {
    // The provider's pages are not ours.
    if (message.type() === 'error' && message.location().url.startsWith(world.url)) errors.push(message.text());
  });
  page.on('pageerror', error => errors.push(error.message));
  await page.goto(`${world.url}${path}`);
  await page.fill('input[name=login]', name);
  await page.fill('input[name=password]', 'any');
  await page.click('button[type=submit]');
  await page.waitForURL(`${world.url}/**`);
  return {context, page, errors};
}

interface AxeResults {
  readonly violations: readonly {readonly id: string; readonly nodes: readonly {readonly html: string}[]}[];
}

/** WCAG 2.2 A and AA. */
async function violations(
  page: Page,
  tags: readonly string[] = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
): Promise<readonly string[]> {
  await page.evaluate(AXE);
  const {violations: found} = await page.evaluate<AxeResults>(`axe.run({runOnly: ${JSON.stringify(tags)}})`);
  return found.map(({id, nodes}) => `${id}: ${nodes.map(({html}) => html).join(' ')}`);
}

async function picture(page: Page, name: string): Promise<void> {
  if (PICTURES === undefined || PICTURES === '1') return;
  await mkdir(PICTURES, {recursive: true});
  await page.screenshot({path: join(PICTURES, `${name}.png`), fullPage: true, animations: 'disabled'});
}

test('a tenant gets a domain live, and the page follows without being loaded again', async () => {
  const path = await newProject(admin, 'shop');
  const {context, page, errors} = await opened('tenant', path);
  await page.fill('#host', 'shop.example.com');
  await page.getByRole('button', {name: 'Add', exact: true}).click();
  await page.waitForSelector('text=Added shop.example.com.');
  const host = page.locator('article', {has: page.getByRole('heading', {name: 'shop.example.com'})});
  expect(await host.locator('.state').textContent()).toBe('New');

  await report(admin, 'shop', 'shop.example.com', unverified('shop.example.com'));
  await page.waitForSelector('article[data-state=Unverified]');
  await host.getByRole('button', {name: 'Copy the name shop'}).waitFor();
  await context.grantPermissions(['clipboard-read', 'clipboard-write'], {origin: world.url});
  await host.getByRole('button', {name: /^Copy the value/}).click();
  expect(await page.evaluate('navigator.clipboard.readText()')).toBe('acct.edge.example.net');
  await picture(page, 'record');

  await host.getByRole('button', {name: 'Verify shop.example.com'}).click();
  await page.waitForSelector('text=Nameplate is checking this host now.');
  await host.getByRole('link', {name: 'Remove shop.example.com'}).focus();
  await report(admin, 'shop', 'shop.example.com', live('shop.example.com'));
  await page.waitForSelector('article[data-state=Live]');
  expect(await page.evaluate('document.activeElement.textContent')).toBe('Remove');
  await picture(page, 'live');

  await host.getByRole('link', {name: 'Remove shop.example.com'}).click();
  await page.waitForSelector('text=Visitors of shop.example.com stop reaching the project immediately.');
  await picture(page, 'remove');
  await page.click('button.danger');
  await page.waitForSelector('text=Removed shop.example.com.');
  expect(errors).toEqual([]);
  await page.click('text=Sign out');
  await page.waitForURL(`${world.issuer}/**`);
  await context.close();
});

test('an open page gets other buttons once a GitOps controller owns the project, and keeps what was typed', async () => {
  const path = await newProject(admin, 'taken-over', {domains: {primary: 'taken.example.com'}});
  await report(admin, 'taken-over', 'taken.example.com', unverified('taken.example.com'));
  const {context, page, errors} = await opened('tenant', path);
  await page.fill('#host', 'typed.example.com');
  const labels = {'kustomize.toolkit.fluxcd.io/name': 'apps'};
  await admin.patch(PROJECT, {namespace: 'acme', name: 'taken-over'}, {metadata: {labels}});
  await page.getByRole('button', {name: 'Show the YAML'}).waitFor();
  expect(await page.inputValue('#host')).toBe('typed.example.com');
  expect(await page.evaluate('document.activeElement.id')).toBe('host');
  expect(await page.getByRole('button', {name: 'Verify taken.example.com'}).count()).toBe(1);
  expect(errors).toEqual([]);
  await context.close();
});

describe.each(['light', 'dark'] as const)('in the %s theme', colorScheme => {
  const visits: Promise<Visit>[] = [];
  let tenant: Visit;
  let platform: Visit;
  beforeAll(async () => {
    visits.push(opened('tenant', '/', {colorScheme}), opened('platform', '/', {colorScheme}));
    [tenant, platform] = (await Promise.all(visits)) as [Visit, Visit];
  });
  afterAll(async () => {
    for (const {context} of await Promise.all(visits)) await context.close();
  });

  /** Assistive technology, a phone, and a language that is written from right to left. */
  async function suits(page: Page, name: string): Promise<void> {
    await picture(page, `${name}-${colorScheme}`);
    // The themes differ only in colors: success criteria 1.4.1 and 1.4.3.
    if (colorScheme === 'dark') return expect(await violations(page, ['wcag141', 'wcag143'])).toEqual([]);
    expect(await violations(page)).toEqual([]);
    await page.setViewportSize({width: 320, height: 640});
    const overflow = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';
    expect(await page.evaluate(overflow)).toBeLessThanOrEqual(0);
    await picture(page, `${name}-phone-${colorScheme}`);
    await page.evaluate("document.documentElement.setAttribute('dir', 'rtl')");
    expect(await violations(page)).toEqual([]);
    expect(await page.evaluate(overflow)).toBeLessThanOrEqual(0);
    await page.setViewportSize(DESKTOP);
  }

  test.each([
    ['projects', '/'],
    ['refused', '/?namespace=globex'],
    ['namespace', '/namespaces/acme'],
    ['project', 'SHOWCASE'],
    ['host', 'SHOWCASE?host=example.org'],
    ['removal', 'SHOWCASE/remove?host=shop.example.org'],
    ['gitops', 'GITOPS/remove?host=git.example.org'],
    ['empty', 'EMPTY'],
    ['foreign', '/namespaces/globex'],
    ['unknown', '/nothing'],
    ['signed-out', '/signed-out'],
  ])('axe finds nothing on the page "%s", which fits a phone', async (name, to) => {
    const {page, errors} = tenant;
    errors.splice(0);
    const address = to.replace('SHOWCASE', showcase).replace('GITOPS', gitops).replace('EMPTY', empty);
    const response = await page.goto(`${world.url}${address}`);
    await suits(page, name);
    if (response?.ok()) expect(errors).toEqual([]);
  });

  test('axe finds nothing on a form with a problem, which fits a phone', async () => {
    const {page} = tenant;
    await page.goto(`${world.url}${showcase}`);
    await page.fill('#host', 'localhost');
    await page.press('#host', 'Enter');
    await page.waitForSelector('#problem-host');
    await suits(page, 'problem');
  });

  test('axe finds nothing on the page of the platform team, which fits a phone', async () => {
    const {page, errors} = platform;
    await page.goto(`${world.url}/platform`);
    await suits(page, 'platform');
    expect(errors).toEqual([]);
  });
});

if (PICTURES === '1') {
  test('draws the pictures of the documentation', async () => {
    const {context, page} = await opened('tenant', showcase);
    const pictures = {record: 'shop.example.org', live: 'www.example.org'};
    for (const [name, host] of Object.entries(pictures)) {
      const card = page.locator('article', {has: page.getByRole('heading', {name: host, exact: true})});
      await card.screenshot({path: join(IMAGES, `console-${name}.png`)});
    }
    await context.close();
    const platform = await opened('platform', '/platform');
    const clip = {x: 0, y: 0, width: DESKTOP.width, height: 470};
    await platform.page.screenshot({path: join(IMAGES, 'console-platform.png'), clip});
    await platform.context.close();
  });
}

test('everything works without script', async () => {
  const path = await newProject(admin, 'plain');
  const {context, page} = await opened('tenant', path, {javaScriptEnabled: false});
  await page.fill('#host', 'plain.example.com');
  await page.press('#host', 'Enter');
  await page.waitForSelector('text=Added plain.example.com.');
  await report(admin, 'plain', 'plain.example.com', unverified('plain.example.com'));
  await page.goto(`${world.url}${path}`);
  expect(await page.locator('[data-copy]:visible').count()).toBe(0);
  await page.click('article button.main');
  await page.waitForSelector('text=Requested a check of plain.example.com.');
  await page.click('article >> text=Remove');
  await page.click('button.danger');
  await page.waitForSelector('text=Removed plain.example.com.');
  await context.close();
});

test('a page that nobody looks at has no stream, and is current again once somebody does', async () => {
  const path = await newProject(admin, 'hidden', {domains: {primary: 'c.example.com'}});
  await report(admin, 'hidden', 'c.example.com', unverified('c.example.com'));
  const {context, page} = await opened('tenant', path);
  const isStream = (request: Request) => request.url().includes('/events?');
  const begun = page.waitForRequest(isStream);
  await page.reload();
  await begun;
  const look = (hidden: boolean) =>
    page.evaluate(
      `Object.defineProperty(document, 'hidden', {configurable: true, get: () => ${hidden}});
      document.dispatchEvent(new Event('visibilitychange'))`,
    );
  const ended = page.waitForEvent('requestfailed', isStream);
  await look(true);
  await ended;
  await report(admin, 'hidden', 'c.example.com', live('c.example.com'));
  expect(await page.locator('article').getAttribute('data-state')).toBe('Unverified');
  await look(false);
  await page.waitForSelector('article[data-state=Live]');
  await context.close();
});

test('two tabs sign in side by side', async () => {
  const path = await newProject(admin, 'tabs');
  const context = await newContext();
  const [one, two] = [await context.newPage(), await context.newPage()];
  for (const page of [one, two]) await page.goto(`${world.url}${path}`);
  for (const page of [one, two]) {
    await page.fill('input[name=login]', 'tenant');
    await page.fill('input[name=password]', 'any');
    await page.click('button[type=submit]');
    await page.waitForSelector('text=Domains of tabs');
  }
  await context.close();
});
