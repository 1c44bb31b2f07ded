/**
 * The order of system calls: an acknowledgment is sent only after the WAL was synced on the primary and the standby.
 */
import {join} from 'node:path';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {startChild} from '../../../cluster/children.ts';
import {until} from '../../../cluster/wait.ts';
import {createClient} from '../client.ts';
import {removeFolders, type Service, temporaryFolder} from '../service.ts';
import {ensureStrace, eventsOf, REPLY, REQUEST, SYNCS_AND_MESSAGES} from '../strace.ts';
import {type Postgres, startPostgres} from './server.ts';
import {startReadyPod} from './service.ts';

const REQUESTS = 20;
/** Each sync takes 20 ms more, so a response that does not wait for one comes long before it ends. */
const SLOW_SYNCS = 'inject=fdatasync,fsync:delay_enter=20000';
let primary: Postgres;
let standby: Postgres;
let pod: Service;

beforeAll(async () => {
  await ensureStrace();
  primary = await startPostgres();
  standby = await primary.standby('standby');
  await primary.configure({synchronous_standby_names: `'ANY 1 (standby)'`});
  pod = await startReadyPod(primary, {database: await primary.createDatabase()});
});
afterAll(async () => {
  await pod?.stop();
  await primary?.remove();
  await removeFolders();
});

test('the syncs of both logs end before the 202 of each message is written', async () => {
  const client = await createClient(pod.url);
  const {key} = pod.account();
  await client.submit(key, 'first'); // an account's first message needs an additional commit
  const folder = await temporaryFolder();
  const [trace, log] = [join(folder, 'trace'), join(folder, 'log')];
  const traced = [pod.pid, ...(await primary.processes()), ...(await standby.processes())];
  const pids = traced.flatMap(pid => ['-p', String(pid)]);
  const strace = startChild(
    'strace',
    ['strace', '-f', '-y', '-s', '64', '-e', SYNCS_AND_MESSAGES, '-e', SLOW_SYNCS, '-o', trace, ...pids],
    {log},
  );
  await until('all are traced', async () => {
    await client.submit(key, 'before');
    const events = await eventsOf(trace);
    return ['primary', 'standby', REQUEST, REPLY].every(what => events.some(event => serverOf(event) === what));
  });
  for (let n = 0; n < REQUESTS; n++) {
    await until('the standby has synced everything written before', isSynced);
    await client.submit(key, `message ${n}`);
  }
  client.close();
  process.kill(strace.pid, 'SIGINT'); // it detaches from them
  await strace.exited;
  const rounds = roundsOf(await eventsOf(trace)).slice(-REQUESTS); // without those before all were traced
  expect(rounds).toHaveLength(REQUESTS);
  expect(rounds.filter(synced => !synced.has('primary') || !synced.has('standby'))).toEqual([]);
});

function serverOf(event: string): string {
  return /\/(primary|standby)\/pg_wal\//.exec(event)?.[1] ?? event;
}

async function isSynced(): Promise<boolean> {
  const [row] = await primary.query('SELECT flush_lsn >= pg_current_wal_insert_lsn() AS all FROM pg_stat_replication');
  return row?.all === true;
}

/** The servers whose log was synced between each request and its response. */
function roundsOf(events: readonly string[]): readonly ReadonlySet<string>[] {
  const rounds: Set<string>[] = [];
  let current = new Set<string>();
  for (const event of events) {
    if (event === REQUEST) current = new Set();
    else if (event === REPLY) rounds.push(current);
    else current.add(serverOf(event));
  }
  return rounds;
}
