/** Decides whether this Domain may start at all. The checks come in the order in which a person would fix them. */
import {withoutWildcard} from '../../api/host-names.ts';
import {ANNOTATION} from '../../api/names.ts';
import {isWildcard, parseHost} from '../../dns/dns.ts';
import {identify} from '../../runtime/apply/corrections.ts';
import type {DeepReadonly} from '../../runtime/kube/object.ts';
import type {Base} from '../caches/context.ts';
import {listing} from '../caches/listing.ts';
import type {Placing} from '../caches/places.ts';
import {plansWithDomains} from '../kinds/account.ts';
import {type CachedProject, DOMAIN, type Project} from '../kinds/kinds.ts';
import {DEFAULT_REDIRECT_STATUS, desiredDomain, isManaged, listedHost} from '../kinds/project-hosts.ts';
import {Accepted, type DomainCondition} from './conditions.ts';
import type {DomainOperator} from './context.ts';
import {MAX_REDIRECTS, redirectEnd} from './redirects.ts';
import type {DomainView} from './view.ts';

type AcceptOperator = Omit<DomainOperator, 'places'> & {readonly places: Placing<'domains' | 'projects'>};

export function accept(operator: AcceptOperator, view: DomainView): DomainCondition {
  const {host, project, namespace, domain, holder} = view;
  const parsed = parseHost(host);
  if (!parsed.ok) return Accepted.invalidHost(parsed.problem);
  const zone = reservedZone(host, operator);
  if (zone) return Accepted.reservedHost(host, zone);
  const problem = isWildcard(host) ? wildcardProblem(operator, view) : undefined;
  if (problem !== undefined) return Accepted.wildcardUnsupported(problem);
  // A held host stays up through a downgrade or an outage: these checks are only for new hosts.
  const isNew = holder !== 'us';
  const beyond = isNew ? refuseByPlan(operator, view) : undefined;
  if (beyond) return beyond;
  if (!project) return outdated(operator, view) ?? Accepted.projectNotFound(namespace, domain.spec.projectRef.name);
  const rival = olderRival(operator, view, project);
  if (rival) return Accepted.hostInOtherProject(host, rival);
  return (
    (isNew ? refuseNewHost(operator, view, project) : undefined) ??
    refuseRedirect(operator, view, project) ??
    outdated(operator, view) ??
    accepted(operator, view, project.metadata.name)
  );
}

function accepted({config}: AcceptOperator, {account}: DomainView, project: string): DomainCondition {
  if (account.plan.customDomains) return Accepted.yes(project);
  return Accepted.yesDespitePlan(project, shownPlan(account), plansWithDomains(config));
}

function shownPlan({planName, unknownPlan}: DomainView['account']): string {
  if (unknownPlan === undefined) return planName;
  return `${planName} (its label names the plan '${unknownPlan}', which does not exist)`;
}

/** The Domain differs from what its Projects list, and the change is late: says why, as far as that is known. */
function outdated(operator: AcceptOperator, view: DomainView): DomainCondition | undefined {
  const {change, domain, project, holder, key, isPaused} = view;
  if (!change) return undefined;
  // A host that no Project lists anymore keeps what it has, and gets nothing new.
  const isInForce = project !== undefined && (change.to !== undefined || holder === 'us');
  if (isPaused && change.to) return Accepted.paused(change.to, isInForce);
  const refusal = operator.outdated.refusalOf(key);
  if (refusal !== undefined) return Accepted.refused(change.to, refusal, isInForce);
  const isContested = operator.corrections.contestedMs(identify(DOMAIN, domain)) !== undefined;
  if (isInForce && !isContested && operator.outdated.lateInMs(key) > 0) return undefined;
  return Accepted.outdated(change.to, isContested, isInForce);
}

/**
 * The platform's own zones, everything below them, and their parents. A wildcard may not be above a reserved host
 * either, which it would cover.
 */
export function reservedZone(host: string, {config}: Pick<Base, 'config'>): string | undefined {
  const {baseDomain, targetDomain, acmeDomain, reservedHosts} = config.platform;
  const own = [baseDomain, targetDomain, ...(acmeDomain === '' ? [] : [acmeDomain])];
  const all = [...own, ...reservedHosts];
  const name = withoutWildcard(host);
  return (
    all.find(zone => name === zone || name.endsWith(`.${zone}`)) ??
    (isWildcard(host) ? all : own).find(zone => zone.endsWith(`.${name}`))
  );
}

/** Also of one that is held: an edge that cannot keep it from other hosts must not get its route. */
function wildcardProblem({edge, config, stores}: AcceptOperator, {domain}: DomainView): string | undefined {
  if (domain.spec.redirect) return 'A wildcard cannot redirect. Remove spec.redirect, or list each host separately.';
  if (config.platform.acmeDomain === '') {
    return 'The platform has no name server for ACME challenges, without which no certificate authority issues for a wildcard. List each host separately, or ask the platform team to set up config.platform.acmeDomain.';
  }
  return edge.unsupportedWildcard(stores.platform);
}

/** Another Project that lists the host and takes precedence over the one of a manually created Domain. */
function olderRival(
  operator: AcceptOperator,
  {key, host, domain}: DomainView,
  project: DeepReadonly<Project>,
): string | undefined {
  if (isManaged(domain)) return undefined;
  const winner = desiredDomain(host, listing(operator, key))?.winner;
  if (!winner || winner.metadata.name === project.metadata.name) return undefined;
  return listedHost(project, host) ? winner.metadata.name : undefined;
}

/** By nothing but its host and its plan: a tenant may create any number of Domains beyond the plan. */
function refuseByPlan({places, config}: AcceptOperator, {account, domain}: DomainView): DomainCondition | undefined {
  const {plan, planName} = account;
  if (!plan.customDomains) return Accepted.planRequired(shownPlan(account), plansWithDomains(config));
  return places.domains.has(domain) ? undefined : Accepted.planLimitReached(planName, plan.maxDomains);
}

function refuseNewHost(
  {places}: AcceptOperator,
  {account, domain}: DomainView,
  project: DeepReadonly<CachedProject>,
): DomainCondition | undefined {
  const {plan, planName} = account;
  if (isManaged(domain) && !places.projects.has(project)) {
    return Accepted.projectBeyondPlan(project.metadata.name, planName, plan.maxProjects);
  }
  if (!project.metadata.annotations?.[ANNOTATION.firstDeployedAt]) {
    return Accepted.noSuccessfulDeploy(project.metadata.name, project.spec.service.name);
  }
  return undefined;
}

function refuseRedirect(
  {edge, ...operator}: AcceptOperator,
  view: DomainView,
  project: DeepReadonly<Project>,
): DomainCondition | undefined {
  const {redirect} = view.domain.spec;
  if (!redirect) return undefined;
  const end = redirectEnd(operator, {...view, redirect}, project);
  if (end.kind === 'loop') return Accepted.redirectLoop(end.path);
  if (end.kind === 'too-long') return Accepted.redirectChainTooLong(end.path, MAX_REDIRECTS);
  if (end.kind === 'not-ours') return Accepted.redirectTargetNotOurs(end.host, project.metadata.name);
  const problem = edge.unsupportedStatus(redirect.status ?? DEFAULT_REDIRECT_STATUS, operator.stores.platform);
  return problem ? Accepted.redirectStatusUnsupported(problem) : undefined;
}
