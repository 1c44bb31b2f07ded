/** The life of a Domain: proof, claim, CAA, certificate, route; then one report. */
import type {Reconcile} from '../../runtime/controller/controller.ts';
import {after, done, type Outcome} from '../../runtime/controller/outcome.ts';
import type {Operator} from '../context.ts';
import {accept} from './accept.ts';
import {checkCaa} from './caa.ts';
import {certify} from './certify.ts';
import {claimHost} from './claim.ts';
import {removeDomain, tearDown} from './remove.ts';
import {Reporter} from './report.ts';
import {route} from './route.ts';
import {type Subject, subjectOf} from './subject.ts';
import {verifyDns} from './verify.ts';

/** Keys are "namespace/host", of Domains that exist and of those that left something behind. */
export function reconcileDomain(operator: Operator): Reconcile {
  const reporter = new Reporter();
  return async (key, {client, signal}) => {
    const {domains} = operator.stores;
    if (domains.state !== 'synced') return after(1000); // without its kind, a Domain that is not seen is not gone
    const domain = domains.get(key);
    if (!domain || domain.metadata.deletionTimestamp) {
      reporter.forget(key);
      await removeDomain(operator, key, client, signal);
      return done();
    }
    let subject = subjectOf(operator, domain);
    if (!subject) return done();

    const accepted = accept(operator, subject);
    const isAccepted = accepted.status === 'True';
    const proof = verifyDns(operator, subject, isAccepted);
    const claim = await claimHost(operator, subject, isAccepted && proof.proved, client, signal);
    if (claim.lost) {
      await tearDown(operator, key, client, signal);
      subject = {...subject, published: undefined, certificate: undefined};
    }
    const caa = checkCaa(subject);
    const gate = {holds: claim.holds, proved: isAccepted && proof.proved, caaAllowed: caa.status === 'True'};
    const certificate = await certify(operator, subject, gate, client, signal);
    const routeGate = {accepted: isAccepted, holds: claim.holds, certificateUsable: certificate.usable};
    const routed = await route(operator, subject, routeGate, client, signal);

    const findings = {
      steps: [accepted, proof.condition, claim.condition, caa, certificate.condition, routed],
      certificate,
      published: subject.published !== undefined || routed.status === 'True',
      handledRequest: handledRequest(operator, subject),
    };
    const wakeAtMs = await reporter.report(operator, subject, findings, client, signal);
    return wakeAt([...wakeAtMs, proof.wakeAtMs, certificate.wakeAtMs], subject.nowMs);
  };
}

/** A request is handled once DNS was checked for it; a plan without custom domains refuses it. */
function handledRequest({events}: Operator, {verifyRequest, check, account, domain}: Subject): string | undefined {
  const last = domain.status?.lastHandledVerifyRequest;
  if (!verifyRequest) return last;
  if (!account.plan.customDomains) {
    const note = `The verify request is refused: plan ${account.planName} has no custom domains. Checks go on by themselves.`;
    events.event(domain, 'Warning', 'PlanRequired', 'Verify', note);
    return verifyRequest;
  }
  return check?.request === verifyRequest ? verifyRequest : last;
}

function wakeAt(times: readonly (number | undefined)[], nowMs: number): Outcome {
  const next = Math.min(...times.flatMap(time => (time === undefined ? [] : [time])));
  return Number.isFinite(next) ? after(Math.max(next - nowMs, 1000)) : done();
}
