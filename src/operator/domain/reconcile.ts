/**
 * The life of a Domain, in nine steps: accept, verifyDns, claimHost, dropForeignRoute, checkCaa, certify, route, probe,
 * and report. Keep docs/design.md in step.
 */
import {isDeepStrictEqual} from 'node:util';
import type {Reconcile} from '../../runtime/controller/controller.ts';
import {after, done} from '../../runtime/controller/outcome.ts';
import {listing} from '../caches/listing.ts';
import {heldBack} from '../caches/paused.ts';
import {isEnding} from '../caches/stores.ts';
import {desiredDomain, isManaged} from '../kinds/project-hosts.ts';
import {outcomeOf} from '../kinds/steps.ts';
import {accept} from './accept.ts';
import {certify} from './certify.ts';
import {claimHost, failedClaim, isLost} from './claim.ts';
import type {DomainOperator} from './context.ts';
import {failedCertificate} from './held-certificate.ts';
import {probe} from './probe.ts';
import {Reporter} from './report.ts';
import {failedRoute, route} from './route.ts';
import {dropForeignRoute, failedRemoval, finalize} from './unpublish.ts';
import {checkCaa, verifyDns} from './verify.ts';
import {type DomainView, viewOf} from './view.ts';

/** Keys are "namespace/host", of existing Domains and of deleted ones that left something behind. */
export function reconcileDomain(operator: DomainOperator): Reconcile {
  const reporter = new Reporter();
  const {domains} = operator.stores;
  return async (key, {client, signal, keepsFailing}) => {
    const context = {...operator, client, signal};
    if (domains.state !== 'synced') return done(); // without its kind, a Domain missing from the cache is not gone
    const domain = domains.get(key);
    if (!domain || isEnding(operator.stores, domain)) {
      reporter.forget(key);
      operator.outdated.forget(key);
      await finalize(context, key);
      return done();
    }
    const current = viewOf(operator, domain, keepsFailing);
    if (!current) return done();
    const change = changeOf(operator, current);
    if (!change) operator.outdated.forget(key);
    const graceMs = change ? operator.outdated.differs(key, current.isPaused && change.to !== undefined) : 0;
    if (graceMs > 0) {
      // Judging it now would mislead. But whatever it serves must still be its own.
      const lost = isLost(current);
      const {unremoved} = await dropForeignRoute(context, current, {lost}).catch(failedRemoval(current));
      if (!unremoved) return after(graceMs); // otherwise, the Domain must say so
    }
    let view: DomainView = {...current, ...(change && {change})};
    const building = heldBack(context, view.isPaused);

    const accepted = accept(context, view);
    const proof = verifyDns(context, view, accepted);
    const claim = await claimHost(building, view, proof).catch(failedClaim(view));
    view = await dropForeignRoute(context, view, claim).catch(failedRemoval(view));
    const caa = checkCaa(view);
    const certificate = await certify(building, view, {proof, claim, caa}).catch(failedCertificate(view));
    const routed = await route(building, view, {accepted, claim, certificate}).catch(failedRoute(view));
    const probed = probe(context, view, routed);
    const decided = {accepted, proof, claim, caa, certificate, routed, probed};
    const times = await reporter.report(context, view, decided);
    const lateInMs = change ? operator.outdated.lateInMs(key) : 0;
    if (lateInMs > 0) times.push(view.nowMs + lateInMs);
    const due = times.map(wakeAtMs => ({wakeAtMs}));
    return outcomeOf([proof, claim, certificate, routed, probed, ...due], view.nowMs);
  };
}

/** The spec that a managed Domain is about to get; undefined if it is as its Projects list it. */
function changeOf(operator: DomainOperator, {key, domain}: DomainView): DomainView['change'] {
  if (!isManaged(domain) || operator.stores.projects.state !== 'synced') return undefined;
  const desired = desiredDomain(domain.spec.host, listing(operator, key));
  return isDeepStrictEqual(desired?.spec, domain.spec) ? undefined : {to: desired};
}
