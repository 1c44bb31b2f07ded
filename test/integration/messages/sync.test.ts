/** The order of system calls, as strace sees it: an acknowledgement leaves only after the log of the store was synced. */
import {readFile} from 'node:fs/promises';
import {join} from 'node:path';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {run, which} from '../../cluster/children.ts';
import {createClient} from './client.ts';
import {removeFolders, startService, temporaryFolder} from './service.ts';

const REQUESTS = 20;

beforeAll(async () => {
  if (which('strace')) return;
  if (!which('apt-get')) throw new Error('strace is missing on this machine; please install it');
  const env = {...process.env, DEBIAN_FRONTEND: 'noninteractive'};
  await run(['apt-get', 'update', '-qq'], {env});
  await run(['apt-get', 'install', '-y', '-qq', '--no-install-recommends', 'strace'], {env});
});
afterAll(removeFolders);

test('the sync of the log ends before the 202 of each message is written', async () => {
  const trace = join(await temporaryFolder(), 'trace');
  const calls = 'trace=fdatasync,fsync,write,writev,sendto,sendmsg';
  const service = await startService({wrapper: ['strace', '-f', '-y', '-s', '64', '-e', calls, '-o', trace]});
  const client = await createClient(service.url);
  const {key} = service.account();
  for (let n = 0; n < REQUESTS; n++) await client.submit(key, `message ${n}`);
  client.close();
  await service.stop();
  const events = eventsOf(await readFile(trace, 'utf8'));
  expect(events.filter(event => event === 'reply')).toHaveLength(REQUESTS);
  expect(events.filter((event, index) => event === 'reply' && events[index - 1] !== 'synced')).toEqual([]);
});

/** In the order in which they ended: syncs of the log, and answers that acknowledge a message. */
function eventsOf(trace: string): readonly ('synced' | 'reply')[] {
  const unfinished = new Map<string, string>();
  return trace.split('\n').flatMap(line => {
    const [, thread = '', text = ''] = /^(\d+) +(.*)$/.exec(line) ?? [];
    if (text.endsWith('<unfinished ...>')) unfinished.set(thread, text);
    const isResumed = text.startsWith('<... ');
    const call = isResumed ? `${unfinished.get(thread)}${text}` : text;
    if (/^f(data)?sync\(/.test(call) && call.includes('messages.db-wal>') && call.endsWith('= 0')) return ['synced'];
    // Counted when it begins: whatever was to come first had to have ended by then.
    if (!isResumed && text.includes('"HTTP/1.1 202 ')) return ['reply'];
    return [];
  });
}
