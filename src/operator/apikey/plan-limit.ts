/** Whether an APIKey has a place in the plan of its account: the oldest have one, and those that hold a key already. */
import type {APIKey} from '../../keys/apikey.ts';
import {letGoMs} from '../../keys/validity.ts';
import {type DeepReadonly, type KubeObject, keyOf} from '../../runtime/kube/object.ts';
import {accountOf} from '../model/account.ts';
import type {Operator} from '../state/context.ts';
import {INDEX} from '../state/stores.ts';

export interface Limit {
  readonly plan: string;
  readonly limit: number;
}

/** The limit that keeps the APIKey from a key; undefined if none does. Reads no other APIKey of the account. */
export function limitBefore(
  {stores, config}: Pick<Operator, 'stores' | 'config'>,
  apiKey: DeepReadonly<APIKey>,
  namespace: DeepReadonly<KubeObject>,
  nowMs: number,
): Limit | undefined {
  const {apiKeyAges, keyClaims, namespaces} = stores;
  const {id, planName, plan} = accountOf(namespace, config);
  const own = namespaces.byIndex(INDEX.account, id).map(({metadata}) => metadata.name);
  if (apiKeyAges.count(own) <= plan.maxApiKeys) return undefined;
  const records = keyClaims.byIndex(INDEX.apiKey, keyOf(apiKey));
  if (records.some(({spec}) => letGoMs(spec, nowMs) === undefined)) return undefined;
  const older = own.reduce((sum, name) => sum + apiKeyAges.countOlder(name, apiKey), 0);
  return older < plan.maxApiKeys ? undefined : {plan: planName, limit: plan.maxApiKeys};
}
