/** Takes a host off the former edge, if the platform requests it and no visitors reach the host there anymore. */
import {timestamp} from '../../api/conditions.ts';
import {LABEL} from '../../api/names.ts';
import type {DeepReadonly, KubeObject} from '../../runtime/kube/object.ts';
import type {Operator} from '../state/context.ts';
import type {FormerAddresses} from '../state/former-edge.ts';
import {routeObjects} from './publish.ts';

export interface Leaving {
  /** Whether the former edge no longer serves the host. */
  readonly leaves: boolean;
  /**
   * Why it still does although the platform requests otherwise: a sentence that begins with a space, or an empty text.
   */
  readonly note: string;
  /** When to check again. */
  readonly wakeAtMs?: number;
}

const STAYS: Leaving = {leaves: false, note: ''};
const LEAVES: Leaving = {leaves: true, note: ''};

/** `namespace` has the label that takes its hosts off the former edge. */
function isToLeave(namespace: DeepReadonly<KubeObject> | undefined): boolean {
  return namespace?.metadata.labels?.[LABEL.formerEdge] === 'remove';
}

/**
 * Whether the host leaves the former edge. A host that is not there is not added unless DNS still returns other
 * addresses.
 */
export function leaving(
  {edge, formerEdge, stores, config}: Operator,
  {namespace, host, routeKey}: {readonly namespace: string; readonly host: string; readonly routeKey: string},
): Leaving {
  if (!edge.isOnFormer || !isToLeave(stores.namespaces.get(namespace))) return STAYS;
  if (config.routing.edgeAddresses.length === 0) {
    return {
      leaves: false,
      note: ' The former edge still serves the host too. Platform team: to end this, set config.routing.edgeAddresses.',
    };
  }
  const objects = routeObjects(stores, routeKey);
  const {isOnFormer} = edge;
  const isThere = objects.some(isOnFormer);
  const found = formerEdge.addressesOf(namespace, host);
  if (found.kind === 'gone') {
    // The next edge must serve it first.
    const isOnNext = objects.some(object => !isOnFormer(object) && edge.emptied(object));
    const isServed = isOnNext && edge.verdict(objects, stores.platform).kind === 'accepted';
    return !isThere || isServed ? LEAVES : {...STAYS, wakeAtMs: found.againMs};
  }
  if (!isThere && found.kind !== 'elsewhere') return LEAVES;
  return {
    leaves: false,
    note: ` The former edge still serves the host too: ${explain(host, found)}`,
    wakeAtMs: found.againMs,
  };
}

function explain(host: string, found: Exclude<FormerAddresses, {readonly kind: 'gone'}>): string {
  switch (found.kind) {
    case 'unknown':
      return `Nameplate has not been able to look up ${host} yet. It will check again.`;
    case 'elsewhere':
      return `DNS returns ${found.addresses.join(', ') || 'no address'} for ${host}. Nameplate will remove the host from the former edge once DNS returns only addresses of the new one.`;
    case 'cached':
      return `resolvers may cache the former address of ${host} until ${timestamp(found.untilMs)}. Nameplate will then remove the host from the former edge.`;
  }
}
