/**
 * The conditions of a Domain and their reasons. conditions.ts has the messages, except those about DNS, which
 * src/dns/verdict/explain.ts and caa.ts have, and those about probes, in src/probe/judge.ts.
 */
import {NO_BACKEND_REASONS} from '../edge/backend.ts';

/** The closed set of reasons of each condition, the good one first; docs/conditions.md explains each of them. */
export const DOMAIN_REASONS = {
  Accepted: [
    'Accepted',
    'InvalidHost',
    'ReservedHost',
    'WildcardUnsupported',
    'ProjectNotFound',
    'HostInOtherProject',
    'PlanRequired',
    'PlanLimitReached',
    'NoSuccessfulDeploy',
    'RedirectLoop',
    'RedirectChainTooLong',
    'RedirectTargetNotOurs',
    'RedirectStatusUnsupported',
    'Refused',
    'Outdated',
    'Paused',
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
  Claimed: ['Claimed', 'HeldByAnotherAccount', 'Refused', 'Retrying', 'Paused', 'Waiting'],
  CAAAllowed: ['Allowed', 'NotChecked', 'Forbidden', 'LookupFailed', 'Waiting'],
  CertificateReady: [
    'Issued',
    'RenewalFailing',
    'Expired',
    'NotYetValid',
    'Issuing',
    'Overdue',
    'Failed',
    'OrderBudget',
    'WrongNames',
    'IssuerNotFound',
    'IssuerNotAllowed',
    'IssuerNotReady',
    'CertManagerMissing',
    'CertManagerDown',
    'Refused',
    'Retrying',
    'Paused',
    'Waiting',
  ],
  Routed: [
    'Serving',
    'Redirecting',
    ...NO_BACKEND_REASONS,
    'TargetNotLive',
    'Pending',
    'NotAccepted',
    'Refused',
    'Retrying',
    'Paused',
    'Waiting',
  ],
  Probed: [
    'Answering',
    'Checking',
    'Pending',
    'NoAnswer',
    'WrongCertificate',
    'WrongRedirect',
    'WrongRoute',
    'EdgeUnreachable',
    'NotProbed',
    'Waiting',
  ],
} as const;

/** Its steps, and what they come to. */
export type DomainConditionType = keyof typeof DOMAIN_REASONS | 'Ready' | 'Reconciling' | 'Stalled';

type Reason<Type extends keyof typeof DOMAIN_REASONS> = (typeof DOMAIN_REASONS)[Type][number];

/** Why a redirect is refused. Redirects are checked last. */
export const REDIRECT_REASONS: ReadonlySet<string> = new Set<Reason<'Accepted'>>([
  'RedirectLoop',
  'RedirectChainTooLong',
  'RedirectTargetNotOurs',
  'RedirectStatusUnsupported',
]);

/** Only a person can fix these, in the spec or in the plan: the Domain is Stalled immediately. */
export const STALLED_AT_ONCE: ReadonlySet<string> = new Set<string>([
  ...([
    'InvalidHost',
    'ReservedHost',
    'WildcardUnsupported',
    'HostInOtherProject',
    'PlanRequired',
    'PlanLimitReached',
  ] satisfies Reason<'Accepted'>[]),
  ...REDIRECT_REASONS,
]);
