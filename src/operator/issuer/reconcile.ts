/** Keeps the platform's account at the CA of each ACMEIssuer, and says whether the CA answers. */
import {isDeepStrictEqual} from 'node:util';
import type {AcmeClient} from '../../acme/client.ts';
import {AcmeError, CaUnreachable} from '../../acme/errors.ts';
import {type DecidedCondition, settleConditions, timestamp} from '../../api/conditions.ts';
import type {ACMEIssuerStatus} from '../../api/generated/acmeissuer.ts';
import {applyStatusIfChanged} from '../../runtime/apply/apply.ts';
import type {Reconcile} from '../../runtime/controller/controller.ts';
import {after, done} from '../../runtime/controller/outcome.ts';
import {atOnce} from '../../runtime/controller/turns.ts';
import type {DeepReadonly} from '../../runtime/kube/object.ts';
import {DeadlineError, withDeadline} from '../../time/deadline.ts';
import {placedOrders} from '../claim/order-records.ts';
import {limitsOf, ordersLeft} from '../claim/order-windows.ts';
import {acmeIssuersOf} from '../kinds/issuers.ts';
import {ACME_ISSUER, type ACMEIssuer, SECRET} from '../kinds/kinds.ts';
import {AccountKeyError, type AccountKeys, accountKeysOf, keyMissing} from './account-key.ts';
import {BEGIN_AGAIN, IssuerReady, Reachable, refusalTodo} from './conditions.ts';
import type {IssuerContext, IssuerOperator} from './context.ts';
import {type ChangeKey, keyChanger} from './key-change.ts';

/** How often the CA's directory is read, a lost account replaced, and the budget in the status updated. */
const CHECK_MS = 30_000;
/** For the directory: an outage must show within a minute. */
const CHECK_TIMEOUT_MS = 10_000;
/** After a failure. */
const RETRY_MS = 15_000;
const BUDGET_MS = 10_000;

/** Keys are names of ACMEIssuers. */
export function reconcileIssuer(operator: IssuerOperator): Reconcile {
  const {stores, accounts, config, clock} = operator;
  const checkedAtMs = new Map<string, number>();
  const changeKey = keyChanger();
  return async (name, {client, signal}) => {
    const context = {...operator, client, signal};
    const issuer = stores.acmeIssuers.get(name);
    if (!issuer || issuer.metadata.deletionTimestamp) {
      accounts.forget(name);
      return done();
    }
    if (!acmeIssuersOf(config.certificates).includes(name)) {
      await report(context, issuer, issuer.status ?? {}, [IssuerReady.notConfigured()]);
      return done();
    }
    const account = await ensureAccount(context, issuer, changeKey);
    // A directory may be answered although orders are not: whoever noticed will ask again.
    const askedAtMs = [checkedAtMs.get(name), accounts.troubleOf(name)?.wakeAtMs].filter(time => time !== undefined);
    const dueMs = Math.max(...askedAtMs) + CHECK_MS;
    const isDue = clock.monotonic() >= dueMs;
    if (account.isOpen && isDue) {
      checkedAtMs.set(name, clock.monotonic());
      await checkReachable(context, name);
    }
    const trouble = accounts.troubleOf(name);
    const reachable = trouble ? Reachable.no(timestamp(trouble.sinceMs), trouble.why) : Reachable.yes();
    await report(context, issuer, account.status, [
      account.condition,
      account.isOpen ? reachable : Reachable.unknown(),
    ]);
    if (account.condition.status !== 'True') return after(account.wakeInMs ?? RETRY_MS);
    return after(operator.orderSchedule.waiting(name) > 0 ? BUDGET_MS : CHECK_MS);
  };
}

interface AccountResult {
  readonly isOpen: boolean;
  readonly condition: DecidedCondition;
  readonly status: ACMEIssuerStatus;
  /** When to look again, if the condition is not True. */
  readonly wakeInMs?: number;
}

async function ensureAccount(
  context: IssuerContext,
  issuer: DeepReadonly<ACMEIssuer>,
  changeKey: ChangeKey,
): Promise<AccountResult> {
  const {accounts, responders, namespace} = context;
  const {name} = issuer.metadata;
  const status = structuredClone(issuer.status ?? {}) as ACMEIssuerStatus;
  const closed = (condition: DecidedCondition): AccountResult => ({isOpen: false, condition, status});
  const {server, contact = [], externalAccountBinding} = issuer.spec;
  const {name: secret, key: field} = externalAccountBinding?.keySecretRef ?? {};
  const bindingSecret = secret && `${namespace}/${secret}`;
  try {
    const keys = await accountKeysOf(context);
    assertHasKey(context, issuer, keys);
    const change = keys.former.length > 0 ? await changeKey(context, issuer, keys) : undefined;
    const found = change?.kind === 'found' ? change : undefined;
    const {key, thumbprint} = found?.key ?? keys.current;
    const keySecret = `${namespace}/${keys.current.secret}`;
    if (change?.kind === 'waiting') {
      return {...closed(IssuerReady.changingKey(keySecret, change.why)), wakeInMs: change.wakeInMs};
    }
    const client = accounts.clientOf(issuer, key, thumbprint);
    const isKnown =
      !change && !accounts.isLost(name) && status.accountServer === server && status.thumbprint === thumbprint;
    let uri = found?.uri ?? (isKnown ? status.accountURI : undefined);
    if (accounts.isDoubted(name)) await confirmAccount(client, context.signal);
    if (uri === undefined) {
      const hmacKey = externalAccountBinding && (await bindingKey(context, externalAccountBinding.keySecretRef));
      if (bindingSecret && !hmacKey) return closed(IssuerReady.bindingMissing(bindingSecret, field ?? ''));
      const binding = hmacKey && {keyId: externalAccountBinding?.keyID ?? '', hmacKey};
      const account = await client.createAccount(
        {contact: contact.map(mail => `mailto:${mail}`), ...(binding && {externalAccountBinding: binding})},
        context.signal,
      );
      uri = account.uri;
    }
    accounts.open(name, uri);
    const trouble = change && (await responders.problem(context, thumbprint));
    return {
      isOpen: true,
      condition: judge(uri, keySecret, found?.refusal, trouble),
      status: {...status, accountURI: uri, accountServer: server, thumbprint},
    };
  } catch (error) {
    if (error instanceof AccountKeyError) return closed(IssuerReady.keyMissing(error.message));
    if (error instanceof AcmeError) {
      const todo = accounts.isDoubted(name) ? BEGIN_AGAIN : refusalTodo(error.problem.type, bindingSecret);
      return closed(IssuerReady.refused(error.message, todo));
    }
    if (error instanceof CaUnreachable) return closed(IssuerReady.unreachable(error.message));
    throw error;
  }
}

/** Rejects if the CA refuses the account. */
async function confirmAccount(client: AcmeClient, signal: AbortSignal): Promise<void> {
  try {
    await client.createAccount({contact: [], onlyExisting: true}, signal);
  } catch (error) {
    if (error instanceof CaUnreachable || (error instanceof AcmeError && !error.isVerdict)) return;
    throw error;
  }
}

/** With another key, the platform would have another account, which tenants' CAA records do not allow. */
function assertHasKey(
  {namespace}: IssuerContext,
  {spec, status}: DeepReadonly<ACMEIssuer>,
  {current, former}: AccountKeys,
) {
  const keys = [current, ...former];
  const isElsewhere = status?.thumbprint === undefined || status.accountServer !== spec.server;
  if (isElsewhere || keys.some(({thumbprint}) => thumbprint === status.thumbprint)) return;
  throw keyMissing(
    namespace,
    keys.map(({secret}) => secret),
  );
}

/** `trouble`: why no challenge of the account is answered. */
function judge(uri: string, secret: string, refusal: string | undefined, trouble: string | undefined) {
  if (refusal !== undefined) return IssuerReady.keyChangeRefused(secret, refusal, trouble);
  return trouble === undefined ? IssuerReady.yes(uri, secret) : IssuerReady.unanswered(trouble);
}

async function bindingKey(
  {client, signal, namespace}: IssuerContext,
  {name, key}: {readonly name: string; readonly key: string},
): Promise<Uint8Array | undefined> {
  const secret = await client.get(SECRET, {namespace, name}, {signal});
  const text = Buffer.from(secret?.data?.[key] ?? '', 'base64')
    .toString()
    .trim();
  return /^[A-Za-z0-9_-]+=*$/.test(text) ? Buffer.from(text, 'base64url') : undefined;
}

async function checkReachable({accounts, signal}: IssuerContext, name: string): Promise<void> {
  const client = accounts.get(name)?.client;
  if (!client) return;
  try {
    await withDeadline(CHECK_TIMEOUT_MS, signal, deadline => client.directory(deadline));
    accounts.report(name, undefined);
  } catch (error) {
    if (!(error instanceof AcmeError || error instanceof CaUnreachable || error instanceof DeadlineError)) throw error;
    accounts.report(name, error.message);
  }
}

const HOUR_MS = 3_600_000;

/** The estimate changes with each pass, so it is rounded up to the hour. */
function movingPart({hosts, untilMs}: ReturnType<IssuerContext['orderSchedule']['moving']>) {
  return hosts > 0 && {moving: hosts, movedBy: timestamp(Math.ceil(untilMs / HOUR_MS) * HOUR_MS)};
}

async function report(
  context: IssuerContext,
  issuer: DeepReadonly<ACMEIssuer>,
  base: DeepReadonly<ACMEIssuerStatus>,
  conditions: readonly DecidedCondition[],
): Promise<void> {
  const {client, signal, clock, orderSchedule, stores} = context;
  const {name, generation = 0} = issuer.metadata;
  const nowMs = clock.now();
  const limits = limitsOf(issuer.spec);
  const {forNew, forRenewals} = atOnce(ordersLeft(atOnce(placedOrders({stores}, name, limits, nowMs)), limits, nowMs));
  const status: ACMEIssuerStatus = {
    ...(structuredClone(base) as ACMEIssuerStatus),
    observedGeneration: generation,
    orders: {
      ...{left: forNew, leftForRenewals: forRenewals, waiting: orderSchedule.waiting(name)},
      ...movingPart(orderSchedule.moving(name)),
    },
    conditions: settleConditions(issuer.status?.conditions, conditions, issuer.metadata, nowMs),
  };
  if (isDeepStrictEqual(status, issuer.status)) return;
  await applyStatusIfChanged(client, ACME_ISSUER, issuer, status, {signal});
}
