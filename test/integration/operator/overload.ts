/** An overloaded API server: its answers, and what makes the operator send requests. */
import {ANNOTATION} from '../../../src/api/names.ts';
import {routeName} from '../../../src/operator/kinds/derived-names.ts';
import {DOMAIN, INGRESS} from '../../../src/operator/kinds/kinds.ts';
import {EVENT} from '../../../src/runtime/kube/events.ts';
import type {KubeObject, ResourceType} from '../../../src/runtime/kube/object.ts';
import type {Fault, Seen} from '../runtime/fault-proxy.ts';
import type {DomainTenant} from './domain-tenant.ts';
import type {OperatorWorld} from './operator-world.ts';

/** The hash of an object after `needsWrite`, until the operator writes the object. */
export const STALE = 'stale';

/** Status, Events, and the Lease: tests let them pass, so that nothing keeps the operator from reporting. */
export const isReport = ({path}: Seen): boolean => /\/(status|events|leases)(\/|$)/.test(path);

/** `retryAfter`: the header, in seconds. */
export function answer(status: number, reason: string, retryAfter = '1'): Fault {
  const body = JSON.stringify({kind: 'Status', status: 'Failure', code: status, reason, message: 'come back later'});
  return {kind: 'answer', status, headers: {'content-type': 'application/json', 'retry-after': retryAfter}, body};
}

/** Makes the operator write an object that it has created for a host. */
export async function needsWrite(tenant: DomainTenant, resource: ResourceType, host: string): Promise<void> {
  await tenant.annotate(resource, routeName(tenant.namespace, host), {[ANNOTATION.appliedHash]: STALE});
}

/** The resourceVersion of the newest object. */
export function newest({history}: OperatorWorld): number {
  const versions = [DOMAIN, INGRESS, EVENT].flatMap(kind => history.versions<KubeObject>(kind));
  return Math.max(...versions.map(({at}) => at));
}
