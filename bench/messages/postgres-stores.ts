/** The append-only stores on PostgreSQL that the benchmark compares. */
import type {Logger} from 'pino';
import {MessageIds} from '../../src/messages/store/message-id.ts';
import {PostgresStore} from '../../src/messages/store/postgres/postgres-store.ts';
import {Session, type SessionOptions} from '../../src/messages/store/postgres/session/session.ts';
import {writeBatch} from '../../src/messages/store/postgres/write.ts';
import type {AppendOutcome, MessageStore, NewMessage, StoreRules} from '../../src/messages/store/store.ts';
import {systemClock} from '../../src/time/clock.ts';
import {until} from '../../test/cluster/wait.ts';
import type {PostgresKind} from './kinds.ts';

export interface PostgresStoresOptions {
  readonly uri: string;
  readonly connection: SessionOptions;
  readonly rules: StoreRules;
  readonly writers: number;
  readonly maxWaiting: number;
  readonly maxWaitingBytes: number;
  readonly logger: Logger;
}

type Append = (given: NewMessage) => Promise<AppendOutcome>;

/** As many as the benchmark has clients, so that none of them waits for a connection. */
const CONNECTIONS = 64;

export const postgresStores: Readonly<Record<PostgresKind, (options: PostgresStoresOptions) => Promise<MessageStore>>> =
  {
    PostgreSQL: openOurs,
    'PostgreSQL, standby': openOurs,
    'PostgreSQL, commit per request': async options => onlyAppending(await commitPerRequest(options)),
    'graphile-worker': async options => onlyAppending(await graphileWorker(options)),
  };

async function openOurs(options: PostgresStoresOptions): Promise<MessageStore> {
  const store = new PostgresStore({...options, clock: systemClock, observe: () => {}});
  await until('the store is connected', async () => store.state().kind === 'ok');
  return store;
}

/** One transaction per request: the account's quota, the message, the commit. */
async function commitPerRequest({connection, rules}: PostgresStoresOptions): Promise<Append> {
  const {signal} = new AbortController();
  const free = await Promise.all(Array.from({length: CONNECTIONS}, () => Session.open(connection, signal, () => {})));
  const waiting: ((session: Session) => void)[] = [];
  const ids = new MessageIds(undefined);
  const append = async (session: Session, given: NewMessage) => {
    const [outcome] = await writeBatch(session, [{kind: 'append', given}], {rules, ids});
    return outcome as AppendOutcome;
  };
  return async given => {
    const session = free.pop() ?? (await new Promise<Session>(resolve => waiting.push(resolve)));
    try {
      return await append(session, given);
    } finally {
      const next = waiting.shift();
      if (next) next(session);
      else free.push(session);
    }
  };
}

/** No quota, no order, and no idempotency: the simplest store in common use. */
async function graphileWorker({uri}: PostgresStoresOptions): Promise<Append> {
  interface Peer {
    openQueue(uri: string, connections: number): Promise<(payload: object) => Promise<unknown>>;
  }
  const {openQueue} = (await import(new URL('peers/graphile-worker.js', import.meta.url).href)) as Peer;
  const add = await openQueue(uri, CONNECTIONS);
  const ids = new MessageIds(undefined);
  return async ({account, message}) => {
    await add({account, message});
    const now = Date.now();
    return {kind: 'appended', id: ids.next(now), createdAt: now};
  };
}

function onlyAppending(append: Append): MessageStore {
  return {perform: (_: 'append', given: NewMessage) => append(given)} as unknown as MessageStore;
}
