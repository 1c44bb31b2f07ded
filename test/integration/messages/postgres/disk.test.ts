/** A server whose disk fills up: refused cleanly, read on, and healed without a restart. Needs root. */
import {randomBytes} from 'node:crypto';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {run} from '../../../cluster/children.ts';
import {until} from '../../../cluster/wait.ts';
import {type Client, createClient, type MessagesAnswer} from '../client.ts';
import {type Account, removeFolders, type Service, temporaryFolder} from '../service.ts';
import {type Postgres, startPostgres} from './server.ts';
import {startReadyPod} from './service.ts';

const isRoot = process.getuid?.() === 0;
let server: Postgres;
let pod: Service;
let client: Client;
let account: Account;
/** Where the tables are, and not the WAL. Only the server has it mounted. */
let volume: string;

beforeAll(async () => {
  if (!isRoot) return;
  volume = await temporaryFolder();
  const wrapper = ['unshare', '--mount', 'sh', '-ec', 'mount -t tmpfs -o size=16m tmpfs "$0"; exec "$@"', volume];
  server = await startPostgres({}, {address: '127.0.0.1', fromTest: '127.0.0.1', wrapper});
  await server.query(`CREATE TABLESPACE small OWNER app LOCATION '${volume}'`);
  await server.query('ALTER ROLE app SET default_tablespace = small');
  pod = await startReadyPod(server, {database: await server.createDatabase(), postgres: {durability: 'storage'}});
  client = await createClient(pod.url);
  account = pod.account();
});
afterAll(async () => {
  await pod?.stop();
  await server?.remove();
  await removeFolders();
});

const submit = (message: string) => client.submit(account.key, message);

test.runIf(isRoot)(
  'a disk without a free page: refused, read, healed with room, nothing acknowledged lost',
  async () => {
    const stored = new Map<string, string>();
    for (;;) {
      const message = randomBytes(50_000).toString('hex'); // what PostgreSQL cannot compress
      const answer = await submit(message);
      if (answer.status === 202) {
        stored.set(answer.body.id, message);
        continue;
      }
      expect(answer).toMatchObject({status: 503, body: {code: 'store_full'}, headers: {'retry-after': '30'}});
      break;
    }
    expect(stored.size).toBeGreaterThan(10);
    const readyz = async () => pod.operations('/readyz');
    await expect(readyz(), 'full is not down').resolves.toMatchObject({status: 200});
    expect((await readyz()).body).toContain('[!]store ok, but store full: the disk of the server is full');
    await expectAllThere(stored);
    const isRefused = await processAll(stored);
    expect(isRefused, 'workers, too: new versions of rows need pages').toBe(true);
    const [pid] = await server.processes();
    await run(['nsenter', '--target', String(pid), '--mount', 'mount', '-o', 'remount,size=64m', volume]);
    expect(await processAll(stored), 'with room').toBe(false);
    await until('it takes messages again', async () => (await submit('hello')).status === 202);
    expect((await readyz()).body).toContain('[+]store ok');
    await expectAllThere(stored);
    expect(done.size).toBe(stored.size);
  },
);

const leases = new Map<string, string>();
const done = new Set<string>();

/** Claims each message and acknowledges it, until there are none or the store is full, and returns whether it is full. */
async function processAll(stored: ReadonlyMap<string, string>): Promise<boolean> {
  let isFull = false;
  const answered = async (answering: Promise<MessagesAnswer>) => {
    const answer = await answering;
    if (answer.status === 200) return answer;
    expect(answer).toMatchObject({status: 503, body: {code: 'store_full'}, headers: {'retry-after': '30'}});
    isFull = true;
    return undefined;
  };
  for (;;) {
    const claimed = await answered(client.post(account.key, '/messages/claim', {leaseSeconds: 3600}));
    const messages = claimed?.body.messages ?? [];
    for (const {id, lease} of messages) {
      expect(stored.has(id) && !leases.has(id), 'claimed once').toBe(true);
      leases.set(id, lease);
    }
    for (const [id, lease] of leases) {
      const acknowledged = await answered(client.post(account.key, `/messages/${id}/ack`, {lease}));
      if (acknowledged === undefined) continue;
      done.add(id);
      leases.delete(id);
    }
    if (messages.length === 0) return isFull;
  }
}

async function expectAllThere(stored: ReadonlyMap<string, string>): Promise<void> {
  for (const [id, message] of stored) {
    await expect(client.get(account.key, `/messages/${id}`)).resolves.toMatchObject({status: 200, body: {message}});
  }
}
