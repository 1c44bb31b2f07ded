/** The cached state of one Domain, read once at the start of a reconcile. */
import {findCondition} from '../../api/conditions.ts';
import {ANNOTATION} from '../../api/names.ts';
import {addressType, type DnsCheck, formLabel, isApex, type ProofQuestion} from '../../dns/dns.ts';
import type {DeepReadonly, KubeObject} from '../../runtime/kube/object.ts';
import {isPausedHost} from '../caches/paused.ts';
import {publishedRoute, routeObjects} from '../edge/publish.ts';
import {type Account, accountOf, type HostHolder, holderOf} from '../kinds/account.ts';
import {routeKeyOf} from '../kinds/derived-names.ts';
import type {PublishedRoute} from '../kinds/edge-provider.ts';
import {acmeIssuerOf, keptIssuer} from '../kinds/issuers.ts';
import type {CachedProject, Certificate, Domain, DomainClaim, RequiredRecord} from '../kinds/kinds.ts';
import type {DesiredDomain} from '../kinds/project-hosts.ts';
import {lastCondition, stepAfter} from '../kinds/steps.ts';
import type {DomainCondition, StepResult} from './conditions.ts';
import type {DomainOperator} from './context.ts';
import type {DomainConditionType} from './reasons.ts';

export interface DomainView {
  /** "namespace/host", the key of the Domain. */
  readonly key: string;
  readonly domain: DeepReadonly<Domain>;
  readonly namespace: string;
  readonly host: string;
  readonly account: Account;
  readonly project: DeepReadonly<CachedProject> | undefined;
  readonly question: ProofQuestion;
  /** The last DNS check; undefined before the first. */
  readonly check: DnsCheck | undefined;
  readonly claim: DeepReadonly<DomainClaim> | undefined;
  readonly holder: HostHolder;
  readonly certificate: DeepReadonly<Certificate> | undefined;
  readonly secret: DeepReadonly<KubeObject> | undefined;
  readonly published: PublishedRoute | undefined;
  /** The Domain that its Projects list instead, if it is to change; undefined within it: to be deleted. */
  readonly change?: {readonly to: DesiredDomain | undefined};
  /** The certificate names other hosts, too, but the route stays, because that harms nobody. */
  readonly isMisnamed?: boolean;
  /** The step Routed, if the API server rejected the removal of the route or its certificate. */
  readonly unremoved?: StepResult;
  /** A value of the annotation that has not been handled yet. */
  readonly verifyRequest: string | undefined;
  /** A pause holds back what builds or changes the host. */
  readonly isPaused: boolean;
  /** Its reconciles have failed for a while, as in `ReconcileContext`. */
  readonly keepsFailing: boolean;
  readonly nowMs: number;
}

/** Undefined if the namespace is not in the cache: its deletion also deletes the Domain. */
export function viewOf(
  operator: DomainOperator,
  domain: DeepReadonly<Domain>,
  keepsFailing: boolean,
): DomainView | undefined {
  const {stores, config, names} = operator;
  const {namespace = '', annotations = {}} = domain.metadata;
  const {host, projectRef} = domain.spec;
  const namespaceObject = stores.namespaces.get(namespace);
  if (!namespaceObject) return undefined;
  const account = accountOf(namespaceObject, config);
  const key = `${namespace}/${host}`;
  const routeKey = routeKeyOf(key);
  const claim = stores.claims.get(host);
  const holder = holderOf(claim, account, namespace);
  if (claim && holder === 'another') operator.knownSince.of(claimId(claim)); // before the check that may move it
  const requested = annotations[ANNOTATION.verifyRequestedAt]?.slice(0, 128);
  return {
    key,
    domain,
    namespace,
    host,
    account,
    project: stores.projects.get(`${namespace}/${projectRef.name}`),
    question: {
      host,
      target: names.target(account.id),
      txtName: ['_nameplate', host].join('.'), // one string, unlike a template
      txtValue: names.proofToken(account.id, host),
      apexProof: config.dns.apexProof,
      ...(config.routing.apexAddresses.length > 0 && {apexAddresses: config.routing.apexAddresses}),
      ...caaOf(operator, stores.certificates.get(routeKey)),
    },
    check: operator.scheduler.get(key),
    claim,
    holder,
    certificate: stores.certificates.get(routeKey),
    secret: stores.secrets.get(routeKey),
    published: publishedRoute(operator.edge, routeObjects(stores, routeKey)),
    verifyRequest: requested && requested !== domain.status?.lastHandledVerifyRequest ? requested : undefined,
    isPaused: isPausedHost(operator, key),
    keepsFailing,
    nowMs: operator.clock.now(),
  };
}

/** CAA records must allow these: the identities of the CA that issues, and the platform's account there. */
function caaOf(
  {config, stores}: DomainOperator,
  certificate: DeepReadonly<Certificate> | undefined,
): Pick<ProofQuestion, 'caaIdentities' | 'caaAccountUri'> {
  const issuerName = acmeIssuerOf(keptIssuer(config, certificate));
  if (issuerName === undefined) return {caaIdentities: config.certificates.caaIdentities};
  const {spec, status} = stores.acmeIssuers.get(issuerName) ?? {};
  const {caaIdentities = []} = spec ?? {};
  return {caaIdentities, ...(status?.accountURI !== undefined && {caaAccountUri: status.accountURI})};
}

/**
 * Such a check may predate the claim; trusting it would hand the host back to the former holder. A time in the claim
 * may come from another clock, or from before our clock was adjusted: a check that began after this process knew of the
 * claim is newer.
 */
export function isOlderThanClaim(
  knownSince: DomainOperator['knownSince'],
  {startedAt}: DnsCheck,
  claim: DeepReadonly<DomainClaim>,
): boolean {
  return startedAt < knownSince.of(claimId(claim));
}

/** The claim as long as the same holder has it. */
function claimId({metadata, spec}: DeepReadonly<DomainClaim>): string {
  return `DomainClaim ${metadata.uid} ${spec.namespace} ${spec.since}`;
}

interface FailureMessages {
  readonly refused: (message: string, isTrue: boolean) => DomainCondition;
  readonly retrying: (message: string) => DomainCondition;
  readonly paused: (isTrue: boolean) => DomainCondition;
}

/** The step after a write that failed: it has decided nothing, and reports the state without the write. */
export function unacted(
  {domain, published, keepsFailing}: DomainView,
  failure: unknown,
  {refused, retrying, paused}: FailureMessages,
  isTrue: boolean,
): StepResult {
  const {metadata, status} = domain;
  return stepAfter(failure, {
    works: published !== undefined,
    keepsFailing,
    last: lastCondition(retrying('').type, status?.conditions, metadata.generation),
    refused: message => refused(message, isTrue),
    retrying,
    paused: () => paused(isTrue),
  });
}

/** The condition that the last reconcile wrote. */
export function before(view: DomainView, type: DomainConditionType) {
  return findCondition(view.domain.status?.conditions, type);
}

/** In seconds. */
const RECORD_TTL = 3600;

/**
 * The records to create. An apex cannot have a CNAME; a name that has only addresses also needs a TXT record. The zone
 * that DNS shows decides what is an apex. If a check does not show it, the last records count.
 */
export function requiredRecords(view: DomainView): RequiredRecord[] {
  const {host, question, domain, check} = view;
  const zone = check?.verdict.zone;
  const last = domain.status?.dns?.required?.find(({name, value}) => name === host && value === question.target);
  const record = (type: string, name: string, value: string): RequiredRecord => ({
    type,
    name,
    label: zone === undefined && last ? labelAsBefore(last, name, host) : formLabel(name, zone),
    value,
    ttl: RECORD_TTL,
  });
  const apex = zone === undefined ? (last ? last.type === 'ALIAS' : isApex(host)) : zone === host;
  const records = [record(apex ? 'ALIAS' : 'CNAME', host, question.target)];
  // In place of the ALIAS, for providers that have none.
  if (apex) records.push(...(question.apexAddresses ?? []).map(each => record(addressType(each), host, each)));
  if ((apex || showsAddresses(view)) && question.apexProof === 'txt') {
    records.push(record('TXT', question.txtName, question.txtValue));
  }
  return records;
}

/** The label of the host, and of a name below it, in the zone to which the last records were relative. */
function labelAsBefore(last: DeepReadonly<RequiredRecord>, name: string, host: string): string {
  if (name === host) return last.label;
  const below = name.slice(0, -host.length - 1);
  return last.label === '@' ? below : `${below}.${last.label}`;
}

/** Before a check, and if one fails, the last result counts. */
function showsAddresses({check, domain}: DomainView): boolean {
  if (check && check.verdict.observed.length > 0) return check.verdict.addressesOnly;
  return domain.status?.dns?.required?.some(({type}) => type === 'TXT') ?? false;
}

/** What the edge answers for the host; undefined if the edge cannot tell the routes of two hosts apart. */
export function proofOf({edge, names, stores}: DomainOperator, {namespace, host}: DomainView): string | undefined {
  return edge.provesRoutes?.(stores.platform) ? names.routeProof(namespace, host) : undefined;
}
