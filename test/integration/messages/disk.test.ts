/** A disk that fills up, cannot be written, or fails: refused cleanly, read on, and healed without a restart. */
import {execFile} from 'node:child_process';
import {rm, truncate, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import {promisify} from 'node:util';
import {afterAll, afterEach, expect, test} from 'vitest';
import {until} from '../../cluster/wait.ts';
import {type Client, createClient} from './client.ts';
import {type Account, removeFolders, type Service, startService, temporaryFolder} from './service.ts';

const run = promisify(execFile);
const MIB = 1024 * 1024;
const isRoot = process.getuid?.() === 0;
const running: Service[] = [];

afterEach(async () => {
  await Promise.all(running.splice(0).map(service => service.stop()));
});
afterAll(removeFolders);

interface Sick {
  readonly service: Service;
  readonly client: Client;
  readonly account: Account;
  /** The store's folder as the service sees it: only the service has the volume mounted. */
  readonly volume: string;
}

/** A service with its store on a separate volume, in a mount namespace that ends with it. */
async function startOn(mount: string, config: Readonly<Record<string, unknown>> = {}): Promise<Sick> {
  const folder = await temporaryFolder();
  const unshare = ['unshare', '--mount', ...(isRoot ? [] : ['--user', '--map-root-user'])];
  const wrapper = [...unshare, 'sh', '-ec', `${mount}; exec "$@"`, folder];
  const service = await startService({folder, config, wrapper});
  running.push(service);
  const client = await createClient(service.url);
  return {service, client, account: service.account(), volume: `/proc/${service.pid}/root${folder}`};
}

const submit = ({client, account}: Sick, bytes = 10) => client.submit(account.key, 'x'.repeat(bytes));
const readyz = async ({service}: Sick) => (await service.operations('/readyz')).body;
const state = async ({service}: Sick) => {
  const {body} = await service.operations('/metrics');
  return /nameplate_messages_store_state\{state="(\w+)"\} 1/.exec(body)?.[1];
};

/** Submits until one is refused. */
async function fill(sick: Sick): Promise<string[]> {
  const ids: string[] = [];
  for (;;) {
    const answer = await submit(sick, 100_000);
    if (answer.status !== 202) {
      expect(answer).toMatchObject({status: 503, body: {code: 'store_full'}, headers: {'retry-after': '30'}});
      return ids;
    }
    ids.push(answer.body.id);
  }
}

async function expectAllThere({client, account}: Sick, ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    const answer = await client.get(account.key, `/messages/${id}`);
    expect(answer).toMatchObject({status: 200, body: {message: 'x'.repeat(100_000)}});
  }
}

test('a volume below its reserve accepts nothing new; workers can drain the queue, which frees space', async () => {
  const config = {store: {reserveBytes: 8 * MIB}, retention: {doneSeconds: 0}};
  const sick = await startOn('mount -t tmpfs -o size=24m tmpfs "$0"', config);
  const {client, account, service} = sick;
  const ids = await fill(sick);
  expect(ids.length).toBeGreaterThan(10);
  await expect(service.operations('/readyz'), 'full is not down').resolves.toMatchObject({status: 200});
  expect(await readyz(sick)).toContain('[!]store ok, but store full');
  expect(await state(sick)).toBe('full');
  await expectAllThere(sick, ids.slice(-3));
  for (const _ of ids) {
    const [{id, lease}] = (await client.post(account.key, '/messages/claim')).body.messages;
    await expect(client.post(account.key, `/messages/${id}/ack`, {lease})).resolves.toMatchObject({status: 200});
  }
  await until('it takes messages again', async () => (await submit(sick)).status === 202);
});

test('a volume without a free byte: refused, read, healed once there is room, nothing acknowledged lost', async () => {
  const sick = await startOn('mount -t tmpfs -o size=24m tmpfs "$0"');
  const ids = await fill(sick);
  await until('it says that it is full', async () => {
    await submit(sick, 100_000); // Each second, the store tries a short write, which may fit.
    return (await readyz(sick)).includes('store full');
  });
  await expectAllThere(sick, ids);
  await run('nsenter', [
    '--target',
    String(sick.service.pid),
    '--mount',
    'mount',
    '-o',
    'remount,size=64m',
    sick.service.folder,
  ]);
  await until('it takes messages again', async () => (await submit(sick)).status === 202);
  expect(await readyz(sick)).toContain('[+]store ok');
  await expectAllThere(sick, ids);
});

test('a volume that another program fills up and empties again', async () => {
  const sick = await startOn('mount -t tmpfs -o size=24m tmpfs "$0"');
  await expect(submit(sick)).resolves.toMatchObject({status: 202});
  const ballast = join(sick.volume, 'ballast');
  await writeFile(ballast, Buffer.alloc(24 * MIB)).catch((error: NodeJS.ErrnoException) => {
    expect(error.code).toBe('ENOSPC');
  });
  await fill(sick);
  await rm(ballast);
  await until('it takes messages again', async () => (await submit(sick)).status === 202);
});

test('writes that fail with an I/O error: down, not full; reading continues; recovers when writes work again', async () => {
  const service = await startService();
  running.push(service);
  const sick = {service, client: await createClient(service.url), account: service.account(), volume: service.folder};
  const {body} = await submit(sick, 100_000);
  await submit(sick, 100_000);
  const limitFiles = (bytes: string) => run('prlimit', ['--pid', String(service.pid), `--fsize=${bytes}:unlimited`]);
  await limitFiles('150000'); // the log of the store is longer, that of the service is not
  const failed = await submit(sick);
  const unknown = {status: 503, body: {code: 'outcome_unknown'}, headers: {'retry-after': '1'}};
  expect(failed, 'its COMMIT failed, and may be in the log').toMatchObject(unknown);
  expect(failed.text, 'what the disk said is for the log').not.toMatch(/SQLite|disk I\/O/);
  const refused = await submit(sick);
  expect(refused).toMatchObject({status: 503, body: {code: 'unavailable'}, headers: {'retry-after': '5'}});
  await expect(service.operations('/readyz')).resolves.toMatchObject({status: 503});
  expect(await readyz(sick)).toContain('[-]store store down: disk I/O error');
  await expect(service.operations('/healthz'), 'a restart would not help').resolves.toMatchObject({status: 200});
  await expectAllThere(sick, [body.id]);
  await limitFiles('unlimited');
  await until('it takes messages again', async () => (await submit(sick)).status === 202);
  await expectAllThere(sick, [body.id]);
});

test('a write that fails below the reserve: once writes work again, workers can still drain the queue', async () => {
  const sick = await startOn('mount -t tmpfs -o size=24m tmpfs "$0"', {store: {reserveBytes: 8 * MIB}});
  const {client, account, service} = sick;
  await fill(sick);
  const limitFiles = (bytes: string) => run('prlimit', ['--pid', String(service.pid), `--fsize=${bytes}:unlimited`]);
  const claim = () => client.post(account.key, '/messages/claim');
  await limitFiles('150000');
  await until('the log has reached the limit', async () => (await claim()).status === 503);
  expect(await state(sick)).toBe('down');
  await limitFiles('unlimited');
  await until('messages can be claimed', async () => (await claim()).status === 200);
  expect(await state(sick)).toBe('full');
});

test.runIf(isRoot)(
  'a file system that became read-only after an error: writes fail as down, and reading continues',
  async () => {
    const image = join(await temporaryFolder(), 'image');
    await writeFile(image, '');
    await truncate(image, 64 * MIB);
    await run('mkfs.ext4', ['-q', '-F', image]);
    const sick = await startOn(`mount -o loop,errors=remount-ro '${image}' "$0"`);
    const {body} = await submit(sick, 100_000);
    const {stdout} = await run('nsenter', [
      '--target',
      String(sick.service.pid),
      '--mount',
      'findmnt',
      '--noheadings',
      '--output',
      'SOURCE',
      sick.service.folder,
    ]);
    await writeFile(`/sys/fs/ext4/${stdout.trim().replace('/dev/', '')}/trigger_fs_error`, 'test');
    await expect(submit(sick)).resolves.toMatchObject({status: 503, body: {code: 'outcome_unknown'}});
    await expect(submit(sick)).resolves.toMatchObject({status: 503, body: {code: 'unavailable'}});
    expect(await state(sick)).toBe('down');
    await expectAllThere(sick, [body.id]);
  },
);
