/**
 * The key of the platform's accounts at all CAs, in a Secret that the operator creates once and never overwrites. Alone,
 * this key certifies every host that points to the edge: docs/operations.md says how to back it up and to change it.
 */
import {createPrivateKey, generateKeyPairSync, type KeyObject} from 'node:crypto';
import {thumbprintOf} from '../../acme/identifiers.ts';
import type {Reconcile} from '../../runtime/controller/controller.ts';
import {after} from '../../runtime/controller/outcome.ts';
import {acmeIssuersOf} from '../kinds/issuers.ts';
import {CONFIG_MAP, SECRET, type Secret} from '../kinds/kinds.ts';
import type {IssuerContext, IssuerOperator} from './context.ts';

export interface AccountKey {
  /** The name of the Secret. */
  readonly secret: string;
  readonly key: KeyObject;
  readonly thumbprint: string;
}

export interface AccountKeys {
  /** The one that every account is to have. */
  readonly current: AccountKey;
  /** Those that accounts may still have, as far as their Secrets exist. */
  readonly former: readonly AccountKey[];
}

/** There is no key that can be used, and a person must act. The message says how. */
export class AccountKeyError extends Error {
  override readonly name = 'AccountKeyError';
}

const DATA_KEY = 'account.key';

/** Throws an AccountKeyError if a person must act. */
export async function accountKeysOf(context: IssuerContext): Promise<AccountKeys> {
  const {client, signal, namespace, config} = context;
  const {accountKeySecret, formerAccountKeySecrets} = config.certificates.acme;
  const read = async (name: string) => {
    const secret = await client.get(SECRET, {namespace, name}, {signal});
    return secret && keyIn(secret);
  };
  const former = (await Promise.all(formerAccountKeySecrets.map(read))).flatMap(key => key ?? []);
  return {current: (await read(accountKeySecret)) ?? (await createKey(context, accountKeySecret, former)), former};
}

function keyIn({metadata: {namespace, name}, data}: Secret): AccountKey {
  const key = parse(data?.[DATA_KEY]);
  if (key) return {secret: name, key, thumbprint: thumbprintOf(key)};
  throw new AccountKeyError(
    `Secret ${namespace}/${name} has no EC P-256 private key in PEM under ${DATA_KEY}. Restore it from your backup. Nameplate will then continue automatically.`,
  );
}

function parse(base64: string | undefined): KeyObject | undefined {
  try {
    const key = createPrivateKey(Buffer.from(base64 ?? '', 'base64'));
    return key.asymmetricKeyDetails?.namedCurve === 'prime256v1' ? key : undefined;
  } catch {
    return undefined;
  }
}

/** Not if an account has none of the keys: it would be lost, and another one is not what tenants' CAA records allow. */
async function createKey(
  {client, signal, namespace, config, stores, logger}: IssuerContext,
  name: string,
  former: readonly AccountKey[],
): Promise<AccountKey> {
  for (const issuer of acmeIssuersOf(config.certificates)) {
    const {thumbprint} = stores.acmeIssuers.get(issuer)?.status ?? {};
    if (thumbprint === undefined || former.some(key => key.thumbprint === thumbprint)) continue;
    throw keyMissing(namespace, [name, ...former.map(({secret}) => secret)]);
  }
  const pem = generateKeyPairSync('ec', {namedCurve: 'P-256'}).privateKey.export({type: 'pkcs8', format: 'pem'});
  const data = {[DATA_KEY]: Buffer.from(pem).toString('base64')};
  const metadata = {namespace, name};
  const wanted = {apiVersion: 'v1', kind: 'Secret', metadata, type: 'Opaque', immutable: true, data};
  const created = keyIn(await client.create(SECRET, wanted, {signal}));
  logger.info(metadata, 'Created the key of the ACME account; back it up.');
  return created;
}

/** The account has another key than those in the Secrets, which are named. */
export function keyMissing(namespace: string, secrets: readonly string[]): AccountKeyError {
  const listed = secrets.map(name => `${namespace}/${name}`).join(', ');
  return new AccountKeyError(
    `The key of the platform's ACME account is gone: it is in none of the Secrets ${listed}. Restore it from your backup (kubectl apply -n ${namespace} -f acme-account.yaml), or, if you are changing the key, list the former Secret in config.certificates.acme.formerAccountKeySecrets; if it is lost permanently, see "The account key is lost" in docs/operations.md. Until then, no certificate is issued or renewed.`,
  );
}

/** How often to look whether the Secret and the ConfigMap still exist. */
const LOOK_MS = 60_000;

/**
 * Creates the key once, and tells the program `challenges` its thumbprint. Keys: one fixed key. The pods of `challenges`
 * start when the ConfigMap exists, so this waits for no ACMEIssuer.
 */
export function reconcileAccountKey(operator: IssuerOperator): Reconcile {
  return async (_, {client, signal}) => {
    if (operator.stores.acmeIssuers.state !== 'synced') return after(1000);
    const context = {...operator, client, signal};
    try {
      const {current, former} = await accountKeysOf(context);
      const isChanging = former.length > 0 && (await publishedThumbprint(context)) !== undefined;
      if (!isChanging) await publishThumbprint(context, current.thumbprint); // otherwise, key-change.ts knows when
    } catch (error) {
      if (!(error instanceof AccountKeyError)) throw error; // each ACMEIssuer says so
    }
    return after(LOOK_MS);
  };
}

/** What the responders answer with, as soon as the kubelets have seen it. */
export async function publishedThumbprint({
  client,
  signal,
  namespace,
  config,
}: IssuerContext): Promise<string | undefined> {
  const name = config.certificates.acme.challenges.configMap;
  const found = await client.get(CONFIG_MAP, {namespace, name}, {signal});
  return found?.data?.thumbprint;
}

export async function publishThumbprint(context: IssuerContext, thumbprint: string): Promise<void> {
  const {client, signal, namespace, config} = context;
  const metadata = {namespace, name: config.certificates.acme.challenges.configMap};
  const found = await client.get(CONFIG_MAP, metadata, {signal});
  if (found?.data?.thumbprint === thumbprint) return;
  if (found) await client.patch(CONFIG_MAP, metadata, {data: {thumbprint}}, {signal});
  else await client.create(CONFIG_MAP, {apiVersion: 'v1', kind: 'ConfigMap', metadata, data: {thumbprint}}, {signal});
}
