/** The life of a Domain: proof, claim, CAA, certificate, route; then one report. */
import {isDeepStrictEqual} from 'node:util';
import type {Reconcile} from '../../runtime/controller/controller.ts';
import {after, done, type Outcome, retry} from '../../runtime/controller/outcome.ts';
import type {KubeClient} from '../../runtime/kube/client.ts';
import {ApiError, isConflict} from '../../runtime/kube/errors.ts';
import {deleteRoutes} from '../edge/publish.ts';
import {certifiedBy} from '../issuance/certificate.ts';
import {routeKeyOf} from '../model/derived-names.ts';
import {desiredDomain, isManaged} from '../model/project-hosts.ts';
import type {Operator} from '../state/context.ts';
import {isTerminating} from '../state/stores.ts';
import {accept} from './accept.ts';
import {checkCaa} from './caa.ts';
import type {CertificateResult} from './certificate-waits.ts';
import {certify} from './certify.ts';
import {type ClaimResult, claimHost} from './claim.ts';
import {CertificateReady, Routed} from './conditions.ts';
import {Reporter} from './report.ts';
import {type RouteResult, route} from './route.ts';
import {finalize, unpublish} from './unpublish.ts';
import {verifyDns} from './verify.ts';
import {type DomainView, viewOf} from './view.ts';

/** Keys are "namespace/host", of Domains that exist and of those that left something behind. */
export function reconcileDomain(operator: Operator): Reconcile {
  const reporter = new Reporter();
  return async (key, {client, signal}) => {
    const {domains} = operator.stores;
    if (domains.state !== 'synced') return after(1000); // without its kind, a Domain that is not seen is not gone
    const domain = domains.get(key);
    if (
      !domain ||
      domain.metadata.deletionTimestamp ||
      isTerminating(operator.stores, domain.metadata.namespace ?? '')
    ) {
      reporter.forget(key);
      await finalize(operator, key, client, signal);
      return done();
    }
    const found = viewOf(operator, domain);
    if (!found || isAboutToChange(operator, domain)) return done();

    const accepted = accept(operator, found);
    const isAccepted = accepted.status === 'True';
    const proof = verifyDns(operator, found, isAccepted);
    const claim = await claimHost(operator, found, isAccepted && proof.proved, client, signal);
    const view = await dropForeignRoute(operator, found, claim, client, signal);
    const caa = checkCaa(view);
    const gate = {holds: claim.holds, proved: isAccepted && proof.proved, caaAllowed: caa.status === 'True'};
    const refusals: ApiError[] = [];
    const certificate = await certify(operator, view, gate, client, signal).catch(
      (error): CertificateResult => ({
        condition: CertificateReady.refused(refusedBy(error, refusals)),
        usable: false,
      }),
    );
    const routeGate = {accepted: isAccepted, holds: claim.holds, certificateUsable: certificate.usable};
    const routed = await route(operator, view, routeGate, client, signal).catch(
      (error): RouteResult => ({condition: Routed.refused(refusedBy(error, refusals))}),
    );

    const findings = {
      steps: [accepted, proof.condition, claim.condition, caa, certificate.condition, routed.condition],
      certificate,
      published: view.published !== undefined || routed.condition.status === 'True',
      handledRequest: handledRequest(operator, view),
    };
    const wakeAtMs = await reporter.report(operator, view, findings, client, signal);
    if (refusals[0]) return retry(refusals[0]);
    return wakeAt([...wakeAtMs, proof.wakeAtMs, certificate.wakeAtMs, routed.wakeAtMs], view.nowMs);
  };
}

/** What was published must go when another account has the host, or when the ingress would show its certificate for others. */
async function dropForeignRoute(
  operator: Operator,
  view: DomainView,
  {lost}: ClaimResult,
  client: KubeClient,
  signal: AbortSignal,
): Promise<DomainView> {
  const {key, secret, host} = view;
  if (lost) {
    await unpublish(operator, key, client, signal);
    return {...view, published: undefined, certificate: undefined};
  }
  if (certifiedBy(secret, host).kind !== 'others') return view;
  await deleteRoutes(operator, routeKeyOf(key), client, signal);
  return {...view, published: undefined};
}

/** A managed Domain that its Projects no longer want, or want otherwise, is changed in a moment: judging it now misleads. */
function isAboutToChange({stores, places}: Operator, domain: DomainView['domain']): boolean {
  if (!isManaged(domain) || stores.projects.state !== 'synced') return false;
  const {namespace, name} = domain.metadata;
  const desired = desiredDomain(domain.spec.host, places.listing(`${namespace}/${name}`));
  return !isDeepStrictEqual(desired?.spec, domain.spec);
}

/** What the API server refuses becomes a condition, and is tried again; anything else is unexpected. */
function refusedBy(error: unknown, refusals: ApiError[]): string {
  if (!(error instanceof ApiError) || isConflict(error)) throw error;
  refusals.push(error);
  return error.message;
}

/** A request is handled once DNS was checked for it; a plan without custom domains refuses it. */
function handledRequest({events}: Operator, {verifyRequest, check, account, domain}: DomainView): string | undefined {
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
