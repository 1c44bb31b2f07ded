/** A server whose disk fills up: refused cleanly, read on, and healed without a restart. Needs root. */
import {randomBytes} from 'node:crypto';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {run} from '../../../cluster/children.ts';
import {until} from '../../../cluster/wait.ts';
import {type Client, createClient} from '../client.ts';
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
    const [pid] = await server.processes();
    await run(['nsenter', '--target', String(pid), '--mount', 'mount', '-o', 'remount,size=64m', volume]);
    await until('it takes messages again', async () => (await submit('hello')).status === 202);
    expect((await readyz()).body).toContain('[+]store ok');
    await expectAllThere(stored);
  },
);

async function expectAllThere(stored: ReadonlyMap<string, string>): Promise<void> {
  for (const [id, message] of stored) {
    await expect(client.get(account.key, `/messages/${id}`)).resolves.toMatchObject({status: 200, body: {message}});
  }
}
