/**
 * A first certificate waits until nothing of a former holder blocks it, and the policy on challenges knows the host.
 */
import {keyOf} from '../../runtime/kube/object.ts';
import {HELD_HOSTS_NAME} from '../approval/held-hosts.ts';
import type {Operator} from '../state/context.ts';
import {INDEX} from '../state/stores.ts';
import type {CertificateResult} from './certify.ts';
import {CertificateReady} from './conditions.ts';
import type {Subject} from './view.ts';

/** After this time, nothing that is left of the former holder can delay the new holder. */
const WITHDRAWAL_MS = 60_000;

/** Undefined: nothing blocks it. */
export function awaitWithdrawal(operator: Operator, subject: Subject): CertificateResult | undefined {
  const {stores, logger} = operator;
  const {host, namespace, claim, nowMs} = subject;
  if (stores.heldHosts.state === 'synced') {
    const record = stores.heldHosts.get(`${namespace}/${HELD_HOSTS_NAME}`);
    if (record?.spec.hosts[host] === undefined) return {condition: CertificateReady.waitingForRecord(), usable: false};
  }
  const left = ofOthers(operator, subject);
  if (left.length === 0) return undefined;
  const untilMs = Date.parse(claim?.spec.since ?? '') + WITHDRAWAL_MS;
  if (untilMs > nowMs) return {condition: CertificateReady.waitingForWithdrawal(), usable: false, wakeAtMs: untilMs};
  logger.warn({host, namespace, left}, 'Requesting a certificate although requests of the former holder are left.');
  return undefined;
}

/** "Kind namespace/name" of what could still become a certificate of the host elsewhere. */
function ofOthers({stores}: Operator, {host, namespace}: Subject): string[] {
  const {heldHosts, challenges, certificateRequests} = stores;
  const found = [heldHosts, challenges, ...(certificateRequests ? [certificateRequests] : [])].flatMap(store => [
    ...store.byIndex(INDEX.host, host),
  ]);
  const others = found.filter(({metadata}) => metadata.namespace !== namespace);
  return others.map(object => `${object.kind} ${keyOf(object)}`);
}
