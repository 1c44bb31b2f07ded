import type {Condition} from '../../api/conditions.ts';
import {ANNOTATION, LABEL} from '../../api/names.ts';
import type {DeepReadonly, KubeObject} from '../../runtime/kube/object.ts';
import type {OperatorConfig, PlanConfig} from '../config/config.ts';
import type {DomainClaim} from './kinds.ts';

export interface Account {
  readonly id: string;
  readonly planName: string;
  readonly plan: PlanConfig;
  /** The label names a plan that the configuration does not have, so the default plan applies. */
  readonly unknownPlan?: string;
}

/** The platform's label, or the namespace's UID, so that a recreated namespace inherits nothing from the old one. */
export function accountId({metadata}: DeepReadonly<KubeObject>): string {
  return metadata.labels?.[LABEL.account] || metadata.uid || '';
}

export function accountOf(namespace: DeepReadonly<KubeObject>, config: OperatorConfig): Account {
  const wanted = namespace.metadata.labels?.[LABEL.plan];
  const known = wanted !== undefined && Object.hasOwn(config.plans, wanted);
  const planName = known ? wanted : config.defaultPlan;
  const plan = config.plans[planName];
  if (!plan) throw new Error(`the configuration has no plan '${planName}'`);
  return {
    id: accountId(namespace),
    planName,
    plan,
    ...(wanted !== undefined && !known && {unknownPlan: wanted}),
  };
}

/** Whether the annotation on a Domain, a Project, or a namespace pauses it. */
export function hasPause({metadata}: DeepReadonly<KubeObject>): boolean {
  const value = metadata.annotations?.[ANNOTATION.paused];
  return value !== undefined && value !== 'false';
}

/** The plans that would allow custom domains, for messages. */
export function plansWithDomains(config: OperatorConfig): string[] {
  return Object.entries(config.plans).flatMap(([name, plan]) => (plan.customDomains ? [name] : []));
}

/** Whether a Domain, a Project, or an APIKey waits for a slot in the plan, according to its status. */
export function waitsForPlan({status}: DeepReadonly<{status?: {conditions?: Condition[]}}>): boolean {
  return (status?.conditions ?? []).some(
    ({status: state, reason}) => state === 'False' && reason === 'PlanLimitReached',
  );
}

/** Who holds the host: nobody, this namespace, another account or namespace, or a holder that has released it. */
export type HostHolder = 'nobody' | 'us' | 'another' | 'released';

/** The claim of a default host records only its orders: the Project decides who holds it. */
export function holderOf(
  claim: DeepReadonly<DomainClaim> | undefined,
  account: Pick<Account, 'id'>,
  namespace: string,
): HostHolder {
  if (!claim) return 'nobody';
  if (claim.spec.releasedAt !== undefined || claim.spec.project !== undefined) return 'released';
  return claim.spec.account === account.id && claim.spec.namespace === namespace ? 'us' : 'another';
}
