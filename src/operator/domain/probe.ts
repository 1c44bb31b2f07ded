/** Whether the edge answers for the host, from the verdicts that the prober keeps; never waits for the edge. */
import {objectNameOf} from '../../api/host-names.ts';
import {isWildcard} from '../../dns/dns.ts';
import {PROBE_PATH} from '../kinds/edge-provider.ts';
import {issuerOf} from '../kinds/issuers.ts';
import {Probed, type StepResult} from './conditions.ts';
import type {DomainOperator, HostOperator} from './context.ts';
import {type HostView, isDefaultHost, lastReported, proofOf} from './host-view.ts';
import type {PublishedHere, RouteResult} from './route.ts';
import type {DomainView} from './view.ts';

/**
 * Watches hosts whose route is in place. A live host is reported as failing only after its probes have failed for the
 * configured time.
 */
export function probe(operator: DomainOperator, view: DomainView, routed: RouteResult): StepResult {
  const {config, prober, clock} = operator;
  const {key, nowMs} = view;
  const last = lastReported(view, 'Probed');
  if (!prober.isOn || routed.publishes === undefined) {
    if (!isDefaultHost(operator, key)) prober.unwatch(key);
    if (!prober.isOn) return {condition: Probed.notProbed()};
    return {condition: view.published && last ? {...last, type: 'Probed'} : Probed.waiting()};
  }
  const {redirect} = routed.publishes;
  const proof = proofOf(operator, view);
  const check = prober.get(key);
  watch(operator, view, routed.publishes, (check?.verdict.verified ?? last?.status === 'True') ? 'steady' : 'pending');
  const wasLive = lastReported(view, 'Ready')?.status === 'True';
  const unchanged = last && (wasLive || last.status === 'False') ? {...last, type: 'Probed' as const} : undefined;
  const unknown = unchanged ?? (wasLive ? Probed.checking() : Probed.pending());
  if (!check) return {condition: unknown};
  const {verdict, agreedSince} = check;
  if (verdict.verified) return {condition: Probed.yes(proof !== undefined || redirect !== undefined, verdict.message)};
  if (agreedSince === undefined) {
    // The edge itself cannot be reached, which says nothing about a host.
    const isJudged = last?.status === 'True' || (last?.status === 'False' && last.reason !== 'Pending');
    return {condition: isJudged ? {...last, type: 'Probed'} : Probed.edgeUnreachable()};
  }
  const leftMs = agreedSince + config.probes.failAfterSeconds * 1000 - clock.monotonic();
  if (leftMs > 0) return {condition: unknown, wakeAtMs: nowMs + leftMs};
  return {condition: Probed.no(verdict.reason, verdict.message)};
}

/** Whether the edge is known to answer for the host. Without probes, its route suffices. */
export function isAnswered(operator: HostOperator, view: HostView): boolean {
  if (!operator.prober.isOn) return true;
  watch(operator, view, {}, 'pending');
  return operator.prober.get(view.key)?.verdict.verified ?? false;
}

function watch(operator: HostOperator, view: HostView, {redirect}: PublishedHere, urgency: 'pending' | 'steady'): void {
  const {key, host, account, owner, isDefault} = view;
  const proof = redirect ? undefined : proofOf(operator, view);
  operator.prober.watch(key, {
    account: account.id,
    uid: owner.metadata.uid ?? key,
    question: {
      host: objectNameOf(host), // of a wildcard: a name below it that no other route can have
      ...(!isDefault && !isWildcard(host) && {isNamed: true}),
      ...(allowsSelfSigned(operator, view) && {allowsSelfSigned: true}),
      ...(redirect && {redirect}),
      ...(proof !== undefined && {route: {path: PROBE_PATH, location: `${PROBE_PATH}/${proof}`}}),
    },
    urgency,
  });
}

/** Of an issuer whose kind is unknown, nobody knows. */
function allowsSelfSigned({stores}: HostOperator, {certificate, namespace}: HostView): boolean {
  if (!certificate) return true;
  const {kind, name, group} = issuerOf(certificate.spec.issuerRef);
  if (group !== 'cert-manager.io') return true;
  const issuer =
    kind === 'ClusterIssuer' ? stores.clusterIssuers.get(name) : stores.issuers.get(`${namespace}/${name}`);
  return issuer?.isSelfSigned ?? issuer === undefined;
}
