import {isMessageId, uuidOf} from '../message-id.ts';
import {chargeReason, isHeld} from '../rules.ts';
import type {LeaseRef, Nack, SettleOutcome, StoreRules} from '../store.ts';
import type {Accounts} from './accounts.ts';
import {isMessage} from './read.ts';
import type {Row, Session} from './session/session.ts';

/** A locked message. */
interface Held {
  readonly place: string;
  readonly account: string;
  readonly id: string;
  readonly attempts: number;
  readonly leaseUntil: number;
  readonly reasonBytes: number;
  lease: string | null;
  status: string;
}

type HeldMessages = ReadonlyMap<string, Held>;

// Sorted by the program, as the accounts are.
export const LOCK = {
  name: 'lock-messages',
  text: `
    SELECT m.* FROM unnest($1::text[], $2::uuid[]) AS wanted(account, id)
    CROSS JOIN LATERAL (
      SELECT ctid::text AS place, account, id, status, attempts, lease, lease_until,
        coalesce(octet_length(reason), 0) AS reason_bytes
      FROM messages m WHERE ${isMessage('wanted.account', 'wanted.id')} FOR UPDATE) m`,
};
// The lease stays, so that an ack whose response was lost can be repeated.
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
  const wanted = new Map(refs.filter(({id}) => isMessageId(id)).map(ref => [nameOf(ref.account, uuidOf(ref.id)), ref]));
  if (wanted.size === 0) return new Map();
  const sorted = [...wanted].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, ref]) => ref);
  const rows = await session.query(LOCK, [sorted.map(({account}) => account), sorted.map(({id}) => uuidOf(id))]);
  return new Map(rows.map(row => [nameOf(String(row.account), String(row.id)), heldOf(row)]));
}

interface SettleContext {
  readonly accounts: Accounts;
  readonly held: HeldMessages;
  readonly rules: StoreRules;
  readonly now: number;
}

interface GivenBack {
  readonly place: string;
  readonly status: 'waiting' | 'delayed' | 'dead';
  readonly availableAt: number | null;
  readonly finishedAt: number | null;
  readonly reason: string | null;
}

/** Acks and nacks of one transaction. */
export class Settlements {
  readonly #context: SettleContext;
  readonly #finished: string[] = [];
  readonly #givenBack: GivenBack[] = [];

  constructor(context: SettleContext) {
    this.#context = context;
  }

  ack(ref: LeaseRef): SettleOutcome {
    const held = this.#held(ref);
    if (typeof held === 'string') return {kind: held};
    if (held.status === 'leased') this.#finished.push(held.place);
    held.status = 'done';
    return {kind: 'settled', status: 'done', attempts: held.attempts};
  }

  nack({delayMs, reason, ...ref}: Nack): SettleOutcome {
    const {accounts, rules, now} = this.#context;
    const held = this.#held(ref);
    if (typeof held === 'string') return {kind: held};
    if (held.status !== 'leased') return {kind: 'lease-lost'};
    const literal = reason === undefined ? null : JSON.stringify(reason);
    const isDead = held.attempts >= rules.maxAttempts;
    const status = isDead ? 'dead' : delayMs === 0 ? 'waiting' : 'delayed';
    this.#givenBack.push({
      place: held.place,
      status,
      availableAt: status === 'delayed' ? now + delayMs : null,
      finishedAt: isDead ? now : null,
      reason: chargeReason(ref.account, literal, held.reasonBytes, accounts, rules),
    });
    held.status = status;
    held.lease = null;
    return {kind: 'settled', status: isDead ? 'dead' : 'queued', attempts: held.attempts};
  }

  save(session: Session): void {
    const {now} = this.#context;
    if (this.#finished.length > 0) session.send(FINISH, [this.#finished, now]);
    for (const {place, status, availableAt, finishedAt, reason} of this.#givenBack) {
      session.send(GIVE_BACK, [place, status, availableAt, finishedAt, reason]);
    }
  }

  #held({account, id, lease}: LeaseRef): Held | 'unknown-message' | 'lease-lost' {
    const held = this.#context.held.get(nameOf(account, uuidOf(id)));
    if (held === undefined) return 'unknown-message';
    return isHeld(held, lease, this.#context.now) ? held : 'lease-lost';
  }
}

function heldOf({place, account, id, status, attempts, lease, lease_until, reason_bytes}: Row): Held {
  return {
    place: String(place),
    account: String(account),
    id: String(id),
    status: String(status),
    attempts: Number(attempts),
    lease: lease === null ? null : String(lease),
    leaseUntil: Number(lease_until),
    reasonBytes: Number(reason_bytes),
  };
}

function nameOf(account: string, uuid: string): string {
  return `${account}\n${uuid}`;
}
