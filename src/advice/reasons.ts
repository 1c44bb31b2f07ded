/** Who has to act on a condition, by its kind and reason. docs/conditions.md says what to do. */
import type {API_KEY_REASONS} from '../operator/apikey/conditions.ts';
import type {DOMAIN_REASONS} from '../operator/domain/reasons.ts';
import type {ISSUER_REASONS} from '../operator/issuer/conditions.ts';
import type {PROJECT_REASONS} from '../operator/project/conditions.ts';

/**
 * - `owner`: the owner of the domain or the project, or the DNS provider on the owner's behalf.
 * - `platform`: the platform team.
 * - `either`: the owner or the platform team. The cause, which the message names, decides.
 * - `ca`: the certificate authority.
 * - `nobody`: nothing is to do, or Nameplate continues automatically.
 */
export type Actor = 'owner' | 'platform' | 'either' | 'ca' | 'nobody';

type ReasonOf<T extends Readonly<Record<string, readonly string[]>>> = T[keyof T][number];

const DOMAIN: Readonly<Record<ReasonOf<typeof DOMAIN_REASONS>, Actor>> = {
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

const PROJECT: Readonly<Record<ReasonOf<typeof PROJECT_REASONS>, Actor>> = {
  Published: 'nobody',
  PlanLimitReached: 'owner',
  ServiceNotFound: 'owner',
  ServiceUnsuitable: 'owner',
  PortNotFound: 'owner',
  IngressClassNotFound: 'platform',
  GatewayNotFound: 'platform',
  GatewayUnsuitable: 'platform',
  RoutePending: 'nobody',
  RouteNotAccepted: 'platform',
  CertificateNotReady: 'platform',
  CertificateFailed: 'platform',
  CertificateExpired: 'platform',
  RenewalFailing: 'platform',
  CertManagerMissing: 'platform',
  Refused: 'platform',
  Retrying: 'platform',
  Paused: 'either',

  Deployed: 'nobody',
  NoReadyEndpoint: 'owner',

  AllLive: 'nobody',
  NoDomains: 'nobody',
  WaitingForDomains: 'owner',
  HostInOtherProject: 'owner',
  HostInOtherDomain: 'owner',
};

const API_KEY: Readonly<Record<ReasonOf<typeof API_KEY_REASONS>, Actor>> = {
  Active: 'nobody',
  Rotating: 'owner',
  Revoked: 'nobody',
  Expired: 'nobody',
  NotIssued: 'owner',

  Issued: 'nobody',
  SecretConflict: 'owner',
  SecretInvalid: 'owner',
  KeyInUse: 'owner',
  PlanLimitReached: 'owner',
  Refused: 'platform',
  Retrying: 'platform',
  Paused: 'platform',
};

const ISSUER: Readonly<Record<ReasonOf<typeof ISSUER_REASONS>, Actor>> = {
  AccountReady: 'nobody',
  ChangingKey: 'nobody',
  KeyChangeRefused: 'platform',
  ChallengesUnanswered: 'platform',
  CaUnreachable: 'platform',
  AccountRefused: 'platform',
  AccountKeyMissing: 'platform',
  BindingMissing: 'platform',
  NotConfigured: 'platform',

  Answering: 'nobody',
  NotAnswering: 'platform',
  Unknown: 'nobody',
};

/** Every reason of each kind. */
export const ACTORS_BY_REASON = {Domain: DOMAIN, Project: PROJECT, APIKey: API_KEY, ACMEIssuer: ISSUER} as const;

/** Of a reason that only another version of the operator has, the message says who. */
export function actorOf(kind: keyof typeof ACTORS_BY_REASON, reason: string): Actor {
  const actors: Readonly<Record<string, Actor>> = ACTORS_BY_REASON[kind];
  return Object.hasOwn(actors, reason) ? (actors[reason] ?? 'either') : 'either';
}
