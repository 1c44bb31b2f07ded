/**
 * The key of the platform's accounts at all CAs, in a Secret that the operator creates once and never overwrites. Alone,
 * this key certifies every host that points to the edge: docs/operations.md says how to back it up.
 */
import {createPrivateKey, generateKeyPairSync, type KeyObject} from 'node:crypto';
import {thumbprintOf} from '../../acme/identifiers.ts';
import type {Reconcile} from '../../runtime/controller/controller.ts';
import {after} from '../../runtime/controller/outcome.ts';
import {type KubeObject, type ResourceType, resourceType} from '../../runtime/kube/object.ts';
import type {ApiAccess} from '../caches/context.ts';
import type {OperatorConfig} from '../config/config.ts';
import {acmeIssuerOf} from '../kinds/issuer-ref.ts';
import {SECRET} from '../kinds/kinds.ts';
import type {IssuerContext, IssuerOperator} from './context.ts';

interface KeySecret extends KubeObject {
  type: string;
  immutable: boolean;
  /** Base64. */
  data?: Record<string, string>;
}

interface AccountKey {
  readonly key: KeyObject;
  readonly thumbprint: string;
}

/** There is no key that can be used, and a person must act. The message says how. */
export class AccountKeyError extends Error {
  override readonly name = 'AccountKeyError';
}

const DATA_KEY = 'account.key';
const KEY_SECRET = SECRET as ResourceType<KeySecret>;

/**
 * `expected`: the thumbprint with which accounts were made. If it is known, a missing key is not replaced: with another
 * key, the platform would have another account, which tenants' CAA records do not allow.
 */
async function loadAccountKey(
  {client, signal}: ApiAccess,
  {
    namespace,
    name,
    expected,
  }: {readonly namespace: string; readonly name: string; readonly expected: string | undefined},
): Promise<AccountKey> {
  let secret = await client.get(KEY_SECRET, {namespace, name}, {signal});
  if (!secret) {
    if (expected !== undefined) throw new AccountKeyError(lost(namespace, name));
    const pem = generateKeyPairSync('ec', {namedCurve: 'P-256'}).privateKey.export({type: 'pkcs8', format: 'pem'});
    const data = {[DATA_KEY]: Buffer.from(pem).toString('base64')};
    const metadata = {namespace, name};
    const wanted = {apiVersion: 'v1', kind: 'Secret', metadata, type: 'Opaque', immutable: true, data};
    secret = await client.create(KEY_SECRET, wanted, {signal});
  }
  const key = parse(secret.data?.[DATA_KEY]);
  if (key) return {key, thumbprint: thumbprintOf(key)};
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

function lost(namespace: string, name: string): string {
  return `The key of the platform's ACME account is gone: Secret ${namespace}/${name} does not exist. Restore it from your backup (kubectl apply -n ${namespace} -f acme-account.yaml). If it is lost permanently, see "The account key is lost" in docs/operations.md. Until then, no certificate is issued or renewed.`;
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
      const {thumbprint} = await accountKeyOf(context);
      await publishThumbprint(context, thumbprint);
    } catch (error) {
      if (!(error instanceof AccountKeyError)) throw error; // each ACMEIssuer says so
    }
    return after(LOOK_MS);
  };
}

/** Throws an AccountKeyError if a person must act. */
export async function accountKeyOf({client, signal, namespace, config, stores}: IssuerContext): Promise<AccountKey> {
  const expected = [...stores.acmeIssuers.list()].flatMap(({status}) => status?.thumbprint ?? [])[0];
  return await loadAccountKey({client, signal}, {namespace, name: config.certificates.acme.accountKeySecret, expected});
}

async function publishThumbprint(
  {client, signal, namespace, config}: IssuerContext,
  thumbprint: string,
): Promise<void> {
  const name = config.certificates.acme.challenges.configMap;
  const found = await client.get(CONFIG_MAP, {namespace, name}, {signal});
  if (found?.data?.thumbprint === thumbprint) return;
  if (found) await client.patch(CONFIG_MAP, {namespace, name}, {data: {thumbprint}}, {signal});
  else {
    const metadata = {namespace, name};
    await client.create(CONFIG_MAP, {apiVersion: 'v1', kind: 'ConfigMap', metadata, data: {thumbprint}}, {signal});
  }
}

interface ConfigMap extends KubeObject {
  data?: Record<string, string>;
}
const CONFIG_MAP = resourceType<ConfigMap>('v1', 'ConfigMap', 'configmaps');

/** Whether any configured issuer is an ACMEIssuer. */
export function usesAcme({certificates: {issuerRef, formerIssuerRefs}}: OperatorConfig): boolean {
  return [issuerRef, ...formerIssuerRefs].some(ref => acmeIssuerOf(ref) !== undefined);
}
