/**
 * Every condition of a Domain: its closed set of reasons, and the message that says who must do what next.
 * No condition literal of a Domain stands anywhere else.
 */
import type {DecidedCondition} from '../../api/conditions.ts';
import {ANNOTATION, LABEL} from '../../api/names.ts';
import type {DnsReason} from '../../dns/dns.ts';
import type {ApiError} from '../../runtime/kube/errors.ts';
import {explainNoBackend, type NoBackend} from '../edge/backend.ts';

export type DomainConditionType =
  | 'Accepted'
  | 'DNSVerified'
  | 'Claimed'
  | 'CAAAllowed'
  | 'CertificateReady'
  | 'Routed'
  | 'Ready'
  | 'Reconciling'
  | 'Stalled';

/** The closed set of reasons of each condition, the good one first; docs/conditions.md explains every one. */
export const DOMAIN_REASONS = {
  Accepted: [
    'Accepted',
    'InvalidHost',
    'ReservedHost',
    'ProjectNotFound',
    'HostInOtherProject',
    'PlanRequired',
    'PlanLimitReached',
    'NoSuccessfulDeploy',
    'RedirectLoop',
    'RedirectChainTooLong',
    'RedirectTargetNotOurs',
    'RedirectStatusUnsupported',
  ],
  DNSVerified: [
    'Verified',
    'RecordMissing',
    'RecordMismatch',
    'ConflictingRecord',
    'ProofMissing',
    'Propagating',
    'NameServersUnreachable',
    'DelegationBroken',
    'Bogus',
    'Drifted',
    'Checking',
    'Waiting',
  ],
  Claimed: ['Claimed', 'HeldByAnotherAccount', 'Waiting'],
  CAAAllowed: ['Allowed', 'NotChecked', 'Forbidden', 'LookupFailed', 'Waiting'],
  CertificateReady: [
    'Issued',
    'RenewalFailing',
    'Issuing',
    'Overdue',
    'Failed',
    'RateLimited',
    'OrderBudget',
    'WrongNames',
    'IssuerNotFound',
    'IssuerNotAllowed',
    'CertManagerMissing',
    'Refused',
    'Waiting',
  ],
  Routed: [
    'Serving',
    'Redirecting',
    'ServiceNotFound',
    'ServiceWithoutSelector',
    'PortNotFound',
    'IngressClassNotFound',
    'TargetNotLive',
    'Refused',
    'Waiting',
  ],
} as const;

type Reason<Type extends keyof typeof DOMAIN_REASONS> = (typeof DOMAIN_REASONS)[Type][number];

export type DomainCondition = DecidedCondition<DomainConditionType> & {reason: string};

/** What a step of the reconcile decided. */
export interface StepResult {
  readonly condition: DomainCondition;
  /** When the step must run again although nothing changes. */
  readonly wakeAtMs?: number;
  /** The API server refused what the step wrote. */
  readonly refusal?: ApiError;
}

/** What only a person can mend, in the spec or in the plan: Stalled at once. */
export const STALLED_AT_ONCE: ReadonlySet<string> = new Set<Reason<'Accepted'>>([
  'InvalidHost',
  'ReservedHost',
  'HostInOtherProject',
  'PlanRequired',
  'PlanLimitReached',
  'RedirectLoop',
  'RedirectChainTooLong',
  'RedirectTargetNotOurs',
  'RedirectStatusUnsupported',
]);

/** Why a redirect is refused. All other checks come before this one. */
export const REDIRECT_REASONS: ReadonlySet<string> = new Set<Reason<'Accepted'>>([
  'RedirectLoop',
  'RedirectChainTooLong',
  'RedirectTargetNotOurs',
  'RedirectStatusUnsupported',
]);

/** How many hosts of a chain the message names: a host has up to 253 characters. */
const MAX_LISTED_HOSTS = 4;

function listChain(path: readonly string[]): string {
  const rest = path.length - MAX_LISTED_HOSTS - 1;
  if (rest <= 0) return path.join(' -> ');
  return `${path.slice(0, MAX_LISTED_HOSTS).join(' -> ')} -> ... (${rest} more) -> ${path.at(-1)}`;
}

function condition<Type extends keyof typeof DOMAIN_REASONS>(type: Type) {
  return (status: 'True' | 'False' | 'Unknown', reason: Reason<Type>, message: string): DomainCondition => ({
    type,
    status,
    reason,
    message,
  });
}

const accepted = condition('Accepted');
const dnsVerified = condition('DNSVerified');
const claimed = condition('Claimed');
const caaAllowed = condition('CAAAllowed');
const certificateReady = condition('CertificateReady');
const routed = condition('Routed');

export const Accepted = {
  yes: (project: string) => accepted('True', 'Accepted', `The host belongs to Project ${project}.`),
  invalidHost: (problem: string) =>
    accepted('False', 'InvalidHost', `This cannot be a custom domain: ${problem}. Remove it and add the right host.`),
  reservedHost: (host: string, zone: string) =>
    accepted('False', 'ReservedHost', `${host} is reserved by the platform (${zone}). Use a domain of your own.`),
  projectNotFound: (namespace: string, project: string) =>
    accepted(
      'False',
      'ProjectNotFound',
      `There is no Project ${project} in namespace ${namespace}. Create it, or correct spec.projectRef.name; this goes on by itself then.`,
    ),
  hostInOtherProject: (host: string, project: string) =>
    accepted(
      'False',
      'HostInOtherProject',
      `Project ${project}, which is older, lists ${host} too. Take the host out of one of the two Projects.`,
    ),
  planRequired: (plan: string, plans: readonly string[]) =>
    accepted(
      'False',
      'PlanRequired',
      `Custom domains need a paid plan${plans.length > 0 ? ` (${plans.join(', ')})` : ''}; this namespace is on plan ${plan}. Upgrade the plan: the platform then sets the namespace's label ${LABEL.plan}, and this goes on by itself.`,
    ),
  planLimitReached: (plan: string, limit: number) =>
    accepted(
      'False',
      'PlanLimitReached',
      `Plan ${plan} allows ${limit} custom domains in an account, and ${limit} older ones are in use. Remove one, or upgrade the plan.`,
    ),
  noSuccessfulDeploy: (project: string, service: string) =>
    accepted(
      'False',
      'NoSuccessfulDeploy',
      `Project ${project} has not been deployed yet: Service ${service} has never had a ready endpoint. Deploy it (kubectl get endpointslices -l kubernetes.io/service-name=${service}); this goes on by itself then.`,
    ),
  redirectLoop: (path: readonly string[]) =>
    accepted(
      'False',
      'RedirectLoop',
      `These redirects form a loop: ${listChain(path)}. Let one of these hosts serve the project.`,
    ),
  redirectChainTooLong: (path: readonly string[], limit: number) =>
    accepted(
      'False',
      'RedirectChainTooLong',
      `More than ${limit} redirects follow one another: ${listChain(path)}, and so on. Redirect ${path[0]} to a host that serves the project.`,
    ),
  redirectTargetNotOurs: (to: string, project: string) =>
    accepted(
      'False',
      'RedirectTargetNotOurs',
      `The redirect leads to ${to}, which is not a host of Project ${project}. Add ${to} to the Project, or redirect to one of its hosts.`,
    ),
  redirectStatusUnsupported: (problem: string) => accepted('False', 'RedirectStatusUnsupported', problem),
} as const;

export const DnsVerified = {
  waiting: (on: string) => dnsVerified('Unknown', 'Waiting', `Not checked: waits for ${on}.`),
  checking: (host: string) =>
    dnsVerified('Unknown', 'Checking', `The DNS of ${host} is being checked for the first time.`),
  /** After a restart or a restore, before the first check, what the claim says holds. */
  held: (host: string) =>
    dnsVerified('True', 'Verified', `The proof for ${host} held when the host was claimed; it is being checked again.`),
  yes: (message: string) => dnsVerified('True', 'Verified', message),
  no: (reason: DnsReason, message: string) => dnsVerified('False', reason, message),
  drifted: (since: string, message: string) =>
    dnsVerified('False', 'Drifted', `DNS no longer leads here since ${since}; the host is still served. ${message}`),
} as const;

export const Claimed = {
  waiting: () => claimed('Unknown', 'Waiting', 'The host is claimed for this account as soon as its DNS proves it.'),
  yes: (since: string) => claimed('True', 'Claimed', `This account holds the host since ${since}.`),
  heldByAnother: (host: string, record: string) =>
    claimed(
      'False',
      'HeldByAnotherAccount',
      `Another account holds ${host}. If the domain is yours, make this its record at your DNS provider, and the host moves here: ${record}.`,
    ),
  otherAccountHere: (host: string, record: string) =>
    claimed(
      'False',
      'HeldByAnotherAccount',
      `The host was claimed when this namespace belonged to another account, and is served as before. To keep it, make this the record of ${host} at your DNS provider: ${record}.`,
    ),
  heldBySibling: (host: string, namespace: string) =>
    claimed(
      'False',
      'HeldByAnotherAccount',
      `Namespace ${namespace} of your own account holds ${host}. Remove the Domain there (kubectl delete domain -n ${namespace} ${host}), and the host moves here.`,
    ),
  staleProof: (host: string, txtName: string, value: string) =>
    claimed(
      'False',
      'HeldByAnotherAccount',
      `Another account holds ${host}, and its proof still stands. If the domain is yours, delete the TXT record "${value}" of ${txtName}, and the host moves here.`,
    ),
} as const;

export const CaaAllowed = {
  waiting: () => caaAllowed('Unknown', 'Waiting', 'CAA records are checked together with DNS.'),
  yes: (message: string) => caaAllowed('True', 'Allowed', message),
  notChecked: () =>
    caaAllowed(
      'True',
      'NotChecked',
      'CAA is not checked: the platform has not configured the CA identities of its issuer.',
    ),
  forbidden: (message: string) => caaAllowed('False', 'Forbidden', message),
  lookupFailed: (message: string) => caaAllowed('False', 'LookupFailed', message),
} as const;

const REVERIFY = (host: string) =>
  `kubectl annotate --overwrite domain ${host} ${ANNOTATION.verifyRequestedAt}="$(date +%s)"`;

export const CertificateReady = {
  waiting: (on: string) => certificateReady('Unknown', 'Waiting', `No certificate is asked for yet: waits for ${on}.`),
  waitingForWithdrawal: () =>
    certificateReady(
      'Unknown',
      'Waiting',
      'Waiting, for a minute at most, until the certificate request of the former holder is withdrawn. No action needed.',
    ),
  waitingForRecord: () =>
    certificateReady(
      'Unknown',
      'Waiting',
      'Waiting until Nameplate has recorded the host for its namespace. No action needed.',
    ),
  issued: (notAfter: string | undefined) =>
    certificateReady(
      'True',
      'Issued',
      `The certificate is valid${notAfter ? ` until ${notAfter}` : ''}; renewal is automatic.`,
    ),
  renewalFailing: (host: string, notAfter: string | undefined, why: string) =>
    certificateReady(
      'True',
      'RenewalFailing',
      `The certificate is still valid${notAfter ? ` until ${notAfter}` : ''}, but its renewal fails: ${why} Mend the cause, then: ${REVERIFY(host)}`,
    ),
  issuing: (progress: string) =>
    certificateReady(
      'False',
      'Issuing',
      `The certificate is being issued, usually within a couple of minutes.${progress}`,
    ),
  overdue: (host: string, minutes: number, progress: string) =>
    certificateReady(
      'False',
      'Overdue',
      `No certificate after ${minutes} minutes.${progress} Check that the domain has no CAA record that forbids the certificate authority and that its DNS leads here, then ask for a fresh attempt: ${REVERIFY(host)}`,
    ),
  failed: (host: string, why: string, next: string | undefined) =>
    certificateReady(
      'False',
      'Failed',
      `The certificate authority refused: ${why}${next ? ` The next attempt is made at ${next}.` : ''} Mend the cause (often DNS or a CAA record), then ask for one now: ${REVERIFY(host)}`,
    ),
  rateLimited: (why: string, next: string | undefined) =>
    certificateReady(
      'False',
      'RateLimited',
      `${why}${next ? ` The next attempt is possible at ${next}.` : ''} Mend the cause of the failures meanwhile.`,
    ),
  awaitsOrder: (why: string, next: string) =>
    certificateReady(
      'False',
      'OrderBudget',
      `The certificate waits for its turn: ${why} Nothing needs to be done: it is ordered by itself, not before ${next}.`,
    ),
  wrongNames: (host: string, {kind, name}: {readonly kind: string; readonly name: string}, names: string) =>
    certificateReady(
      'False',
      'WrongNames',
      `The certificate that ${kind} ${name} issued is for ${names}, and not for ${host} alone; the ingress would show it for whatever it names, so the host is not routed. Whoever runs this ${kind} must let it issue what it is asked for; then ask for a fresh attempt: ${REVERIFY(host)}`,
    ),
  issuerNotFound: (kind: string, name: string) =>
    certificateReady(
      'False',
      'IssuerNotFound',
      `The platform's issuer is missing: there is no ${kind} ${name}. The platform team must create it; this goes on by itself then.`,
    ),
  issuerNotAllowed: (name: string, problem: string) =>
    certificateReady(
      'False',
      'IssuerNotAllowed',
      `Issuer ${name} in this namespace ${problem}. Change it to a server that the platform lists, or ask the platform team to list its server in config.certificates.tenantIssuers. Nameplate then continues automatically.`,
    ),
  refused: (message: string) => certificateReady('False', 'Refused', refusal('the Certificate', message)),
  certManagerMissing: () =>
    certificateReady(
      'False',
      'CertManagerMissing',
      'cert-manager is not installed in this cluster. The platform team must install it; this goes on by itself then.',
    ),
} as const;

/** A quota, a policy, a webhook that is down, or a kind that is not installed. */
function refusal(what: string, message: string): string {
  return `The API server refused ${what}: ${message.replace(/[.\s]+$/, '')}. It is tried again; the platform team can mend what it names.`;
}

const KEPT = ' What was published before stays until then.';

export const Routed = {
  waiting: (on: string) => routed('Unknown', 'Waiting', `Not routed yet: waits for ${on}.`),
  serving: (service: string) => routed('True', 'Serving', `Requests go to Service ${service}.`),
  redirecting: (to: string, status: number) =>
    routed('True', 'Redirecting', `Requests are redirected to https://${to}/ with ${status}.`),
  noBackend: (found: NoBackend, kept: boolean) => {
    const {reason, message} = explainNoBackend(found);
    return routed('False', reason, `${message}${kept ? KEPT : ''}`);
  },
  refused: (message: string) => routed('False', 'Refused', refusal('the route', message)),
  targetNotLive: (target: string, kept: boolean) =>
    routed(
      'False',
      'TargetNotLive',
      `The redirect is published once its target is live: kubectl describe domain ${target}.${kept ? KEPT : ''}`,
    ),
} as const;

export const Ready = {
  yes: (message: string): DomainCondition => ({type: 'Ready', status: 'True', reason: 'Live', message}),
  no: (reason: string, message: string): DomainCondition => ({type: 'Ready', status: 'False', reason, message}),
} as const;

/** https://github.com/kubernetes-sigs/cli-utils/blob/master/pkg/kstatus/README.md: both are absent once all is done. */
export const Reconciling = (reason: string, message: string): DomainCondition => ({
  type: 'Reconciling',
  status: 'True',
  reason,
  message,
});
export const Stalled = (reason: string, message: string): DomainCondition => ({
  type: 'Stalled',
  status: 'True',
  reason,
  message,
});
