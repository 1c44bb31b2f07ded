import type {MessageIds} from '../message-id.ts';
import type {NewMessage, Operation, OperationValue, StoreRules} from '../store.ts';
import {Accounts, withAccounts} from './accounts.ts';
import {Appends, findKeys} from './append.ts';
import type {Join} from './batching-connection.ts';
import {type ClaimedBatch, claim, lockMessages, Settlements} from './lease.ts';
import type {Done, Session} from './session/session.ts';

interface WriteOptions {
  readonly rules: StoreRules;
  readonly ids: MessageIds;
  /** Called as soon as the locks are held. An operation that it adds gets a time from shortly before its arrival. */
  readonly join?: Join;
}

/**
 * One transaction for a batch of appends, claims, acks, and nacks: answers in the order of the batch, once it is
 * durable. Locks are taken in one order: accounts, then messages; claims skip what is locked. An answer that repeats an
 * earlier one waits in the same way, because the earlier transaction may not be durable yet.
 */
export function writeBatch(
  session: Session,
  batch: readonly Operation[],
  {join = () => {}, ...options}: WriteOptions,
): Promise<readonly OperationValue[]> {
  const given = new Set(
    batch.flatMap(({kind, given}) => (kind === 'append' || kind === 'nack' ? [given.account] : [])),
  );
  const refs = batch.flatMap(each => (each.kind === 'ack' || each.kind === 'nack' ? [each.given] : []));
  const appended = batch.flatMap((each): NewMessage[] => (each.kind === 'append' ? [each.given] : []));
  const read = async () => {
    const [accounts, held, keys] = await Promise.all([
      Accounts.lock(session, given),
      lockMessages(session, refs),
      findKeys(session, appended),
    ]);
    return {accounts, held, keys};
  };
  return withAccounts(session, () =>
    session.commit(read, async (found, now) => {
      join(operation => needsNothingElse(operation, found.accounts));
      return write(session, batch, {...options, ...found, now});
    }),
  );
}

/**
 * Whether an operation needs nothing but the locks that are held. Not a claim, which COMMIT must wait for: the accounts
 * would be locked for longer.
 */
function needsNothingElse(operation: Operation, accounts: Accounts): boolean {
  return (
    operation.kind === 'append' && operation.given.idempotency === undefined && accounts.has(operation.given.account)
  );
}

type Context = WriteOptions & ConstructorParameters<typeof Appends>[0] & ConstructorParameters<typeof Settlements>[0];

async function write(
  session: Session,
  batch: readonly Operation[],
  context: Context,
): Promise<Done<readonly OperationValue[]>> {
  const {rules, now, accounts} = context;
  const appends = new Appends(context);
  const settlements = new Settlements(context);
  const claims: Promise<ClaimedBatch>[] = [];
  const values = batch.map((operation): OperationValue | Promise<ClaimedBatch> => {
    switch (operation.kind) {
      case 'append':
        return appends.add(operation.given);
      case 'ack':
        return settlements.ack(operation.given);
      case 'nack':
        return settlements.nack(operation.given);
      case 'claim': {
        const claimed = claim(session, operation.given, rules, now);
        claims.push(claimed);
        return claimed;
      }
      default:
        throw new Error(`${operation.kind} does not write`);
    }
  });
  appends.save(session);
  settlements.save(session);
  accounts.save(session);
  const [claimed, results] = await Promise.all([
    Promise.all(claims),
    Promise.all(
      values.map(async value => {
        const settled = await value;
        return settled && 'hasWritten' in settled ? settled.messages : settled;
      }),
    ),
  ]);
  const onlyPolled = claims.length === batch.length && claimed.every(({hasWritten}) => !hasWritten);
  return {value: results, promises: !onlyPolled};
}
