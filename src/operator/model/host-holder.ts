import type {DeepReadonly} from '../../runtime/kube/object.ts';
import type {Account} from './account.ts';
import type {DomainClaim} from './kinds.ts';

/** Who holds the host: nobody, this namespace, another account or namespace, or a holder that has released it. */
export type HostHolder = 'nobody' | 'us' | 'another' | 'released';

export function holderOf(
  claim: DeepReadonly<DomainClaim> | undefined,
  account: Account,
  namespace: string,
): HostHolder {
  if (!claim) return 'nobody';
  if (claim.spec.releasedAt !== undefined) return 'released';
  return claim.spec.account === account.id && claim.spec.namespace === namespace ? 'us' : 'another';
}
