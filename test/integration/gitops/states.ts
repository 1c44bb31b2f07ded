/**
 * Every kind in every state, and how other tools must judge it. The objects come from states.jsonl, with states that
 * the operator reported in tests. Only those of CONSTRUCTED are built with the operator's code.
 */
import {
  type Condition,
  conditionBuilders,
  type DecidedCondition,
  settleConditions,
} from '../../../src/api/conditions.ts';
import {API_VERSION} from '../../../src/api/names.ts';
import {API_KEY_REASONS, STALLED} from '../../../src/operator/apikey/conditions.ts';
import type {DomainCondition} from '../../../src/operator/domain/conditions.ts';
import {DOMAIN_REASONS} from '../../../src/operator/domain/reasons.ts';
import {progressOf, readyOf, stateOf} from '../../../src/operator/domain/summary.ts';
import {progressOfReady} from '../../../src/operator/kinds/steps.ts';
import {PROJECT_REASONS} from '../../../src/operator/project/conditions.ts';
import {type Dumped, readObjects, STATES_FILE} from './dumped.ts';

type Health = 'Healthy' | 'Progressing' | 'Suspended' | 'Degraded';
type KStatus = 'Current' | 'InProgress' | 'Failed';

interface Verdicts {
  /** Argo CD's health; undefined if it has none for the kind. */
  readonly argo: Health | undefined;
  readonly kstatus: KStatus;
}

export interface State extends Verdicts {
  readonly name: string;
  readonly object: Dumped;
}

/** A state with a constructed object. */
interface Row extends State {
  /**
   * "Type Status Reason" of the conditions that make up the state; empty if the operator has not reported on the spec.
   */
  readonly shows: readonly string[];
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

function objectOf(kind: Kind, status: Dumped['status'] | undefined): Dumped {
  const metadata = {name: objectName[kind], namespace: 'acme-shop', generation: GENERATION};
  return {apiVersion: API_VERSION, kind, metadata, spec: spec[kind], ...(status && {status})};
}

function settled(conditions: readonly DecidedCondition[], generation = GENERATION): Condition[] {
  return settleConditions(undefined, conditions, {generation, namespace: 'acme-shop'}, NOW);
}

/** Objects that the operator has not reported on yet. */
function unseen(kind: Kind): Row[] {
  const old = settled([{type: 'Ready', status: 'True', reason: 'Old', message: 'Of the last generation.'}], 1);
  const row = {shows: [], argo: 'Progressing', kstatus: 'InProgress'} as const;
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
  ['Accepted', 'True', ['Refused'], 'Degraded', 'InProgress', 'served'],
  ['Accepted', 'True', ['Paused'], 'Suspended', 'InProgress', 'served'],
  ['Accepted', 'True', ['Outdated'], 'Healthy', 'Current', 'served'],
  ['Accepted', 'False', ['Refused'], 'Degraded', 'InProgress'],
  ['Accepted', 'False', ['Paused'], 'Suspended', 'InProgress'],
  ['Accepted', 'False', ['Outdated'], 'Progressing', 'InProgress'],
  [
    'Accepted',
    'False',
    ['InvalidHost', 'ReservedHost', 'WildcardUnsupported', 'HostInOtherProject'],
    'Degraded',
    'Failed',
  ],
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
  ['CertificateReady', 'False', ['IssuerNotReady', 'CertManagerDown'], 'Progressing', 'InProgress'],
  ['CertificateReady', 'False', ['Expired', 'NotYetValid'], 'Degraded', 'InProgress'],
  ['CertificateReady', 'False', ['Expired'], 'Degraded', 'InProgress', 'served'],
  ['CertificateReady', 'False', ['Overdue', 'Failed'], 'Degraded', 'InProgress'],
  ['CertificateReady', 'False', ['WrongNames', 'IssuerNotAllowed', 'Refused'], 'Degraded', 'InProgress'],
  ['Routed', 'True', ['Serving', 'Redirecting'], 'Healthy', 'Current'],
  ['Routed', 'True', ['Refused'], 'Degraded', 'InProgress', 'served'],
  ['Routed', 'True', ['Paused'], 'Suspended', 'InProgress', 'served'],
  ['Routed', 'False', ['Paused'], 'Suspended', 'InProgress'],
  ['Routed', 'Unknown', ['Waiting', 'Pending'], 'Progressing', 'InProgress'],
  ['Routed', 'False', ['ServiceNotFound', 'PortNotFound', 'TargetNotLive'], 'Progressing', 'InProgress'],
  ['Routed', 'False', ['IngressClassNotFound', 'GatewayNotFound', 'Retrying'], 'Progressing', 'InProgress'],
  ['Routed', 'False', ['ServiceNotFound'], 'Degraded', 'InProgress', 'served'],
  ['Routed', 'False', ['ServiceUnsuitable', 'GatewayUnsuitable'], 'Degraded', 'InProgress'],
  ['Routed', 'False', ['NotAccepted', 'Refused'], 'Degraded', 'InProgress'],
  ['Probed', 'True', ['Answering'], 'Healthy', 'Current'],
  ['Probed', 'Unknown', ['Checking', 'EdgeUnreachable', 'NotProbed', 'Waiting'], 'Healthy', 'Current'],
  ['Probed', 'False', ['Pending'], 'Progressing', 'InProgress'],
  ['Probed', 'False', ['NoAnswer', 'WrongCertificate', 'WrongRedirect', 'WrongRoute'], 'Degraded', 'InProgress'],
];

function domainStates(): Row[] {
  return domainRows.flatMap(([type, status, reasons, argo, kstatus, special]) =>
    reasons.map(reason => {
      const name = [`Domain ${type}`, status, reason, special].filter(Boolean).join(' ');
      const step = {type, status, reason, message: `${reason}.`};
      const shows = [`${type} ${status} ${reason}`];
      return {name, shows, object: objectOf('Domain', domainStatus(step, special)), argo, kstatus};
    }),
  );
}

/** Earlier steps are done. Later ones wait, unless this step lets them continue. */
function domainStatus(step: DomainCondition, special: 'served' | 'late' | undefined): Dumped['status'] & object {
  const types = Object.keys(DOMAIN_REASONS) as Step[];
  const at = types.indexOf(step.type as Step);
  const continues = step.status === 'True' || special === 'served';
  const steps = types.map((type, index): DomainCondition => {
    if (index === at) return step;
    if (index < at || continues) return {type, status: 'True', reason: DOMAIN_REASONS[type][0], message: 'Done.'};
    return {type, status: 'Unknown', reason: 'Waiting', message: `Waiting for ${step.type}.`};
  });
  const ready = readyOf(steps);
  const options = {generation: GENERATION, propagationSeconds: PROPAGATION_SECONDS, nowMs: NOW};
  const since = NOW - (special === 'late' ? PROPAGATION_SECONDS : 0) * 1000;
  const [before] = settleConditions(
    undefined,
    [{...ready, type: 'Reconciling', status: 'True'}],
    {generation: GENERATION},
    since,
  );
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
  ['True', ['Published', 'RenewalFailing'], 'Healthy', 'Current'],
  ['True', ['Refused'], 'Degraded', 'InProgress'],
  ['True', ['Paused'], 'Suspended', 'InProgress'],
  ['False', ['Paused'], 'Suspended', 'InProgress'],
  ['False', ['PlanLimitReached'], 'Degraded', 'Failed'],
  ['False', ['ServiceNotFound', 'PortNotFound', 'RoutePending'], 'Progressing', 'InProgress'],
  ['False', ['IngressClassNotFound', 'GatewayNotFound', 'CertManagerMissing'], 'Progressing', 'InProgress'],
  ['False', ['CertificateNotReady', 'Retrying'], 'Progressing', 'InProgress'],
  ['False', ['ServiceUnsuitable', 'GatewayUnsuitable', 'RouteNotAccepted'], 'Degraded', 'InProgress'],
  ['False', ['CertificateFailed', 'CertificateExpired', 'Refused'], 'Degraded', 'InProgress'],
];

function projectStates(): Row[] {
  const {Ready, Deployed, DomainsReady} = conditionBuilders(PROJECT_REASONS);
  const of = (name: string, ready: DecidedCondition, deployed: DecidedCondition, domains: DecidedCondition) => {
    const progress = progressOfReady(ready, ready.reason === 'PlanLimitReached');
    const conditions = settled([ready, deployed, domains, ...progress]);
    const object = objectOf('Project', {observedGeneration: GENERATION, conditions});
    return {name: `Project ${name}`, object};
  };
  const [published, deployed] = [Ready('True', 'Published', 'Published.'), Deployed('True', 'Deployed', 'Deployed.')];
  const waiting = DomainsReady('False', 'WaitingForDomains', 'shop.example.com is not live.');
  const states = projectRows.flatMap(([status, reasons, argo, kstatus]) =>
    reasons.map(reason => ({
      ...of(`Ready ${status} ${reason}`, Ready(status, reason, `${reason}.`), deployed, waiting),
      shows: [`Ready ${status} ${reason}`],
      argo,
      kstatus,
    })),
  );
  // Neither a tenant's DNS nor a missing deployment makes the platform's part incomplete.
  const done = {argo: 'Healthy', kstatus: 'Current'} as const;
  const noEndpoint = Deployed('False', 'NoReadyEndpoint', 'Deploy it.');
  const stuck = {argo: 'Degraded', kstatus: 'Failed'} as const;
  const overLimit = Ready('False', 'PlanLimitReached', 'Delete another Project.');
  const unchecked = Deployed('Unknown', 'PlanLimitReached', 'Not checked.');
  const bySummary = PROJECT_REASONS.DomainsReady.map(reason => {
    const isGood = reason === 'AllLive' || reason === 'NoDomains';
    const summary = DomainsReady(isGood ? 'True' : 'False', reason, `${reason}.`);
    const shows = [`DomainsReady ${summary.status} ${reason}`];
    return reason === 'PlanLimitReached'
      ? {...of(`DomainsReady ${reason}`, overLimit, unchecked, summary), shows, ...stuck}
      : {...of(`DomainsReady ${reason}`, published, deployed, summary), shows, ...done};
  });
  const beyond = of('Deployed PlanLimitReached', overLimit, unchecked, waiting);
  return [
    ...states,
    {
      ...of('Deployed NoReadyEndpoint', published, noEndpoint, waiting),
      shows: ['Deployed False NoReadyEndpoint'],
      ...done,
    },
    {
      ...of('Deployed Refused', published, Deployed('Unknown', 'Refused', 'Refused.'), waiting),
      shows: ['Deployed Unknown Refused'],
      ...done,
    },
    {...beyond, shows: ['Deployed Unknown PlanLimitReached'], ...stuck},
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
  ['Active', 'True', 'Paused', 'Suspended', 'InProgress'],
  ['NotIssued', 'False', 'Paused', 'Suspended', 'InProgress'],
  ['NotIssued', 'False', 'SecretConflict', 'Degraded', 'Failed'],
  ['NotIssued', 'False', 'SecretInvalid', 'Degraded', 'Failed'],
  ['NotIssued', 'False', 'KeyInUse', 'Degraded', 'Failed'],
  ['NotIssued', 'False', 'PlanLimitReached', 'Degraded', 'Failed'],
];

function keyStates(): Row[] {
  const {Active, Ready} = conditionBuilders(API_KEY_REASONS);
  return keyRows.map(([activeReason, status, reason, argo, kstatus]) => {
    const works = activeReason === 'Active' || activeReason === 'Rotating';
    const ready = Ready(status, reason, `${reason}.`);
    const active = Active(works ? 'True' : 'False', activeReason, `${activeReason}.`);
    const conditions = settled([active, ready, ...progressOfReady(ready, STALLED.has(ready.reason))]);
    const object = objectOf('APIKey', {observedGeneration: GENERATION, conditions});
    const shows = [active, ready].map(({type, status, reason}) => `${type} ${status} ${reason}`);
    return {name: `APIKey ${activeReason} ${status} ${reason}`, shows, object, argo, kstatus};
  });
}

const ROWS: readonly Row[] = [
  ...(Object.keys(REASONS) as Kind[]).flatMap(unseen),
  ...domainStates(),
  ...projectStates(),
  ...keyStates(),
];

export const DUMPED: readonly Dumped[] = readObjects(STATES_FILE);

/** States in which no test left an object, mostly because they last only a moment. */
export const CONSTRUCTED: readonly string[] = [
  'Domain Accepted True Refused served',
  'Domain Accepted True Paused served',
  'Domain Accepted True Outdated served',
  'Domain Accepted False Refused',
  'Domain Accepted False Paused',
  'Domain Accepted False Outdated',
  'Domain Accepted False WildcardUnsupported',
  'Domain Accepted False RedirectChainTooLong',
  'Domain DNSVerified False Bogus',
  'Domain DNSVerified False RecordMissing late',
  'Domain Claimed True Refused served',
  'Domain Claimed Unknown Refused',
  'Domain Claimed True Paused served',
  'Domain Claimed Unknown Paused',
  'Domain Claimed Unknown Retrying',
  'Domain CAAAllowed False Forbidden served',
  'Domain CertificateReady True Paused served',
  'Domain CertificateReady False Paused',
  'Domain CertificateReady False Retrying',
  'Domain CertificateReady False IssuerNotReady',
  'Domain CertificateReady False CertManagerDown',
  'Domain CertificateReady False Expired',
  'Domain CertificateReady False NotYetValid',
  'Domain CertificateReady False Expired served',
  'Domain CertificateReady False IssuerNotAllowed',
  'Domain CertificateReady False Refused',
  'Domain Routed False Paused',
  'Domain Routed False PortNotFound',
  'Domain Probed Unknown Checking',
  'Domain Probed Unknown Waiting',
  'Domain Probed False NoAnswer',
  'Domain Probed False WrongRedirect',
  'Project Ready True RenewalFailing',
  'Project Ready True Refused',
  'Project Ready False CertificateExpired',
  'Project Ready False Refused',
  'Project Deployed Refused',
  'Project DomainsReady Refused',
];

function conditionsOf({status}: Dumped): string[] {
  return (status?.conditions ?? []).map(({type, status, reason}) => `${type} ${status} ${reason}`);
}

function isReported({metadata, status}: Dumped): boolean {
  return (status?.conditions ?? []).length > 0 && status?.observedGeneration === metadata.generation;
}

/** The conditions that decide about an object. For a Domain: the step whose message Ready repeats. */
function deciding({kind, status}: Dumped): string[] {
  const {conditions = []} = status ?? {};
  const ready = conditions.find(({type}) => type === 'Ready');
  const active = conditions.filter(({type}) => type === 'Active');
  const steps = conditions.filter(({type}) => type in DOMAIN_REASONS);
  const repeated = steps.filter(
    ({message, reason}) => message === ready?.message && [reason, 'Live'].includes(ready.reason),
  );
  const found = kind === 'Domain' ? repeated.slice(0, 1) : [...active, ...(ready ? [ready] : [])];
  return found.map(({type, status, reason}) => `${type} ${status} ${reason}`);
}

/** What the rows say about a dumped object. */
function expected(object: Dumped): Verdicts & {readonly name: string} {
  const {kind, status} = object;
  if (!(kind in REASONS)) return {name: kind, argo: undefined, kstatus: 'Current'};
  if (!isReported(object)) return {name: `${kind} unseen`, argo: 'Progressing', kstatus: 'InProgress'};
  const shown = deciding(object);
  const name = [kind, ...shown].join(' ');
  const isServed = status?.state === 'Degraded' || status?.state === 'Live';
  const rows = ROWS.filter(
    row => row.object.kind === kind && row.shows.join() === shown.join() && !row.name.endsWith(' late'),
  );
  const row = rows.find(row => row.name.endsWith(' served') === isServed) ?? rows[0];
  if (!row) throw new Error(`no row says what to make of ${name}: ${JSON.stringify(status)}`);
  const isLate = row.kstatus === 'InProgress' && status?.conditions?.some(({type}) => type === 'Stalled');
  if (isLate) return {name, argo: 'Degraded', kstatus: 'Failed'};
  const isPaused = row.argo === 'Suspended' && name.endsWith(' Paused');
  const isDegraded = status?.state === 'Degraded' && !isPaused;
  return {name, argo: isDegraded ? 'Degraded' : row.argo, kstatus: row.kstatus};
}

const SEEN: readonly State[] = DUMPED.map((object, index) => {
  const {name, ...verdicts} = expected(object);
  return {name: `line ${index + 1}: ${name}`, object, ...verdicts};
});

/** A dumped object in the state of the row. */
function find({name, shows, argo, kstatus, object: {kind}}: Row): Dumped | undefined {
  return SEEN.find(({object, ...verdicts}) => {
    if (object.kind !== kind || verdicts.argo !== argo || verdicts.kstatus !== kstatus) return false;
    if (isReported(object)) return shows.length > 0 && shows.every(shown => conditionsOf(object).includes(shown));
    return name === `${kind} ${conditionsOf(object).length > 0 ? 'changed' : 'new'}`;
  })?.object;
}

export const WITHOUT_DUMP: readonly string[] = ROWS.filter(row => !find(row)).map(({name}) => name);
export const STATES: readonly State[] = [...ROWS.map(row => ({...row, object: find(row) ?? row.object})), ...SEEN];
