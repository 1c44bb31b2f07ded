/** Who has to act on a condition of a Domain, by its reason. docs/conditions.md says what to do. */
import type {DOMAIN_REASONS} from '../operator/domain/reasons.ts';

/**
 * - `owner`: the owner of the domain or the project, or the DNS provider on the owner's behalf.
 * - `platform`: the platform team.
 * - `either`: the owner or the platform team. The cause, which the message names, decides.
 * - `ca`: the certificate authority.
 * - `nobody`: nothing is to do, or Nameplate continues automatically.
 */
export type Actor = 'owner' | 'platform' | 'either' | 'ca' | 'nobody';

type Reason = (typeof DOMAIN_REASONS)[keyof typeof DOMAIN_REASONS][number];

const ACTORS: Readonly<Record<Reason, Actor>> = {
  Accepted: 'nobody',
  InvalidHost: 'owner',
  ReservedHost: 'owner',
  WildcardUnsupported: 'either',
  ProjectNotFound: 'owner',
  HostInOtherProject: 'owner',
  PlanRequired: 'owner',
  PlanLimitReached: 'owner',
  NoSuccessfulDeploy: 'owner',
  RedirectLoop: 'owner',
  RedirectChainTooLong: 'owner',
  RedirectTargetNotOurs: 'owner',
  RedirectStatusUnsupported: 'owner',
  Outdated: 'nobody',

  Verified: 'nobody',
  RecordMissing: 'owner',
  RecordMismatch: 'owner',
  ConflictingRecord: 'owner',
  ProofMissing: 'owner',
  Propagating: 'nobody',
  NameServersUnreachable: 'owner',
  DelegationBroken: 'owner',
  Bogus: 'owner',
  Drifted: 'owner',
  Checking: 'nobody',

  Claimed: 'nobody',
  HeldByAnotherAccount: 'owner',

  Allowed: 'nobody',
  NotChecked: 'nobody',
  Forbidden: 'owner',
  LookupFailed: 'owner',

  Issued: 'nobody',
  RenewalFailing: 'either',
  Expired: 'either',
  NotYetValid: 'platform',
  Issuing: 'ca',
  Overdue: 'either',
  Failed: 'either',
  OrderBudget: 'ca',
  WrongNames: 'platform',
  IssuerNotFound: 'platform',
  IssuerNotAllowed: 'either',
  IssuerNotReady: 'platform',
  CertManagerMissing: 'platform',
  CertManagerDown: 'platform',

  Serving: 'nobody',
  Redirecting: 'nobody',
  ServiceNotFound: 'owner',
  ServiceUnsuitable: 'owner',
  PortNotFound: 'owner',
  IngressClassNotFound: 'platform',
  GatewayNotFound: 'platform',
  GatewayUnsuitable: 'platform',
  TargetNotLive: 'nobody',
  NotAccepted: 'platform',

  Answering: 'nobody',
  NoAnswer: 'platform',
  WrongCertificate: 'platform',
  WrongRedirect: 'platform',
  WrongRoute: 'platform',
  EdgeUnreachable: 'platform',
  NotProbed: 'nobody',

  Refused: 'platform',
  Retrying: 'platform',
  Paused: 'either',
  Pending: 'nobody',
  Waiting: 'nobody',
};

/** Of a reason that only another version of the operator has, the message says who. */
export function actorOf(reason: string): Actor {
  const actors: Readonly<Record<string, Actor>> = ACTORS;
  return Object.hasOwn(actors, reason) ? (actors[reason] ?? 'either') : 'either';
}
