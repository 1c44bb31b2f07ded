/** Acknowledged messages exist once and unchanged, no matter when the process is killed. SOAK=1: 100 kills. */
import {randomInt} from 'node:crypto';
import {DatabaseSync} from 'node:sqlite';
import {afterAll, expect, test} from 'vitest';
import {databasePath} from '../../../src/messages/service.ts';
import {createClient} from './client.ts';
import {Ledger, listAllMessages, startLoad, submit} from './load.ts';
import {accountOf, removeFolders, startService, temporaryFolder} from './service.ts';

const ROUNDS = process.env.SOAK ? 100 : 10;
const {key} = accountOf(0);

afterAll(removeFolders);

test(
  `${ROUNDS} times killed under load: none lost, none twice, none changed`,
  async () => {
    const folder = await temporaryFolder();
    const ledger = new Ledger();
    for (let round = 0; round < ROUNDS; round++) {
      const service = await startService({folder});
      const client = await createClient(service.url);
      const load = startLoad({client, key, ledger, clients: 24, workers: 2});
      await ledger.more(randomInt(20, 400));
      await service.kill();
      await load.stop();
      client.close();
    }
    expect(ledger.done.size).toBeGreaterThan(ROUNDS);
    await verify(folder, ledger);
  },
  60_000 + ROUNDS * 10_000,
);

/** Then submissions without an answer are retried, as clients would: each message exists exactly once. */
async function verify(folder: string, ledger: Ledger): Promise<void> {
  const service = await startService({folder});
  const client = await createClient(service.url);
  const before = new Map((await listAllMessages(client, key)).map(stored => [stored.id, stored]));
  for (const {id = '', message} of ledger.submissions.filter(submission => submission.id !== undefined)) {
    expect(before.get(id)?.message).toBe(message);
  }
  for (const id of ledger.done) expect(before.get(id)?.status, 'an answered ack holds').toBe('done');
  for (const submission of ledger.unanswered) await submit(client, key, ledger, submission);
  const after = await listAllMessages(client, key);
  expect(after.map(({message}) => message).sort()).toEqual(ledger.submissions.map(({message}) => message).sort());
  client.close();
  await service.stop();
  const db = new DatabaseSync(databasePath(folder), {readOnly: true});
  expect(db.prepare('PRAGMA integrity_check').all()).toEqual([{integrity_check: 'ok'}]);
  db.close();
}

test('on shutdown, it answers the requests in progress, keeps their messages, and exits', async () => {
  const folder = await temporaryFolder();
  const service = await startService({folder});
  const client = await createClient(service.url);
  const ledger = new Ledger();
  const load = startLoad({client, key, ledger, clients: 24, workers: 0});
  await ledger.more(200);
  await service.stop();
  await load.stop();
  client.close();
  await expect(service.exited).resolves.toBe(0);
  const again = await startService({folder});
  const reader = await createClient(again.url);
  const stored = new Set((await listAllMessages(reader, key)).map(({id}) => id));
  const lost = ledger.submissions.filter(({id}) => id !== undefined && !stored.has(id));
  expect(lost).toEqual([]);
  reader.close();
  await again.stop();
});
