/** Which Domains are requeued when a slot in a plan becomes free. */
import {findCondition} from '../api/conditions.ts';
import type {Delta} from '../runtime/cache/store.ts';
import type {DeepReadonly} from '../runtime/kube/object.ts';
import type {Domain} from './model/kinds.ts';
import {isOlder} from './state/ages.ts';

/** More than the slots that become free before the cache shows who took them. */
const CALLED = 32;

/**
 * The oldest waiting Domains of each namespace: the others get no slot while these have none. Namespaces differ in
 * their plans. The end of one Domain therefore does not requeue 50,000 that a tenant has created beyond its plan.
 */
export function nextInLine(waiting: Iterable<DeepReadonly<Domain>>): DeepReadonly<Domain>[] {
  const oldest = new Map<string, DeepReadonly<Domain>[]>();
  for (const domain of waiting) {
    const {namespace = ''} = domain.metadata;
    const line = oldest.get(namespace) ?? [];
    oldest.set(namespace, line);
    const last = line.at(-1);
    if (last && line.length === CALLED && isOlder(last, domain)) continue;
    const at = line.findIndex(other => isOlder(domain, other));
    line.splice(at < 0 ? line.length : at, 0, domain);
    line.length = Math.min(line.length, CALLED);
  }
  return [...oldest.values()].flat();
}

/** Whether it got a slot, or no longer needs one: then the Domains behind it are requeued. */
export function leavesLine({type, object, old}: Delta<Domain>): boolean {
  return type === 'updated' && old !== undefined && waitsForPlace(old) && !waitsForPlace(object);
}

function waitsForPlace({status}: DeepReadonly<Domain>): boolean {
  const accepted = findCondition(status?.conditions, 'Accepted');
  return accepted?.status === 'False' && accepted.reason === 'PlanLimitReached';
}
