/**
 * A fuzzer with a meter: connections that frame their requests in hostile ways, from a seed. What the service holds, by
 * its own count, stays within its limits, another account is answered, and nothing is left when the connections are
 * gone. For each store.
 */
import {randomInt} from 'node:crypto';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {until} from '../../cluster/wait.ts';
import {readJsonLines} from '../../support/json-lines.ts';
import {type Client, createClient} from './client.ts';
import {BODY_BYTES, Dice, moves} from './framing.ts';
import {expectGrowth} from './growth.ts';
import {head, heldBytes, MIB, metric, RawClient, residentBytes, SMALL_HEAP} from './raw.ts';
import type {Service, ServiceOptions} from './service.ts';

/** Shown in the test's name. */
const SEED = Number(process.env.SEED ?? randomInt(2 ** 31));
const ROUNDS = process.env.SOAK ? 100 : 4;
const CONNECTIONS = 150;
const ACCOUNT_BYTES = 4 * MIB;
const ACCOUNTS = 3;
let service: Service;
let client: Client;
let raw: RawClient;

/** Submits on a separate connection from another address, for which the service closes the attacker's idle ones. */
async function submitFromElsewhere(key: string, message: string): Promise<string> {
  const body = JSON.stringify({message});
  const request = `${head(key)}connection: close\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
  const connection = raw.open(request, {from: '127.0.0.2'});
  await until('it is answered', () => connection.closed);
  return connection.received;
}

export function fuzzSuite(start: (options: Pick<ServiceOptions, 'config' | 'wrapper'>) => Promise<Service>): void {
  beforeAll(async () => {
    const account = {heldBytes: ACCOUNT_BYTES, requestsAtOnce: 64, storedBytes: 16 * MIB};
    const limits = {bodyBytes: BODY_BYTES, heldBytes: 8 * MIB, account};
    const server = {headersTimeoutSeconds: 5, requestTimeoutSeconds: 10, answerTimeoutSeconds: 2, maxConnections: 256};
    service = await start({config: {limits, server}, wrapper: SMALL_HEAP});
    client = await createClient(service.url);
    raw = new RawClient(service);
  });
  afterAll(async () => {
    client.close();
    raw.closeAll();
    await service.stop();
  });

  // attack: message-memory
  test(`${ROUNDS} rounds of hostile framing from seed ${SEED}: bounded, nobody else waits, nothing is left`, async () => {
    const dice = new Dice(SEED);
    const keys = Array.from({length: ACCOUNTS}, () => service.account().key);
    const [firstKey = ''] = keys;
    for (let n = 0; n < 40; n++) await client.submit(firstKey, 'x'.repeat(60_000));
    const other = service.account().key;
    const before = await residentBytes(service);
    for (let round = 0; round < ROUNDS; round++) {
      for (let n = 0; n < CONNECTIONS; n++) {
        const key = dice.below(10) === 0 ? 'wrong' : dice.one(keys as [string, ...string[]]);
        const bytes = Buffer.from(dice.one(moves)(dice, key), 'latin1');
        const {socket} = raw.open(bytes, {unread: dice.below(3) === 0});
        const ending = dice.below(8);
        if (ending === 0) socket.once('connect', () => socket.end());
        if (ending === 1) socket.once('connect', () => setImmediate(() => socket.resetAndDestroy()));
      }
      expect(await submitFromElsewhere(other, `round ${round}`)).toMatch(/^HTTP\/1\.1 202 /);
      expect(await heldBytes(service)).toBeLessThanOrEqual(8 * MIB + MIB);
      expect(await metric(service, 'nameplate_messages_store_waiting')).toBeLessThanOrEqual(64 * (ACCOUNTS + 1));
      if (dice.below(3) === 0) raw.closeAll();
    }
    await expectGrowth(service, before, {below: 200 * MIB});
    raw.closeAll();
    await until('nothing is held', async () => (await heldBytes(service)) === 0);
    await until('nothing waits', async () => (await metric(service, 'nameplate_messages_store_waiting')) === 0);
    const {body} = await client.get(other, '/messages?limit=100');
    expect(body.messages.slice(0, ROUNDS).map(({message}: {message: string}) => message)).toEqual(
      Array.from({length: Math.min(ROUNDS, 100)}, (_, round) => `round ${round}`),
    );
    const failures = (await readJsonLines(service.logFile)).filter(line => line.message === 'The request failed.');
    expect(failures).toEqual([]);
  });
}
