/** An object of every kind in every state, as the operator's own code reports it, and what other tools must make of it. */
import {
  type Condition,
  conditionBuilders,
  type DecidedCondition,
  settleConditions,
} from '../../../src/api/conditions.ts';
import {API_VERSION} from '../../../src/api/names.ts';
import {API_KEY_REASONS, progressOfKey} from '../../../src/operator/apikey/conditions.ts';
import type {DomainCondition} from '../../../src/operator/domain/conditions.ts';
import {progressOf, readyOf, stateOf} from '../../../src/operator/domain/summary.ts';
import {DOMAIN_REASONS} from '../../../src/operator/model/domain-reasons.ts';
import {PROJECT_REASONS, progressOfProject} from '../../../src/operator/project/conditions.ts';

type Health = 'Healthy' | 'Progressing' | 'Suspended' | 'Degraded';
type KStatus = 'Current' | 'InProgress' | 'Failed';

export interface State {
  readonly name: string;
  readonly object: {readonly kind: string; readonly [field: string]: unknown};
  /** Argo CD's health. */
  readonly argo: Health;
  readonly kstatus: KStatus;
}

export const REASONS = {Domain: DOMAIN_REASONS, Project: PROJECT_REASONS, APIKey: API_KEY_REASONS};
const GENERATION = 2;
const NOW = Date.parse('2026-06-01T00:00:00Z');
const PROPAGATION_SECONDS = 172_800;

type Kind = keyof typeof REASONS;

const spec = {
  Domain: {projectRef: {name: 'shop'}},
  Project: {service: {name: 'shop', port: 80}, domains: {primary: 'shop.example.com'}},
  APIKey: {scopes: ['messages:write']},
};
const objectName = {Domain: 'shop.example.com', Project: 'shop', APIKey: 'shop'};

function objectOf(kind: Kind, status: object | undefined): State['object'] {
  const metadata = {name: objectName[kind], namespace: 'acme-shop', generation: GENERATION};
  return {apiVersion: API_VERSION, kind, metadata, spec: spec[kind], ...(status && {status})};
}

function settled(conditions: readonly DecidedCondition[], generation = GENERATION): Condition[] {
  return settleConditions(undefined, conditions, generation, NOW);
}

/** What the operator has not reported on yet. */
function unseen(kind: Kind): State[] {
  const old = settled([{type: 'Ready', status: 'True', reason: 'Old', message: 'Of the last generation.'}], 1);
  const row = {argo: 'Progressing', kstatus: 'InProgress'} as const;
  return [
    {name: `${kind} new`, object: objectOf(kind, {observedGeneration: -1}), ...row},
    {name: `${kind} changed`, object: objectOf(kind, {observedGeneration: 1, conditions: old}), ...row},
  ];
}

type Steps = typeof DOMAIN_REASONS;
type Step = keyof Steps;
type DomainRow = {
  [T in Step]: readonly [T, Condition['status'], readonly Steps[T][number][], Health, KStatus, ('served' | 'late')?];
}[Step];

/** `served`: the host had a route before. `late`: it has waited for longer than DNS may take to propagate. */
const domainRows: readonly DomainRow[] = [
  ['Accepted', 'True', ['Accepted'], 'Healthy', 'Current'],
  ['Accepted', 'False', ['InvalidHost', 'ReservedHost', 'HostInOtherProject', 'RemovalHeld'], 'Degraded', 'Failed'],
  ['Accepted', 'False', ['PlanRequired', 'PlanLimitReached'], 'Degraded', 'Failed'],
  ['Accepted', 'False', ['RedirectLoop', 'RedirectChainTooLong'], 'Degraded', 'Failed'],
  ['Accepted', 'False', ['RedirectTargetNotOurs', 'RedirectStatusUnsupported'], 'Degraded', 'Failed'],
  ['Accepted', 'False', ['ProjectNotFound', 'NoSuccessfulDeploy'], 'Progressing', 'InProgress'],
  ['DNSVerified', 'True', ['Verified'], 'Healthy', 'Current'],
  ['DNSVerified', 'Unknown', ['Checking', 'Waiting'], 'Progressing', 'InProgress'],
  ['DNSVerified', 'False', ['RecordMissing', 'RecordMismatch', 'ConflictingRecord'], 'Suspended', 'InProgress'],
  ['DNSVerified', 'False', ['ProofMissing', 'Propagating', 'NameServersUnreachable'], 'Suspended', 'InProgress'],
  ['DNSVerified', 'False', ['DelegationBroken', 'Bogus'], 'Suspended', 'InProgress'],
  ['DNSVerified', 'False', ['RecordMissing'], 'Degraded', 'Failed', 'late'],
  ['DNSVerified', 'False', ['Drifted'], 'Degraded', 'Current', 'served'],
  ['Claimed', 'True', ['Claimed'], 'Healthy', 'Current'],
  ['Claimed', 'True', ['Refused'], 'Degraded', 'InProgress', 'served'],
  ['Claimed', 'Unknown', ['Refused'], 'Degraded', 'InProgress'],
  ['Claimed', 'True', ['Paused'], 'Suspended', 'InProgress', 'served'],
  ['Claimed', 'Unknown', ['Paused'], 'Suspended', 'InProgress'],
  ['Claimed', 'Unknown', ['Retrying', 'Waiting'], 'Progressing', 'InProgress'],
  ['Claimed', 'False', ['HeldByAnotherAccount'], 'Suspended', 'InProgress'],
  ['Claimed', 'False', ['HeldByAnotherAccount'], 'Degraded', 'InProgress', 'served'],
  ['CAAAllowed', 'True', ['Allowed', 'NotChecked'], 'Healthy', 'Current'],
  ['CAAAllowed', 'Unknown', ['Waiting'], 'Progressing', 'InProgress'],
  ['CAAAllowed', 'False', ['Forbidden', 'LookupFailed'], 'Suspended', 'InProgress'],
  ['CAAAllowed', 'False', ['Forbidden'], 'Degraded', 'Current', 'served'],
  ['CertificateReady', 'True', ['Issued'], 'Healthy', 'Current'],
  ['CertificateReady', 'True', ['RenewalFailing'], 'Degraded', 'Current', 'served'],
  ['CertificateReady', 'True', ['Refused'], 'Degraded', 'InProgress', 'served'],
  ['CertificateReady', 'True', ['Paused'], 'Suspended', 'InProgress', 'served'],
  ['CertificateReady', 'False', ['Paused'], 'Suspended', 'InProgress'],
  ['CertificateReady', 'Unknown', ['Waiting'], 'Progressing', 'InProgress'],
  ['CertificateReady', 'False', ['Issuing', 'OrderBudget', 'Retrying'], 'Progressing', 'InProgress'],
  ['CertificateReady', 'False', ['IssuerNotFound', 'CertManagerMissing'], 'Progressing', 'InProgress'],
  ['CertificateReady', 'False', ['Overdue', 'Failed', 'RateLimited'], 'Degraded', 'InProgress'],
  ['CertificateReady', 'False', ['WrongNames', 'IssuerNotAllowed', 'Refused'], 'Degraded', 'InProgress'],
  ['Routed', 'True', ['Serving', 'Redirecting'], 'Healthy', 'Current'],
  ['Routed', 'True', ['Refused'], 'Degraded', 'InProgress', 'served'],
  ['Routed', 'True', ['RemovalHeld'], 'Degraded', 'InProgress', 'served'],
  ['Routed', 'True', ['Paused'], 'Suspended', 'InProgress', 'served'],
  ['Routed', 'False', ['Paused'], 'Suspended', 'InProgress'],
  ['Routed', 'Unknown', ['Waiting', 'Pending'], 'Progressing', 'InProgress'],
  ['Routed', 'False', ['ServiceNotFound', 'PortNotFound', 'TargetNotLive'], 'Progressing', 'InProgress'],
  ['Routed', 'False', ['IngressClassNotFound', 'GatewayNotFound', 'Retrying'], 'Progressing', 'InProgress'],
  ['Routed', 'False', ['ServiceNotFound'], 'Degraded', 'InProgress', 'served'],
  ['Routed', 'False', ['ServiceWithoutSelector', 'GatewayUnsuitable'], 'Degraded', 'InProgress'],
  ['Routed', 'False', ['NotAccepted', 'Refused'], 'Degraded', 'InProgress'],
  ['Probed', 'True', ['Answering'], 'Healthy', 'Current'],
  ['Probed', 'Unknown', ['Checking', 'EdgeUnreachable', 'NotProbed', 'Waiting'], 'Healthy', 'Current'],
  ['Probed', 'False', ['Pending'], 'Progressing', 'InProgress'],
  ['Probed', 'False', ['NoAnswer', 'WrongCertificate', 'WrongRedirect', 'WrongRoute'], 'Degraded', 'InProgress'],
];

function domainStates(): State[] {
  return domainRows.flatMap(([type, status, reasons, argo, kstatus, special]) =>
    reasons.map(reason => {
      const name = [`Domain ${type}`, status, reason, special].filter(Boolean).join(' ');
      const step = {type, status, reason, message: `${reason}.`};
      return {name, object: objectOf('Domain', domainStatus(step, special)), argo, kstatus};
    }),
  );
}

/** The steps before it are done. Those after it wait, unless it lets them continue. */
function domainStatus(step: DomainCondition, special: 'served' | 'late' | undefined): object {
  const types = Object.keys(DOMAIN_REASONS) as Step[];
  const at = types.indexOf(step.type as Step);
  const continues = step.status === 'True' || special === 'served';
  const steps = types.map((type, index): DomainCondition => {
    if (index === at) return step;
    if (type === 'CertificateReady' && step.type === 'Routed' && step.reason === 'RemovalHeld') {
      return {type, status: 'False', reason: 'WrongNames', message: 'WrongNames.'};
    }
    if (index < at || continues) return {type, status: 'True', reason: DOMAIN_REASONS[type][0], message: 'Done.'};
    return {type, status: 'Unknown', reason: 'Waiting', message: `Waiting for ${step.type}.`};
  });
  const ready = readyOf(steps);
  const options = {generation: GENERATION, propagationSeconds: PROPAGATION_SECONDS, nowMs: NOW};
  const since = NOW - (special === 'late' ? PROPAGATION_SECONDS : 0) * 1000;
  const [before] = settleConditions(undefined, [{...ready, type: 'Reconciling', status: 'True'}], GENERATION, since);
  const progress = progressOf(steps, ready, before && [before], options);
  return {
    observedGeneration: GENERATION,
    state: stateOf(steps, ready, special === 'served'),
    conditions: settled([...steps, ready, ...progress.conditions]),
  };
}

type Reason<K extends Kind, T extends keyof (typeof REASONS)[K]> = (typeof REASONS)[K][T] extends readonly (infer R)[]
  ? R
  : never;

const projectRows: readonly (readonly ['True' | 'False', readonly Reason<'Project', 'Ready'>[], Health, KStatus])[] = [
  ['True', ['Published'], 'Healthy', 'Current'],
  ['True', ['Refused'], 'Degraded', 'InProgress'],
  ['True', ['Paused'], 'Suspended', 'InProgress'],
  ['False', ['Paused'], 'Suspended', 'InProgress'],
  ['False', ['PlanLimitReached'], 'Degraded', 'Failed'],
  ['False', ['ServiceNotFound', 'PortNotFound', 'RoutePending'], 'Progressing', 'InProgress'],
  ['False', ['IngressClassNotFound', 'GatewayNotFound', 'CertManagerMissing'], 'Progressing', 'InProgress'],
  ['False', ['CertificateNotReady', 'Retrying'], 'Progressing', 'InProgress'],
  ['False', ['ServiceWithoutSelector', 'GatewayUnsuitable', 'RouteNotAccepted'], 'Degraded', 'InProgress'],
  ['False', ['CertificateFailed', 'Refused', 'RemovalHeld'], 'Degraded', 'InProgress'],
];

function projectStates(): State[] {
  const {Ready, Deployed, DomainsReady} = conditionBuilders(PROJECT_REASONS);
  const of = (name: string, ready: DecidedCondition, deployed: DecidedCondition, domains: DecidedCondition) => {
    const conditions = settled([ready, deployed, domains, ...progressOfProject(ready)]);
    return {name: `Project ${name}`, object: objectOf('Project', {observedGeneration: GENERATION, conditions})};
  };
  const [published, deployed] = [Ready('True', 'Published', 'Published.'), Deployed('True', 'Deployed', 'Deployed.')];
  const waiting = DomainsReady('False', 'WaitingForDomains', 'shop.example.com is not live.');
  const states = projectRows.flatMap(([status, reasons, argo, kstatus]) =>
    reasons.map(reason => ({
      ...of(`Ready ${status} ${reason}`, Ready(status, reason, `${reason}.`), deployed, waiting),
      argo,
      kstatus,
    })),
  );
  // Neither a tenant's DNS nor a missing deploy changes what the platform has done.
  const done = {argo: 'Healthy', kstatus: 'Current'} as const;
  const noEndpoint = Deployed('False', 'NoReadyEndpoint', 'Deploy it.');
  const bySummary = PROJECT_REASONS.DomainsReady.map(reason => {
    const isGood = reason === 'AllLive' || reason === 'NoDomains';
    const summary = DomainsReady(isGood ? 'True' : 'False', reason, `${reason}.`);
    return {...of(`DomainsReady ${reason}`, published, deployed, summary), ...done};
  });
  const overLimit = Ready('False', 'PlanLimitReached', 'Delete another Project.');
  const unchecked = Deployed('Unknown', 'PlanLimitReached', 'Not checked.');
  const beyond = of('Deployed PlanLimitReached', overLimit, unchecked, waiting);
  return [
    ...states,
    {...of('Deployed NoReadyEndpoint', published, noEndpoint, waiting), ...done},
    {...beyond, argo: 'Degraded', kstatus: 'Failed'},
    ...bySummary,
  ];
}

type KeyRow = readonly [Reason<'APIKey', 'Active'>, 'True' | 'False', Reason<'APIKey', 'Ready'>, Health, KStatus];

const keyRows: readonly KeyRow[] = [
  ['Active', 'True', 'Issued', 'Healthy', 'Current'],
  ['Rotating', 'True', 'Issued', 'Healthy', 'Current'],
  ['Revoked', 'True', 'Revoked', 'Healthy', 'Current'],
  ['Expired', 'True', 'Expired', 'Healthy', 'Current'],
  ['Active', 'True', 'Refused', 'Degraded', 'InProgress'],
  ['NotIssued', 'False', 'Refused', 'Degraded', 'InProgress'],
  ['NotIssued', 'False', 'Retrying', 'Progressing', 'InProgress'],
  ['NotIssued', 'False', 'SecretConflict', 'Degraded', 'Failed'],
  ['NotIssued', 'False', 'SecretInvalid', 'Degraded', 'Failed'],
  ['NotIssued', 'False', 'KeyInUse', 'Degraded', 'Failed'],
];

function keyStates(): State[] {
  const {Active, Ready} = conditionBuilders(API_KEY_REASONS);
  return keyRows.map(([activeReason, status, reason, argo, kstatus]) => {
    const works = activeReason === 'Active' || activeReason === 'Rotating';
    const ready = Ready(status, reason, `${reason}.`);
    const active = Active(works ? 'True' : 'False', activeReason, `${activeReason}.`);
    const conditions = settled([active, ready, ...progressOfKey(ready)]);
    const object = objectOf('APIKey', {observedGeneration: GENERATION, conditions});
    return {name: `APIKey ${activeReason} ${status} ${reason}`, object, argo, kstatus};
  });
}

export const STATES: readonly State[] = [
  ...(Object.keys(REASONS) as Kind[]).flatMap(unseen),
  ...domainStates(),
  ...projectStates(),
  ...keyStates(),
];
