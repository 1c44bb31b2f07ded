/** The cached state of one Domain, read once at the start of a reconcile. */
import {withoutWildcard} from '../../api/host-names.ts';
import {ANNOTATION} from '../../api/names.ts';
import {addressType, type DnsCheck, formLabel, isApex, isWildcard, type ProofQuestion} from '../../dns/dns.ts';
import {type DeepReadonly, keyOf} from '../../runtime/kube/object.ts';
import {isPausedHost} from '../caches/paused.ts';
import {type Account, accountOf, type HostHolder, holderOf} from '../kinds/account.ts';
import {acmeIssuerOf, keptIssuer} from '../kinds/issuers.ts';
import type {Certificate, Domain, DomainClaim, RequiredRecord} from '../kinds/kinds.ts';
import type {DesiredDomain} from '../kinds/project-hosts.ts';
import {REVERIFY} from './conditions.ts';
import type {DomainOperator} from './context.ts';
import {type HostView, objectsOfDomain} from './host-view.ts';

export interface DomainView extends HostView {
  readonly domain: DeepReadonly<Domain>;
  readonly account: Account;
  readonly question: ProofQuestion;
  /** The last DNS check; undefined before the first. */
  readonly check: DnsCheck | undefined;
  readonly holder: HostHolder;
  /** The Domain that its Projects list instead, if it is to change; undefined within it: to be deleted. */
  readonly change?: {readonly to: DesiredDomain | undefined};
  /** A value of the annotation that has not been handled yet. */
  readonly verifyRequest: string | undefined;
  /** A pause holds back what builds or changes the host. */
  readonly isPaused: boolean;
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
  const key = keyOf(domain);
  const objects = objectsOfDomain(operator, key);
  const {claim, certificate} = objects;
  const holder = holderOf(claim, account, namespace);
  if (claim && holder === 'another') operator.knownSince.of(claimId(claim)); // before the check that may move it
  const requested = annotations[ANNOTATION.verifyRequestedAt]?.slice(0, 128);
  const verifyRequest = requested && requested !== domain.status?.lastHandledVerifyRequest ? requested : undefined;
  const check = operator.scheduler.get(key);
  return {
    ...objects,
    key,
    domain,
    owner: domain,
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
      ...challengeOf(names, account.id, host),
      ...(config.routing.apexAddresses.length > 0 && {apexAddresses: config.routing.apexAddresses}),
      ...caaOf(operator, certificate),
    },
    check,
    holder,
    isDefault: false,
    challenge: isWildcard(host) ? 'dns-01' : challengeFor(check, certificate),
    verifyRequest,
    isRequested: verifyRequest !== undefined && check?.request === verifyRequest,
    again: `run: ${REVERIFY(host)}`,
    isPaused: isPausedHost(operator, key),
    keepsFailing,
    nowMs: operator.clock.now(),
  };
}

function challengeOf(names: DomainOperator['names'], account: string, host: string): Pick<ProofQuestion, 'challenge'> {
  const target = names.challengeName(account, host);
  return target === undefined ? {} : {challenge: {name: `_acme-challenge.${withoutWildcard(host)}`, target}};
}

/** A host that only the delegated challenge proves is validated by it. Before a check, the last one counts. */
function challengeFor(
  check: DnsCheck | undefined,
  certificate: DeepReadonly<Certificate> | undefined,
): string | undefined {
  if (!check?.verdict.verified) return certificate?.metadata.annotations?.[ANNOTATION.challenge];
  return check.verdict.proof === 'challenge' ? 'dns-01' : undefined;
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

/** In seconds. */
const RECORD_TTL = 3600;

/**
 * The records to create. An apex cannot have a CNAME; a name that has only addresses also needs a TXT record, and a
 * wildcard the delegated challenge. The zone that DNS shows decides what is an apex. If a check does not show it, the
 * last records count.
 */
export function requiredRecords(view: DomainView): RequiredRecord[] {
  const {host, question, domain, check} = view;
  const zone = check?.verdict.zone;
  const last = domain.status?.dns?.required?.find(({name, value}) => name === host && value === question.target);
  const record = (type: string, name: string, value: string, insteadOf?: string): RequiredRecord => ({
    type,
    name,
    label: zone === undefined && last ? labelAsBefore(last, name) : formLabel(name, zone),
    value,
    ttl: RECORD_TTL,
    ...(insteadOf !== undefined && {insteadOf}),
  });
  const apex = zone === undefined ? (last ? last.type === 'ALIAS' : isApex(host)) : zone === host;
  const records = [record(apex ? 'ALIAS' : 'CNAME', host, question.target)];
  if (apex) records.push(...(question.apexAddresses ?? []).map(each => record(addressType(each), host, each, 'ALIAS')));
  if (isWildcard(host)) {
    const {challenge} = question;
    return challenge ? [...records, record('CNAME', challenge.name, challenge.target)] : records;
  }
  if ((apex || showsAddresses(view)) && question.apexProof === 'txt') {
    const {txtName, txtValue, challenge} = question;
    records.push(record('TXT', txtName, txtValue));
    if (challenge) records.push(record('CNAME', challenge.name, challenge.target, 'TXT'));
  }
  return records;
}

/** The label of the host, and of a name next to or below it, in the zone to which the last records were relative. */
function labelAsBefore({label, name: host}: DeepReadonly<RequiredRecord>, name: string): string {
  const zone = label === '@' ? host : host.slice(label.length + 1);
  return formLabel(name, zone);
}

/** Before a check, and if one fails, the last result counts. */
function showsAddresses({check, domain}: DomainView): boolean {
  if (check && check.verdict.observed.length > 0) return check.verdict.addressesOnly;
  return domain.status?.dns?.required?.some(({type}) => type === 'TXT') ?? false;
}
