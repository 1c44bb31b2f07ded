/** The order of system calls: an acknowledgment is sent only after the store's log was synced. */
import {join} from 'node:path';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {createClient} from './client.ts';
import {removeFolders, startService, temporaryFolder} from './service.ts';
import {ensureStrace, eventsOf, REPLY, SYNCS_AND_MESSAGES} from './strace.ts';

const REQUESTS = 20;

beforeAll(ensureStrace);
afterAll(removeFolders);

test('the sync of the log ends before the 202 of each message is written', async () => {
  const trace = join(await temporaryFolder(), 'trace');
  const service = await startService({
    wrapper: ['strace', '-f', '-y', '-s', '64', '-e', SYNCS_AND_MESSAGES, '-o', trace],
  });
  const client = await createClient(service.url);
  const {key} = service.account();
  for (let n = 0; n < REQUESTS; n++) await client.submit(key, `message ${n}`);
  client.close();
  await service.stop();
  const events = (await eventsOf(trace)).filter(event => event === REPLY || event.endsWith('messages.db-wal'));
  expect(events.filter(event => event === REPLY)).toHaveLength(REQUESTS);
  expect(events.filter((event, index) => event === REPLY && (events[index - 1] ?? REPLY) === REPLY)).toEqual([]);
});
