/**
 * Every condition of a Domain, with a message that says who must do what next. Conditions of a Domain are created only
 * here. The verdicts of DNS checks and of probes bring their own messages: see explain.ts and caa.ts in src/dns/verdict,
 * and src/probe/judge.ts.
 */
import {conditionBuilders, counted, type DecidedCondition, IN_NAMESPACE} from '../../api/conditions.ts';
import {objectNameOf} from '../../api/host-names.ts';
import {ANNOTATION, LABEL} from '../../api/names.ts';
import type {DnsReason} from '../../dns/dns.ts';
import {shellWord} from '../../operations/untrusted-text.ts';
import type {ProbeReason} from '../../probe/judge.ts';
import {explainNoBackend, type NoBackend} from '../edge/backend.ts';
import type {DesiredDomain} from '../kinds/project-hosts.ts';
import {explainPause, explainRefusal, explainRetrying, type Step} from '../kinds/steps.ts';
import {DOMAIN_REASONS, type DomainConditionType} from './reasons.ts';

export type DomainCondition = DecidedCondition<DomainConditionType> & {reason: string};

export type StepResult = Step<DomainCondition>;

/** How many hosts of a chain a message lists: a host has up to 253 characters. */
const MAX_LISTED_HOSTS = 4;

function listChain(path: readonly string[]): string {
  const rest = path.length - MAX_LISTED_HOSTS - 1;
  if (rest <= 0) return path.join(' -> ');
  return `${path.slice(0, MAX_LISTED_HOSTS).join(' -> ')} -> ... (${rest} more) -> ${path.at(-1)}`;
}

const {
  Accepted: accepted,
  DNSVerified: dnsVerified,
  Claimed: claimed,
  CAAAllowed: caaAllowed,
  CertificateReady: certificateReady,
  Routed: routed,
  Probed: probed,
} = conditionBuilders(DOMAIN_REASONS);

const IN_FORCE = ' Until then, its current spec applies.';

/** The spec that the Projects list instead. */
function explainChange(to: DesiredDomain | undefined): string {
  if (!to) return 'No Project lists this host anymore, so this Domain is to be deleted.';
  const {redirect, projectRef} = to.spec;
  const role = redirect ? `redirects it to ${redirect.to} with ${redirect.status}` : 'serves it';
  return `Project ${projectRef.name} lists this host and ${role}, which differs from the spec of this Domain.`;
}

export const Accepted = {
  refused: (to: DesiredDomain | undefined, message: string, isTrue: boolean) => {
    const what = to ? 'the change' : 'the deletion';
    const text = `${explainChange(to)} ${explainRefusal(what, message)}${IN_FORCE}`;
    return accepted(isTrue ? 'True' : 'False', 'Refused', text);
  },
  paused: (to: DesiredDomain, isTrue: boolean) => {
    const text = `${explainChange(to)} ${explainPause('the Domain')}${IN_FORCE}`;
    return accepted(isTrue ? 'True' : 'False', 'Paused', text);
  },
  outdated: (to: DesiredDomain | undefined, isContested: boolean, isTrue: boolean) => {
    const next = isContested
      ? 'Another program keeps changing or deleting the Domain, so Nameplate corrects it only from time to time. Change the Project instead, or ask the platform team to stop that program.'
      : 'Nameplate is changing it; no action needed.';
    return accepted(isTrue ? 'True' : 'False', 'Outdated', `${explainChange(to)} ${next}${IN_FORCE}`);
  },
  yes: (project: string) => accepted('True', 'Accepted', `The host belongs to Project ${project}.`),
  /** The account holds the host from before its plan changed. */
  yesDespitePlan: (project: string, plan: string, plans: readonly string[]) => {
    const message = `The host belongs to Project ${project}. Plan ${plan} does not include custom domains: Nameplate keeps serving this host and renewing its certificate, but it accepts no new hosts and no verify requests, and if you remove this host, you cannot add it again. To change that, upgrade the plan${plans.length > 0 ? ` (${plans.join(', ')})` : ''}.`;
    return accepted('True', 'Accepted', message);
  },
  invalidHost: (problem: string) =>
    accepted('False', 'InvalidHost', `This cannot be a custom domain: ${problem}. Remove it and add the correct host.`),
  reservedHost: (host: string, zone: string) =>
    accepted('False', 'ReservedHost', `${host} is reserved by the platform (${zone}). Use your own domain.`),
  wildcardUnsupported: (problem: string) => accepted('False', 'WildcardUnsupported', problem),
  projectNotFound: (namespace: string, project: string) => {
    const message = `There is no Project ${project} in namespace ${namespace}. Create it, or correct spec.projectRef.name. Nameplate will then continue automatically.`;
    return accepted('False', 'ProjectNotFound', message);
  },
  hostInOtherProject: (host: string, project: string) => {
    const message = `Project ${project}, which is older, also lists ${host}. Remove the host from one of the two Projects.`;
    return accepted('False', 'HostInOtherProject', message);
  },
  planRequired: (plan: string, plans: readonly string[]) => {
    const message = `Custom domains require a plan that allows them${plans.length > 0 ? ` (${plans.join(', ')})` : ''}; this namespace is on plan ${plan}. Upgrade the plan. Nameplate will continue automatically once the platform has set the namespace's label ${LABEL.plan}.`;
    return accepted('False', 'PlanRequired', message);
  },
  planLimitReached: (plan: string, limit: number) => {
    const full = limit > 0 ? ', and older ones use the whole limit. Remove one, or upgrade' : '. Upgrade';
    const message = `Plan ${plan} allows ${counted(limit, 'custom domain')} per account${full} the plan.`;
    return accepted('False', 'PlanLimitReached', message);
  },
  projectBeyondPlan: (project: string, plan: string, limit: number) => {
    const message = `Project ${project} has no place in the plan: plan ${plan} allows ${counted(limit, 'Project')} per account, and others use the whole limit. Delete another Project, or upgrade the plan. Nameplate will then set up this host; what is served already stays.`;
    return accepted('False', 'PlanLimitReached', message);
  },
  noSuccessfulDeploy: (project: string, service: string) => {
    const message = `Project ${project} has not been deployed yet: Service ${service} has never had a ready endpoint. Deploy it, and check its endpoints (kubectl get endpointslices ${IN_NAMESPACE} -l ${shellWord(`kubernetes.io/service-name=${service}`)}). Nameplate will then continue automatically.`;
    return accepted('False', 'NoSuccessfulDeploy', message);
  },
  redirectLoop: (path: readonly string[]) => {
    const message = `These redirects form a loop: ${listChain(path)}. Remove the redirect of one of these hosts, so that it serves the project.`;
    return accepted('False', 'RedirectLoop', message);
  },
  redirectChainTooLong: (path: readonly string[], limit: number) => {
    const message = `This chain has more than ${limit} redirects: ${listChain(path)}, and so on. Redirect ${path[0]} to a host that serves the project.`;
    return accepted('False', 'RedirectChainTooLong', message);
  },
  redirectTargetNotOurs: (to: string, project: string) => {
    const message = `The redirect points to ${to}, which is not a host of Project ${project}. Add ${to} to the Project, or redirect to one of its hosts.`;
    return accepted('False', 'RedirectTargetNotOurs', message);
  },
  redirectStatusUnsupported: (problem: string) => accepted('False', 'RedirectStatusUnsupported', problem),
} as const;

export const DnsVerified = {
  waiting: (on: string) => dnsVerified('Unknown', 'Waiting', `Waiting for ${on} before checking DNS.`),
  checking: (host: string) =>
    dnsVerified('Unknown', 'Checking', `The first DNS check of ${host} is in progress. No action needed.`),
  /** After a restart or a restore, the claim counts until the first check. */
  held: (host: string) =>
    dnsVerified('True', 'Verified', `${host} was verified when it was claimed. Nameplate is checking its DNS again.`),
  yes: (message: string) => dnsVerified('True', 'Verified', message),
  no: (reason: DnsReason, message: string) => dnsVerified(reason === 'Checking' ? 'Unknown' : 'False', reason, message),
  drifted: (since: string, message: string) =>
    dnsVerified('False', 'Drifted', `DNS has not pointed here since ${since}; the host is still served. ${message}`),
  /** The time that `drifted` was given, if the condition has its reason. */
  driftedSince: (last: {reason: string; message: string} | undefined) =>
    last?.reason === 'Drifted' ? /since (\S+);/.exec(last.message)?.[1] : undefined,
} as const;

export const Claimed = {
  waiting: () => claimed('Unknown', 'Waiting', 'Waiting for DNS to prove that this account owns the host.'),
  yes: (since: string) => claimed('True', 'Claimed', `This account has held the host since ${since}.`),
  heldByAnother: (host: string, record: string) => {
    const message = `Another account holds ${host}. If the domain is yours, change its DNS to ${record}. Nameplate will then move the host to this account.`;
    return claimed('False', 'HeldByAnotherAccount', message);
  },
  /** The check shows the right record, but not at every name server. */
  doubted: (host: string, doubt: string) => {
    const message = `Another account holds ${host}. Its DNS points to this account, but ${doubt} Nameplate will then move the host to this account.`;
    return claimed('False', 'HeldByAnotherAccount', message);
  },
  /** The check is older than the claim. */
  checkingAgain: (host: string) => {
    const message = `Another account holds ${host}. Its DNS points to this account; Nameplate is checking it once more before it moves the host. No action needed.`;
    return claimed('False', 'HeldByAnotherAccount', message);
  },
  otherAccountHere: (host: string, record: string) => {
    const message = `This namespace belonged to another account when the host was claimed; the host is still served. To keep it, change the DNS of ${host} to ${record}.`;
    return claimed('False', 'HeldByAnotherAccount', message);
  },
  heldBySibling: (host: string, namespace: string) => {
    const message = `Namespace ${namespace} of your account holds ${host}. Remove the Domain there (kubectl delete domain -n ${namespace} ${objectNameOf(host)}). Nameplate will then move the host here.`;
    return claimed('False', 'HeldByAnotherAccount', message);
  },
  refused: (message: string, holds: boolean) =>
    claimed(holds ? 'True' : 'Unknown', 'Refused', explainRefusal('the DomainClaim', message)),
  retrying: (message: string) => claimed('Unknown', 'Retrying', explainRetrying('the DomainClaim', message)),
  paused: (holds: boolean) => claimed(holds ? 'True' : 'Unknown', 'Paused', explainPause('the DomainClaim')),
  staleProof: (host: string, txtName: string, value: string) => {
    const message = `Another account holds ${host}, and its proof is still in DNS. If the domain is yours, delete the TXT record "${value}" of ${txtName}. Nameplate will then move the host to this account.`;
    return claimed('False', 'HeldByAnotherAccount', message);
  },
} as const;

export const CaaAllowed = {
  waiting: () =>
    caaAllowed('Unknown', 'Waiting', 'Waiting for DNS: CAA records are checked together with the other records.'),
  yes: (message: string) => caaAllowed('True', 'Allowed', message),
  notChecked: () => {
    const message =
      'CAA records are not checked, because the platform has not set the identities of its certificate authority (spec.caaIdentities of the ACMEIssuer). No action needed.';
    return caaAllowed('True', 'NotChecked', message);
  },
  forbidden: (message: string) => caaAllowed('False', 'Forbidden', message),
  lookupFailed: (message: string) => caaAllowed('False', 'LookupFailed', message),
} as const;

/** Requests a DNS check, and a new attempt. */
export const REVERIFY = (host: string) =>
  `kubectl annotate --overwrite domain ${IN_NAMESPACE} ${objectNameOf(host)} ${ANNOTATION.verifyRequestedAt}="$(date +%s)"`;

export const CertificateReady = {
  waiting: (on: string) => certificateReady('Unknown', 'Waiting', `Waiting for ${on} before requesting a certificate.`),
  issued: (until: string | undefined) => {
    const message = `The certificate is valid${until ? ` until ${until}` : ''}; renewal is automatic.`;
    return certificateReady('True', 'Issued', message);
  },
  renewalFailing: (until: string, why: string) => {
    const message = `The certificate is still valid until ${until}, but its renewal is failing: ${why}`;
    return certificateReady('True', 'RenewalFailing', message);
  },
  expired: (at: string, why: string) =>
    certificateReady('False', 'Expired', `The certificate expired at ${at}, so browsers reject it. ${why}`),
  notYetValid: (from: string) => {
    const message = `The certificate is not valid before ${from}, so browsers reject it. Ask the platform team to check the clocks of the certificate authority and of the nodes. Nameplate will continue automatically.`;
    return certificateReady('False', 'NotYetValid', message);
  },
  issuing: (progress: string) => {
    const message = `The certificate is being issued. This usually takes a couple of minutes.${progress}`;
    return certificateReady('False', 'Issuing', message);
  },
  /** `outage`: why nothing is issued now. */
  secretLost: (secret: string, progress: string, outage?: string) => {
    const next =
      outage ??
      'cert-manager will issue it again, usually within a couple of minutes. If it does not, ask the platform team to check cert-manager.';
    const message = `Secret ${secret} was deleted, so the host has no certificate at the edge. ${next}${progress}`;
    return certificateReady('False', 'Issuing', message);
  },
  overdue: (minutes: number, progress: string, again: string) => {
    const message = `No certificate after ${counted(minutes, 'minute')}.${progress} Check that the domain has no CAA record that forbids the certificate authority and that its DNS points here. To start a new attempt, ${again}`;
    return certificateReady('False', 'Overdue', message);
  },
  failed: (why: string, next: string | undefined, again: string) => {
    const message = `No certificate was issued: ${why}${next ? ` The next attempt is at ${next}.` : ''} Fix the cause (often DNS or a CAA record). To try again now, ${again}`;
    return certificateReady('False', 'Failed', message);
  },
  awaitsOrder: (why: string, next: string | undefined, progress: string) => {
    const message = `The certificate order is queued: ${why} No action needed; Nameplate will place the order ${next === undefined ? 'later' : `at ${next} or later`}.${progress}`;
    return certificateReady('False', 'OrderBudget', message);
  },
  wrongNames: (
    host: string,
    {kind, name}: {readonly kind: string; readonly name: string},
    names: string,
    isKept: boolean,
    again: string,
  ) => {
    const message = `${kind} ${name} issued a certificate for ${names} instead of for ${host} only. The edge would present that certificate for every name that it contains, ${isKept ? 'so Nameplate removes the route as soon as one of them may belong to somebody else' : 'so the host is not routed'}. The owner of this ${kind} must configure it to issue only the requested name. To start a new attempt then, ${again}`;
    return certificateReady('False', 'WrongNames', message);
  },
  issuerNotFound: (kind: string, name: string) => {
    const message = `The platform's issuer is missing: there is no ${kind} ${name}. The platform team must create it; Nameplate will then continue automatically.`;
    return certificateReady('False', 'IssuerNotFound', message);
  },
  issuerNotAllowed: (name: string, problem: string) => {
    const message = `Issuer ${name} in this namespace ${problem}. Change the Issuer, or ask the platform team whether it can list its server in config.certificates.tenantIssuers. Nameplate will then continue automatically.`;
    return certificateReady('False', 'IssuerNotAllowed', message);
  },
  refused: (message: string, usable: boolean, what = 'the Certificate') => {
    const note = usable ? ' Until then, the current certificate stays in use.' : '';
    return certificateReady(usable ? 'True' : 'False', 'Refused', explainRefusal(what, message) + note);
  },
  retrying: (message: string) => certificateReady('False', 'Retrying', explainRetrying('the Certificate', message)),
  paused: (usable: boolean) => certificateReady(usable ? 'True' : 'False', 'Paused', explainPause('the Certificate')),
  issuerNotReady: (why: string) => {
    const message = `${why} The platform team must fix it; Nameplate will then continue automatically.`;
    return certificateReady('False', 'IssuerNotReady', message);
  },
  certManagerDown: (why: string) => {
    const message = `${why} The platform team must start it; Nameplate will then continue automatically.`;
    return certificateReady('False', 'CertManagerDown', message);
  },
  certManagerMissing: () => {
    const message =
      'cert-manager is not installed in this cluster. The platform team must install it; Nameplate will then continue automatically.';
    return certificateReady('False', 'CertManagerMissing', message);
  },
} as const;

const KEPT = ' Until then, the current route stays in place.';

export const Routed = {
  waiting: (on: string, kept = false, note = '') =>
    routed('Unknown', 'Waiting', `Waiting for ${on} before routing the host.${note}${kept ? KEPT : ''}`),
  /** `note`: as of `Leaving`. */
  serving: (service: string, note: string) => routed('True', 'Serving', `Requests go to Service ${service}.${note}`),
  redirecting: (to: string, status: number, note: string) =>
    routed('True', 'Redirecting', `Requests are redirected to https://${to}/ with ${status}.${note}`),
  noBackend: (found: NoBackend, kept: boolean) => {
    const {reason, message} = explainNoBackend(found);
    return routed('False', reason, `${message}${kept ? KEPT : ''}`);
  },
  pending: (what: string) => {
    const message = `Waiting for the Gateway to accept ${what}. This usually takes a second. No action needed.`;
    return routed('Unknown', 'Pending', message);
  },
  notAccepted: (what: string, why: string) => {
    const message = `The Gateway does not accept ${what} (${why.replace(/[.\s]+$/, '')}). Ask the platform team to fix the cause; Nameplate will then continue automatically.`;
    return routed('False', 'NotAccepted', message);
  },
  refused: (message: string, kept: boolean) =>
    routed(kept ? 'True' : 'False', 'Refused', `${explainRefusal('the route', message)}${kept ? KEPT : ''}`),
  removalRefused: (message: string, kept: boolean) => {
    const what = 'the removal of the route or its certificate';
    return routed('False', 'Refused', `${explainRefusal(what, message)}${kept ? KEPT : ''}`);
  },
  /** Without the error, whose path names the namespace of the former holder. */
  formerRefused: () => {
    const message =
      "The API server rejected the removal of the former holder's route, so this host is not routed yet. Nameplate will retry. Ask the platform team to fix the cause; the operator's log names it.";
    return routed('False', 'Refused', message);
  },
  retrying: (message: string) => routed('False', 'Retrying', explainRetrying('the route', message)),
  paused: (kept: boolean) =>
    routed(kept ? 'True' : 'False', 'Paused', `${explainPause('the route')}${kept ? KEPT : ''}`),
  targetNotLive: (target: string, kept: boolean) => {
    const message = `Waiting for the target of the redirect to go live (kubectl describe domain ${IN_NAMESPACE} ${target}).${kept ? KEPT : ''}`;
    return routed('False', 'TargetNotLive', message);
  },
} as const;

export const Probed = {
  yes: (isProven: boolean, doubt = '') => {
    const answers = `The edge answers for the host with its certificate${isProven ? ' and its route' : ''}.`;
    const message = doubt === '' ? answers : `${answers} ${doubt}`;
    return probed('True', 'Answering', message);
  },
  waiting: () => probed('Unknown', 'Waiting', 'Waiting for the route before probing the host at the edge.'),
  checking: () => probed('Unknown', 'Checking', 'Nameplate will probe the host at the edge. No action needed.'),
  pending: () => {
    const message = 'Waiting for the edge to answer for the host. This usually takes a few seconds. No action needed.';
    return probed('False', 'Pending', message);
  },
  edgeUnreachable: () => {
    const message =
      'Nameplate cannot reach the edge, so it does not know whether the host is served. Platform team: check the edge and config.probes.addresses.';
    return probed('Unknown', 'EdgeUnreachable', message);
  },
  notProbed: () => {
    const message =
      'Hosts are not probed, because config.probes.enabled is false or the address of the edge is unknown. No action needed. Platform team: to probe hosts, set config.probes.enabled and config.probes.addresses.';
    return probed('Unknown', 'NotProbed', message);
  },
  no: (reason: ProbeReason, message: string) => {
    const next =
      'Nameplate keeps probing. Ask the platform team to check the edge, its certificate, and its routes for this host.';
    return probed('False', reason, `${message} ${next}`);
  },
} as const;

export const Ready = {
  yes: (message: string): DomainCondition => ({type: 'Ready', status: 'True', reason: 'Live', message}),
  no: (reason: string, message: string): DomainCondition => ({type: 'Ready', status: 'False', reason, message}),
} as const;

/** https://github.com/kubernetes-sigs/cli-utils/blob/master/pkg/kstatus/README.md: both are absent once all is done. */
const progress = (type: 'Reconciling' | 'Stalled') => {
  return (reason: string, message: string): DomainCondition => ({type, status: 'True', reason, message});
};
export const Reconciling = progress('Reconciling');
export const Stalled = progress('Stalled');
