/**
 * For a cluster that adopts Nameplate while cert-manager's built-in approver still decides: reports what Nameplate
 * would decide on each certificate request, including those that are already decided. Writes no decision and removes
 * nothing.
 */
import type {Registry} from 'prom-client';
import {metricsIn} from '../../operations/metrics.ts';
import type {ReadonlyStore} from '../../runtime/cache/store.ts';
import type {Reconcile} from '../../runtime/controller/controller.ts';
import {after, done} from '../../runtime/controller/outcome.ts';
import type {Base} from '../caches/context.ts';
import {isInProgress, isOurs} from '../kinds/certificate-request.ts';
import type {CertificateRequest} from '../kinds/kinds.ts';
import {isNew} from './approve.ts';
import {type Decision, decide} from './decide.ts';

/** A claim or an Issuer may change what a request would get. */
const AGAIN_MS = 60_000;

/** Keys are "namespace/name". Only the leader judges, so only its metric counts. */
export function reconcileDryRun(
  operator: Base,
  requests: ReadonlyStore<CertificateRequest>,
  registry: Registry,
): Reconcile {
  const {stores, config, knownSince, events, logger} = operator;
  const judged = new Map<string, Decision>();
  metricsIn(registry).readings(
    'nameplate_dry_run_requests',
    'Existing certificate requests by what Nameplate would decide on them, if the dry run is enabled.',
    ['decision', 'reason'],
    () => judged.values().map(({type: decision, reason}) => [{decision, reason}, 1]),
  );
  return async key => {
    const request = requests.get(key);
    if (!request || !isOurs(config, request)) {
      judged.delete(key);
      return done();
    }
    if ([stores.claims, stores.namespaces, stores.certificates].some(({state}) => state !== 'synced'))
      return after(1000);
    const decision = decide(operator, request);
    const isDenied = decision.type === 'Denied';
    if (isDenied && isNew(knownSince, request)) return after(1000); // a cache may lag behind
    const before = judged.get(key);
    judged.set(key, decision);
    if (isDenied && before?.reason !== decision.reason) {
      const isRemoved = isInProgress(request);
      const act = isRemoved ? 'remove this approved request' : 'deny this request';
      const note = `Nameplate would ${act}, but this is a dry run. ${decision.message}`;
      events.event(request, 'Warning', isRemoved ? 'WouldBeRemoved' : 'WouldBeDenied', 'Judge', note);
      logger.info({request: key, reason: decision.reason}, note);
    }
    return after(AGAIN_MS);
  };
}
