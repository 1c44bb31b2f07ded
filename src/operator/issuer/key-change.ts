/**
 * Gives the platform's account at a CA the current key (RFC 8555, section 7.3.5), and then the responders its
 * thumbprint. Nobody orders with the account meanwhile, because this process opens it only afterwards. The process may
 * end at any step: both keys stay in their Secrets, and the next process asks the CA which one the account has.
 */
import type {AcmeClient} from '../../acme/client.ts';
import {AcmeError} from '../../acme/errors.ts';
import type {DeepReadonly} from '../../runtime/kube/object.ts';
import {type ACMEIssuer, DOMAIN_CLAIM} from '../kinds/kinds.ts';
import {type AccountKey, type AccountKeys, keyMissing, publishedThumbprint, publishThumbprint} from './account-key.ts';
import type {IssuerContext} from './context.ts';

/** By then, a CA has validated a challenge that an earlier process accepted, or never will. */
const VALIDATION_MS = 60_000;
/** After a failure that says nothing about the key. */
const RETRY_MS = 15_000;

/** What a CA says of a key that has no account. Some ask for the external account first. */
const UNKNOWN: ReadonlySet<string> = new Set(['accountDoesNotExist', 'externalAccountRequired']);

interface Found {
  readonly uri: string;
  readonly key: AccountKey;
}

type Change =
  /** There is no account yet. */
  | {readonly kind: 'absent'}
  /** Nobody may use the account yet. */
  | {readonly kind: 'waiting'; readonly why: string; readonly wakeInMs: number}
  /** `refusal`: why the CA leaves it its former key. */
  | ({readonly kind: 'found'; readonly refusal?: string | undefined} & Found);

type Issuer = DeepReadonly<ACMEIssuer>;

export type ChangeKey = (context: IssuerContext, issuer: Issuer, keys: AccountKeys) => Promise<Change>;

/**
 * One function for a process: it asks and changes once, and then knows. Rejects with `AcmeError` or `CaUnreachable`, or
 * with `AccountKeyError` if there is an account with another key.
 */
export function keyChanger(): ChangeKey {
  /** When this process began to lead, on the monotonic clock. */
  let sinceMs: number | undefined;
  /** By ACMEIssuer. */
  const refusals = new Map<string, string>();

  /** Every challenge that may be in validation belongs to an order that was recorded before. */
  async function drainMs({client, signal, clock}: IssuerContext): Promise<number> {
    sinceMs ??= clock.monotonic();
    const leftMs = sinceMs + VALIDATION_MS - clock.monotonic();
    if (leftMs <= 0) return 0;
    for await (const {items} of client.list(DOMAIN_CLAIM, {signal})) {
      if (items.some(({spec}) => spec.issuance?.order !== undefined)) return leftMs;
    }
    return 0;
  }

  return async function changeKey(context, issuer, keys) {
    const {name} = issuer.metadata;
    const {current} = keys;
    const known = openedAccount(context, issuer, keys);
    if (known?.key === current) await publishThumbprint(context, current.thumbprint);
    if (known) return {kind: 'found', ...known, refusal: refusals.get(name)};
    const found = await findAccount(context, issuer, keys);
    if (!found) return absent(context, issuer, keys);
    const isPublished = (await publishedThumbprint(context)) === current.thumbprint;
    if (found.key === current && isPublished) return {kind: 'found', ...found};
    const wakeInMs = await drainMs(context);
    if (wakeInMs > 0) return {kind: 'waiting', why: 'the CA may still be validating hosts, for a minute', wakeInMs};
    const change =
      found.key === current ? ({kind: 'found', ...found} as const) : await request(context, issuer, found, keys);
    if (change.kind !== 'found') return change;
    if (change.refusal === undefined) await publishThumbprint(context, current.thumbprint);
    else refusals.set(name, change.refusal);
    return change;
  };
}

/** The account, if this process has opened it. */
function openedAccount({accounts}: IssuerContext, issuer: Issuer, {current, former}: AccountKeys): Found | undefined {
  const open = accounts.get(issuer.metadata.name);
  const key = [current, ...former].find(({thumbprint}) => thumbprint === open?.thumbprint);
  const isOpen = open && key && accounts.clientOf(issuer, key.key, key.thumbprint) === open.client;
  return isOpen ? {uri: open.uri, key} : undefined;
}

function absent({namespace}: IssuerContext, issuer: Issuer, {current, former}: AccountKeys): Change {
  if (recordedAccount(issuer) === undefined) return {kind: 'absent'};
  throw keyMissing(
    namespace,
    [current, ...former].map(({secret}) => secret),
  );
}

/** The last account at this CA that an operator has found. Its key may be another one since. */
function recordedAccount({spec, status}: Issuer): string | undefined {
  return status?.accountServer === spec.server ? status.accountURI : undefined;
}

/** The key that the CA has for the account. The client of that key is then the issuer's. */
async function findAccount(
  {accounts, signal}: IssuerContext,
  issuer: Issuer,
  {current, former}: AccountKeys,
): Promise<Found | undefined> {
  const recorded = recordedAccount(issuer);
  for (const key of [current, ...former]) {
    try {
      const client = accounts.clientOf(issuer, key.key, key.thumbprint);
      const {uri} = await client.createAccount({contact: [], onlyExisting: true}, signal);
      if (uri === (recorded ?? uri)) return {uri, key};
    } catch (error) {
      if (!(error instanceof AcmeError && UNKNOWN.has(error.problem.type))) throw error;
    }
  }
  return undefined;
}

/** Whatever the CA answers, it may have changed the key, now or after an earlier request whose answer was lost. */
async function request(context: IssuerContext, issuer: Issuer, {uri, key}: Found, keys: AccountKeys): Promise<Change> {
  const {accounts, signal, logger} = context;
  const {metadata} = issuer;
  logger.info({issuer: metadata.name, account: uri, secret: keys.current.secret}, 'Changing the key of the account.');
  const failure = await failureOf(accounts.clientOf(issuer, key.key, key.thumbprint), uri, keys.current, signal);
  const found = await findAccount(context, issuer, keys);
  if (found?.key === keys.current) return {kind: 'found', ...found};
  const {why, isFinal} = failure ?? {why: 'the CA reports success, but has not changed the key', isFinal: true};
  return found && isFinal ? {kind: 'found', ...found, refusal: why} : {kind: 'waiting', why, wakeInMs: RETRY_MS};
}

async function failureOf(client: AcmeClient, uri: string, {key}: AccountKey, signal: AbortSignal) {
  if ((await client.directory(signal)).keyChange === undefined) return {why: 'it cannot change keys', isFinal: true};
  try {
    await client.changeKey(uri, key, signal);
    return undefined;
  } catch (error) {
    if (!(error instanceof AcmeError)) throw error;
    const isFailure = (error.status >= 500 && error.status !== 501) || error.problem.type === 'rateLimited';
    return {why: error.message, isFinal: !isFailure};
  }
}
