import {
  decideAck,
  decideNack,
  type GivenBack,
  LAPSE_ROWS,
  REVEALED_PER_CLAIMED,
  type StoredRow,
  type StoredStatus,
  toMessage,
} from '../rules.ts';
import {
  type ClaimQuery,
  type LeasedMessage,
  type LeaseRef,
  type Nack,
  PAGE_BYTES,
  type SettleOutcome,
  type StoreRules,
} from '../store.ts';
import type {Accounts} from './accounts.ts';
import {isMessage} from './read.ts';
import {CLOCK_SKEW_MS} from './session/schema.ts';
import {columnsOf, type Session} from './session/session.ts';

const backToQueue = (rows: string) => `
  WITH back AS (
    UPDATE messages SET lease = NULL, lease_until = NULL, available_at = NULL,
      status = CASE WHEN status = 'leased' AND attempts >= $1 THEN 'dead' ELSE 'waiting' END,
      finished_at = CASE WHEN status = 'leased' AND attempts >= $1 THEN $2::bigint END
    WHERE ctid = ANY(ARRAY(${rows} FOR UPDATE SKIP LOCKED))
    RETURNING 1)
  SELECT count(*) AS count FROM back`;
export const REVEAL = {
  name: 'reveal',
  text: backToQueue(
    'SELECT ctid FROM messages WHERE account = $3 AND available_at <= $2::bigint ORDER BY available_at LIMIT $4',
  ),
};
export const LAPSE = {
  name: 'lapse',
  text: backToQueue(`
    SELECT ctid FROM messages WHERE lease_until <= $2::bigint - ${CLOCK_SKEW_MS}
    ORDER BY lease_until LIMIT ${LAPSE_ROWS}`),
};
// Messages beyond the page stay locked until the transaction ends, and other claims skip them.
export const TAKE = {
  name: 'take',
  text: `
    WITH next AS MATERIALIZED (
      SELECT ctid AS place, id, bytes FROM messages
      WHERE account = $1 AND (status || id::text) > 'waiting' AND (status || id::text) < 'waitingg'
      ORDER BY (status || id::text) LIMIT $2 FOR UPDATE SKIP LOCKED),
    page AS (
      SELECT place FROM (
        SELECT place, row_number() OVER byId AS nth, sum(bytes) OVER byId AS total FROM next WINDOW byId AS (ORDER BY id)
      ) AS counted
      WHERE nth = 1 OR total <= ${PAGE_BYTES})
    UPDATE messages
    SET status = 'leased', attempts = attempts + 1, lease = gen_random_uuid(), lease_until = $3::bigint,
      available_at = $3::bigint + ${CLOCK_SKEW_MS}
    WHERE ctid = ANY(ARRAY(SELECT place FROM page))
    RETURNING id, status, created_at, attempts, reason, lease,
      (SELECT literal FROM bodies b WHERE b.account = messages.account AND b.id = messages.id) AS literal`,
};

export interface ClaimedBatch {
  readonly messages: readonly LeasedMessage[];
  readonly hasWritten: boolean;
}

/** Its cost depends only on what it returns. `now` is the database's time. */
export async function claim(
  session: Session,
  {account, limit, leaseMs}: ClaimQuery,
  {maxAttempts}: StoreRules,
  now: number,
): Promise<ClaimedBatch> {
  const until = now + leaseMs;
  const [revealed, rows] = await Promise.all([
    session.query<Counted>(REVEAL, [maxAttempts, now, account, limit * REVEALED_PER_CLAIMED]),
    session.query<StoredRow & {readonly lease: string}>(TAKE, [account, limit, until]),
  ]);
  const messages = rows
    .map(row => ({...toMessage(row), lease: row.lease, leaseUntil: until}))
    .sort((a, b) => (a.id < b.id ? -1 : 1));
  return {messages, hasWritten: messages.length > 0 || (revealed[0]?.count ?? 0) > 0};
}

interface Counted {
  readonly count: number;
}

/** Ends at most LAPSE_ROWS expired leases of any account; returns how many. */
export async function lapse(session: Session, {maxAttempts}: StoreRules, now: number): Promise<number> {
  const [row] = await session.query<Counted>(LAPSE, [maxAttempts, now]);
  return row?.count ?? 0;
}

/** A locked message. */
interface Held {
  readonly place: string;
  readonly account: string;
  readonly id: string;
  readonly attempts: number;
  readonly leaseUntil: number;
  readonly reasonBytes: number;
  lease: string | null;
  status: StoredStatus;
}

type HeldMessages = ReadonlyMap<string, Held>;

// Sorted by the program, as the accounts are.
export const LOCK = {
  name: 'lock-messages',
  text: `
    SELECT m.* FROM unnest($1::text[], $2::uuid[]) AS wanted(account, id)
    CROSS JOIN LATERAL (
      SELECT ctid::text AS place, account, id, status, attempts, lease, lease_until AS "leaseUntil",
        coalesce(octet_length(reason), 0) AS "reasonBytes"
      FROM messages m WHERE ${isMessage('wanted.account', 'wanted.id')} FOR UPDATE) m`,
};
export const FINISH = {
  name: 'finish',
  text: `
    UPDATE messages SET status = 'done', lease_until = NULL, available_at = NULL, finished_at = $2
    WHERE ctid = ANY($1::tid[])`,
};
export const GIVE_BACK = {
  name: 'give-back',
  text: `
    UPDATE messages
    SET status = $2, lease = NULL, lease_until = NULL, available_at = $3, finished_at = $4, reason = $5
    WHERE ctid = $1::tid`,
};

export async function lockMessages(session: Session, refs: readonly LeaseRef[]): Promise<HeldMessages> {
  const wanted = new Map(refs.map(each => [nameOf(each), each]));
  if (wanted.size === 0) return new Map();
  const sorted = [...wanted].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, each]) => each);
  const rows = await session.query<Held>(LOCK, columnsOf(sorted, 'account', 'id'));
  return new Map(rows.map(row => [nameOf(row), row]));
}

interface SettleContext {
  readonly accounts: Accounts;
  readonly held: HeldMessages;
  readonly rules: StoreRules;
  readonly now: number;
}

/** Acks and nacks of one transaction. */
export class Settlements {
  readonly #context: SettleContext;
  readonly #finished: string[] = [];
  readonly #givenBack: (GivenBack & {readonly place: string})[] = [];

  constructor(context: SettleContext) {
    this.#context = context;
  }

  ack(ref: LeaseRef): SettleOutcome {
    const held = this.#held(ref);
    const {outcome, change} = decideAck(held, ref, this.#context.now);
    if (held && change) {
      this.#finished.push(held.place);
      held.status = change;
    }
    return outcome;
  }

  nack(nack: Nack): SettleOutcome {
    const {accounts, rules, now} = this.#context;
    const held = this.#held(nack);
    const {outcome, change} = decideNack(held, nack, accounts, rules, now);
    if (held && change) {
      this.#givenBack.push({place: held.place, ...change});
      held.status = change.status;
      held.lease = null;
    }
    return outcome;
  }

  save(session: Session): void {
    const {now} = this.#context;
    if (this.#finished.length > 0) session.send(FINISH, [this.#finished, now]);
    for (const {place, status, availableAt, finishedAt, reason} of this.#givenBack) {
      session.send(GIVE_BACK, [place, status, availableAt, finishedAt, reason]);
    }
  }

  #held(ref: LeaseRef): Held | undefined {
    return this.#context.held.get(nameOf(ref));
  }
}

function nameOf({account, id}: Pick<Held, 'account' | 'id'>): string {
  return `${account}\n${id}`;
}
