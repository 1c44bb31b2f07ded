/** The life of a Domain: proof, claim, CAA, certificate, route, probe; then one report. Keep docs/design.md in step. */
import {isDeepStrictEqual} from 'node:util';
import type {Reconcile} from '../../runtime/controller/controller.ts';
import {after, done, type Outcome, retry} from '../../runtime/controller/outcome.ts';
import {desiredDomain, isManaged} from '../model/project-hosts.ts';
import {PausedError} from '../model/write-conditions.ts';
import type {Operator} from '../state/context.ts';
import {BEHIND_MS} from '../state/fresh.ts';
import {heldBack, isPausedHost} from '../state/paused.ts';
import {isTerminating} from '../state/stores.ts';
import {accept} from './accept.ts';
import {failedCertificate, failedClaim, failedRoute} from './after-failed-write.ts';
import {certify} from './certify.ts';
import {claimHost} from './claim.ts';
import type {StepResult} from './conditions.ts';
import {probe} from './probe.ts';
import {Reporter} from './report.ts';
import {route} from './route.ts';
import {dropForeignRoute, finalize} from './unpublish.ts';
import {checkCaa, verifyDns} from './verify.ts';
import {type DomainView, viewOf} from './view.ts';

/** Keys are "namespace/host", of existing Domains and of deleted ones that left something behind. */
export function reconcileDomain(operator: Operator): Reconcile {
  const reporter = new Reporter();
  const {stores} = operator;
  return async (key, {client, signal, keepsFailing}) => {
    const context = {...operator, client, signal};
    if (stores.domains.state !== 'synced') return after(1000); // without its kind, a Domain missing from the cache is not gone
    const domain = stores.domains.get(key);
    if (!domain || domain.metadata.deletionTimestamp || isTerminating(stores, domain.metadata.namespace ?? '')) {
      reporter.forget(key);
      return (await finalize(context, key)) ? done() : after(BEHIND_MS);
    }
    let view = viewOf(operator, domain);
    const isPaused = isPausedHost(operator, key);
    const mayWait = !isPaused && !operator.removals.isHeld('domain', key);
    if (!view || (mayWait && isAboutToChange(operator, domain))) return done();
    const building = heldBack(context, isPaused);

    const accepted = accept(context, view);
    const proof = verifyDns(context, view, accepted);
    const claim = await claimHost(building, view, proof).catch(failedClaim({view, keepsFailing}));
    const left = await dropForeignRoute(context, view, claim);
    if (!left) return after(BEHIND_MS);
    view = left;
    const caa = checkCaa(view);
    const certificate = await certify(building, view, {proof, claim, caa}).catch(
      failedCertificate({view, keepsFailing}),
    );
    const routed = await route(building, view, {accepted, claim, certificate}).catch(failedRoute({view, keepsFailing}));
    const probed = probe(context, view, routed);
    const decided = {accepted, proof, claim, caa, certificate, routed, probed};
    const wakeAtMs = await reporter.report(context, view, decided);
    return outcomeOf([proof, claim, certificate, routed, probed], wakeAtMs, view.nowMs);
  };
}

/** A managed Domain that differs from what its Projects list is about to change: judging it now would mislead. */
function isAboutToChange({stores, places}: Operator, domain: DomainView['domain']): boolean {
  if (!isManaged(domain) || stores.projects.state !== 'synced') return false;
  const {namespace, name} = domain.metadata;
  const desired = desiredDomain(domain.spec.host, places.listing(`${namespace}/${name}`));
  return !isDeepStrictEqual(desired?.spec, domain.spec);
}

/** When the Domain is due again: after the backoff if a write failed, otherwise at the earliest time. */
function outcomeOf(steps: readonly StepResult[], wakeAtMs: readonly number[], nowMs: number): Outcome {
  const failed = steps.find(({failure}) => failure !== undefined && !(failure instanceof PausedError));
  if (failed) return retry(failed.failure);
  const next = Math.min(...wakeAtMs, ...steps.map(step => step.wakeAtMs ?? Number.POSITIVE_INFINITY));
  return Number.isFinite(next) ? after(Math.max(next - nowMs, 1000)) : done();
}
