import type {MessageIds} from '../message-id.ts';
import {decideAppend} from '../rules.ts';
import type {AppendOutcome, NewMessage, StoreRules} from '../store.ts';
import type {Accounts} from './accounts.ts';
import {columnsOf, type Session} from './session/session.ts';

interface Key {
  readonly account: string;
  readonly key: string;
  readonly fingerprint: string;
  readonly id: string;
  readonly createdAt: number;
}

/** The idempotency keys of some new messages, as stored or as used by this transaction. */
export type Keys = Map<string, Key>;

export const FIND_KEYS = {
  name: 'find-keys',
  text: `
    SELECT k.* FROM unnest($1::text[], $2::text[]) AS wanted(account, key)
    CROSS JOIN LATERAL (
      SELECT account, key, fingerprint, id, created_at AS "createdAt"
      FROM idempotency k WHERE k.account = wanted.account AND k.key = wanted.key LIMIT 1) k`,
};
export const INSERT = {
  name: 'insert-messages',
  text: `
    WITH texts AS (INSERT INTO bodies (account, id, literal) SELECT * FROM unnest($1::text[], $2::uuid[], $3::text[]))
    INSERT INTO messages (account, id, bytes, created_at)
    SELECT account, id, bytes, $5 FROM unnest($1::text[], $2::uuid[], $4::int[]) AS new(account, id, bytes)`,
};
export const KEEP_KEYS = {
  name: 'keep-keys',
  text: `
    INSERT INTO idempotency (account, key, fingerprint, id, created_at)
    SELECT account, key, fingerprint, id, $5 FROM unnest($1::text[], $2::text[], $3::text[], $4::uuid[])
      AS used(account, key, fingerprint, id)
    ON CONFLICT (account, key) DO UPDATE
      SET fingerprint = excluded.fingerprint, id = excluded.id, created_at = excluded.created_at`,
};

/** After the accounts have been locked, so that no other transaction can use a key meanwhile. */
export async function findKeys(session: Session, messages: readonly NewMessage[]): Promise<Keys> {
  const wanted = messages.flatMap(({account, idempotency}) => (idempotency ? [{account, key: idempotency.key}] : []));
  if (wanted.length === 0) return new Map();
  const found = await session.query<Key>(FIND_KEYS, columnsOf(wanted, 'account', 'key'));
  return new Map(found.map(each => [nameOf(each), each]));
}

interface AppendContext {
  readonly accounts: Accounts;
  readonly keys: Keys;
  readonly ids: MessageIds;
  readonly rules: StoreRules;
  /** The database's time, in milliseconds since the epoch. */
  readonly now: number;
}

interface Inserted {
  readonly account: string;
  readonly id: string;
  readonly literal: string;
  readonly bytes: number;
}

/** New messages of one transaction: decided one by one, written together. */
export class Appends {
  readonly #context: AppendContext;
  readonly #inserted: Inserted[] = [];
  readonly #used: Keys = new Map();

  constructor(context: AppendContext) {
    this.#context = context;
  }

  add(message: NewMessage): AppendOutcome {
    const {account, idempotency} = message;
    const {accounts, keys, ids, rules, now} = this.#context;
    const kept = idempotency && keys.get(nameOf({account, key: idempotency.key}));
    const decision = decideAppend(message, kept, accounts, rules, now);
    if (decision.kind !== 'new') return decision;
    const {literal, bytes} = decision;
    const id = accounts.nextId(account, ids, now);
    this.#inserted.push({account, id, literal, bytes});
    if (idempotency) {
      const key = {account, ...idempotency, id, createdAt: now};
      keys.set(nameOf(key), key);
      this.#used.set(nameOf(key), key);
    }
    return {kind: 'appended', id, createdAt: now};
  }

  save(session: Session): void {
    const {now} = this.#context;
    const inserted = this.#inserted;
    if (inserted.length > 0) session.send(INSERT, [...columnsOf(inserted, 'account', 'id', 'literal', 'bytes'), now]);
    const used = [...this.#used.values()];
    if (used.length > 0) session.send(KEEP_KEYS, [...columnsOf(used, 'account', 'key', 'fingerprint', 'id'), now]);
  }
}

/** Keys are printable ASCII. */
function nameOf({account, key}: {readonly account: string; readonly key: string}): string {
  return `${key}\n${account}`;
}
