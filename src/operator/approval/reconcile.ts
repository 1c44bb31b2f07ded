/**
 * Approves the certificate requests of hosts that their namespace holds, and denies all others, so that nobody gets a
 * certificate for a host that it has not proved, by whatever Certificate or CertificateRequest it may write.
 * Takes the place of cert-manager's own approver: https://cert-manager.io/docs/usage/certificaterequest/#approval
 */
import {timestamp} from '../../api/conditions.ts';
import type {Reconcile} from '../../runtime/controller/controller.ts';
import {after, done} from '../../runtime/controller/outcome.ts';
import type {KubeClient} from '../../runtime/kube/client.ts';
import type {DeepReadonly} from '../../runtime/kube/object.ts';
import type {Operator} from '../context.ts';
import {caAccountOf} from '../orders/ca-account.ts';
import {CERTIFICATE_REQUEST, type CertificateRequest} from '../resources.ts';
import {type Decision, decide} from './decide.ts';
import {isDecided, isOurs} from './request.ts';

/** A denial is for good, so it waits until the caches have surely seen the claim that a request may stand on. */
const GRACE_MS = 10_000;

/** Keys are "namespace/name". */
export function reconcileCertificateRequest(operator: Operator): Reconcile {
  const {stores, clock, config} = operator;
  return async (key, {client, signal}) => {
    const request = stores.certificateRequests?.get(key);
    if (!request || request.metadata.deletionTimestamp || isDecided(request) || !isOurs(config, request)) return done();
    if (stores.claims.state !== 'synced' || stores.namespaces.state !== 'synced') return after(1000);
    const decision = decide(operator, request);
    const ageMs = clock.now() - Date.parse(request.metadata.creationTimestamp ?? '');
    if (decision.type === 'Denied' && ageMs < GRACE_MS) return after(1000);
    // An order from the platform's account at the CA: approved in its turn, by reconcileOrders.
    const caAccount = caAccountOf(config, request.metadata.namespace ?? '', request.spec.issuerRef);
    if (decision.host !== undefined && caAccount !== undefined) return done();
    await writeDecision(operator, request, decision, client, signal);
    return done();
  };
}

export async function writeDecision(
  {clock}: Operator,
  {metadata}: DeepReadonly<CertificateRequest>,
  {type, reason, message}: Decision,
  client: KubeClient,
  signal: AbortSignal,
): Promise<void> {
  const {name, namespace = '', resourceVersion = ''} = metadata;
  const condition = {type, status: 'True', reason, message, lastTransitionTime: timestamp(clock.now())};
  // At the version that was read: else another request, made under the same name meanwhile, would get this one's decision.
  const asRead = {name, namespace, resourceVersion};
  const identity = {apiVersion: 'cert-manager.io/v1', kind: 'CertificateRequest', metadata: asRead};
  await client.applyStatus(CERTIFICATE_REQUEST, {...identity, status: {conditions: [condition]}}, {signal});
}
