/**
 * Many long responses of one account, in the order of events: the test decides when a pause ends. The service runs in
 * the test's process. For each store.
 */
import {writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import {pino} from 'pino';
import {Registry} from 'prom-client';
import {afterAll, afterEach, beforeAll, expect, test} from 'vitest';
import {digestOf} from '../../../src/apikey/format.ts';
import {createKeyTable} from '../../../src/apikey/key-table.ts';
import {loadConfig} from '../../../src/config/load-config.ts';
import type {MessagesConfig} from '../../../src/messages/config.ts';
import {messagesConfigDefinition} from '../../../src/messages/config-schema.ts';
import {startMessagesService} from '../../../src/messages/service.ts';
import {type Clock, systemClock} from '../../../src/time/clock.ts';
import {until} from '../../cluster/wait.ts';
import {type Client, createClient} from './client.ts';
import {head, MIB, type Raw, RawClient} from './raw.ts';
import {accountOf, temporaryFolder} from './service.ts';

const LISTS = 300;
const MESSAGE_BYTES = 250_000;
/** For how long an account that has just received one of them receives no other: half of the default rate. */
const PAUSE_MS = (1000 * MESSAGE_BYTES) / (8 * MIB);
/** How many fit at the same time. */
const CLAIMS = 20;
/** How long a request waits for its turn. */
const PATIENCE_MS = 60_000;
const HELD = 'nameplate_messages_held_bytes';
const DURATIONS = 'nameplate_messages_request_duration_seconds';
const SCOPES = ['messages:write', 'messages:read', 'messages:process'] as const;

/** Real time, except that after `hold`, pauses last until `resume`. Nothing else sleeps without a signal. */
class PauseHolder implements Clock {
  readonly now = systemClock.now;
  readonly monotonic = systemClock.monotonic;
  #held: PromiseWithResolvers<void> | undefined;
  #patience = Promise.withResolvers<void>();
  #pausesMs: number[] = [];

  /** How long the pauses since `hold` were to last. */
  get pausesMs(): readonly number[] {
    return this.#pausesMs;
  }

  hold(): void {
    this.#held = Promise.withResolvers();
    this.#patience = Promise.withResolvers();
    this.#pausesMs = [];
  }

  resume(): void {
    this.#held?.resolve();
    this.#held = undefined;
  }

  /** Ends the patience of all that have been waiting since `hold`. */
  expire(): void {
    this.#patience.resolve();
  }

  readonly sleep: Clock['sleep'] = (ms, signal) => {
    if (ms === PATIENCE_MS) return Promise.race([this.#patience.promise, systemClock.sleep(ms, signal)]);
    if (signal !== undefined || this.#held === undefined) return systemClock.sleep(ms, signal);
    this.#pausesMs.push(ms);
    return this.#held.promise;
  };
}

const hasAnswer = ({received}: Raw) => received.startsWith('HTTP/1.1 200 ') && received.endsWith('}');

/** `storeConfig`: the section `store` of the configuration. */
export function turnsSuite(storeConfig: () => Promise<object>): void {
  const [mine, theirs] = [accountOf(0), accountOf(1)];
  const clock = new PauseHolder();
  const registry = new Registry();
  let service: Awaited<ReturnType<typeof startMessagesService>>;
  let client: Client;
  let raw: RawClient;

  beforeAll(async () => {
    const file = join(await temporaryFolder(), 'config.json');
    const config = {keys: {file}, server: {port: 0}, operations: {port: 0}, store: await storeConfig()};
    await writeFile(file, JSON.stringify(config));
    const keys = [mine, theirs].map(({name, key}) => ({
      account: name,
      keyId: name,
      sha256: digestOf(key),
      scopes: SCOPES,
    }));
    service = await startMessagesService({
      config: await loadConfig<MessagesConfig>(file, messagesConfigDefinition),
      authenticator: createKeyTable({keys}),
      storeWorker: new URL('../../../src/messages/store/sqlite/worker.ts', import.meta.url),
      clock,
      logger: pino({level: 'silent'}),
      registry,
      onFailed: error => {
        throw error;
      },
    });
    await until('it is ready', () => service.readiness.every(({problem}) => problem() === undefined));
    client = await createClient(`http://127.0.0.1:${service.port}`);
    raw = new RawClient(service);
    for (let n = 0; n < 2; n++) await client.submit(mine.key, 'x'.repeat(MESSAGE_BYTES));
  });
  afterEach(() => {
    clock.resume();
    raw.closeAll();
  });
  afterAll(async () => {
    client.close();
    await service.close(1000);
  });

  /** How many requests the service has answered. */
  async function answered(route: 'list' | 'claim' = 'list'): Promise<number> {
    const metrics = await registry.getSingleMetricAsString(DURATIONS);
    return Number(new RegExp(`_count{route="${route}",status="200"} (\\d+)`).exec(metrics)?.[1] ?? 0);
  }

  /** Sends the lists; resolves when the account pauses. */
  async function attack(): Promise<readonly Raw[]> {
    clock.hold();
    const lists = raw.many(LISTS, `${head(mine.key, 'GET /messages')}\r\n`);
    await until('the account pauses', () => clock.pausesMs.length === 1);
    return lists;
  }

  // attack: message-work
  test(`${LISTS} lists of one account: others are served while the rest waits, and then each is answered`, async () => {
    const before = await answered();
    const lists = await attack();
    const sent = await answered();
    for (let n = 0; n < 5; n++) await expect(client.submit(theirs.key, 'x')).resolves.toMatchObject({status: 202});
    expect(await answered()).toBe(sent);
    expect(sent - before).toBeLessThan(LISTS);
    expect(clock.pausesMs[0]).toBeGreaterThanOrEqual(PAUSE_MS);
    clock.resume();
    await until('all are answered', () => lists.every(hasAnswer));
  });

  // attack: message-work
  test(`${CLAIMS} claims of one account: they take turns, and one that waits for too long is answered without`, async () => {
    for (let n = 0; n < CLAIMS; n++) await client.submit(theirs.key, 'x'.repeat(20_000));
    clock.hold();
    const body = '{"limit":1,"leaseSeconds":60}';
    const claims = raw.many(
      CLAIMS,
      `${head(theirs.key, 'POST /messages/claim')}content-length: ${body.length}\r\n\r\n${body}`,
    );
    await until('the account pauses', () => clock.pausesMs.length === 1);
    const sent = await answered('claim');
    expect(sent).toBeLessThan(CLAIMS);
    await expect(client.submit(mine.key, 'x')).resolves.toMatchObject({status: 202});
    expect(await answered('claim')).toBe(sent);
    clock.expire();
    await until('all are answered', () => claims.every(hasAnswer));
    expect(clock.pausesMs).toHaveLength(1);
  });

  test('lists whose clients have left wait no longer and hold nothing', async () => {
    await attack();
    raw.closeAll();
    await until('nothing is held', async () => / 0$/m.test(await registry.getSingleMetricAsString(HELD)));
    clock.resume();
    await expect(client.get(mine.key, '/messages')).resolves.toMatchObject({status: 200});
  });
}
