/** Takes a host off the former edge, if the platform says so and no visitor comes there anymore. */
import {timestamp} from '../../api/conditions.ts';
import {LABEL} from '../../api/names.ts';
import type {DeepReadonly, KubeObject} from '../../runtime/kube/object.ts';
import type {Operator} from '../state/context.ts';
import type {FormerAddresses} from '../state/former-edge.ts';
import {routeObjects} from './publish.ts';

export interface Leaving {
  /** Whether the former edge no longer serves the host. */
  readonly leaves: boolean;
  /** Why it still does although the platform wants it to end; a sentence that begins with a space. Empty if it does not. */
  readonly note: string;
  /** When to ask again. */
  readonly wakeAtMs?: number;
}

const STAYS: Leaving = {leaves: false, note: ''};
const LEAVES: Leaving = {leaves: true, note: ''};
/** A lookup usually takes less. */
const SOON_MS = 2_000;

/** `namespace` has the label that takes its hosts off the former edge. */
export function isToLeave(namespace: DeepReadonly<KubeObject> | undefined): boolean {
  return namespace?.metadata.labels?.[LABEL.formerEdge] === 'remove';
}

/** Whether the objects for the former edge are to be built. Those that are not there are not built on a guess. */
export function leaving(
  {edge, formerEdge, stores, config, clock}: Operator,
  {namespace, host, routeKey}: {readonly namespace: string; readonly host: string; readonly routeKey: string},
): Leaving {
  if (!edge.isOnFormer || !isToLeave(stores.namespaces.get(namespace))) return STAYS;
  if (config.routing.formerAddresses.length === 0) {
    return {leaves: false, note: ' The former edge serves it too. Platform team: set config.routing.formerAddresses.'};
  }
  const objects = routeObjects(stores, routeKey);
  const isOnFormer = edge.isOnFormer;
  const isThere = objects.some(isOnFormer);
  const found = formerEdge.addressesOf(host);
  if (found.kind === 'gone') {
    // The next edge must serve it first.
    const isOnNext = objects.some(object => !isOnFormer(object) && edge.emptied(object));
    const isServed = isOnNext && edge.verdict(objects, stores.platform).kind === 'accepted';
    return !isThere || isServed ? LEAVES : STAYS;
  }
  const wakeAtMs = clock.now() + (found.kind === 'unknown' ? SOON_MS : config.dns.checks.pendingMaxSeconds * 1000);
  if (!isThere && found.kind !== 'returned') return {...LEAVES, wakeAtMs};
  return {leaves: false, note: ` The former edge serves it too: ${explain(host, found)}`, wakeAtMs};
}

function explain(host: string, found: Exclude<FormerAddresses, {readonly kind: 'gone'}>): string {
  switch (found.kind) {
    case 'unknown':
      return `Nameplate does not know the addresses that DNS returns for ${host}. It will check again.`;
    case 'returned':
      return `DNS still returns ${found.addresses.join(', ')} for ${host}. Nameplate will remove it there once DNS does not.`;
    case 'cached':
      return `resolvers may return its address for ${host} until ${timestamp(found.untilMs)}. Nameplate will then remove it there.`;
  }
}
