/** Decides whether this Domain may start at all. The checks come in the order in which a person would fix them. */
import {ANNOTATION} from '../../api/names.ts';
import {parseHost} from '../../dns/dns.ts';
import {identify} from '../../runtime/apply/corrections.ts';
import type {DeepReadonly} from '../../runtime/kube/object.ts';
import {plansWithDomains} from '../model/account.ts';
import {DOMAIN, type Project} from '../model/kinds.ts';
import {DEFAULT_REDIRECT_STATUS, desiredDomain, isManaged, listedHost} from '../model/project-hosts.ts';
import {isOlder} from '../state/age-ranks.ts';
import type {Operator} from '../state/context.ts';
import {MAX_REDIRECTS, redirectEnd} from '../state/redirect-chain.ts';
import {INDEX} from '../state/stores.ts';
import {Accepted, type DomainCondition} from './conditions.ts';
import type {DomainView} from './view.ts';

export function accept(operator: Operator, view: DomainView): DomainCondition {
  const {host, project, namespace, domain, holder} = view;
  const parsed = parseHost(host);
  if (!parsed.ok) return Accepted.invalidHost(parsed.problem);
  const zone = reservedZone(host, operator);
  if (zone) return Accepted.reservedHost(host, zone);
  if (!project) return outdated(operator, view) ?? Accepted.projectNotFound(namespace, domain.spec.projectRef.name);
  const rival = olderRival(operator, view, project);
  if (rival) return Accepted.hostInOtherProject(host, rival);
  // A held host stays up through a downgrade or an outage: these checks are only for new hosts.
  const refusal = holder === 'us' ? undefined : refuseNewHost(operator, view, project);
  return (
    refusal ??
    refuseRedirect(operator, view, project) ??
    outdated(operator, view) ??
    accepted(operator, view, project.metadata.name)
  );
}

function accepted({config}: Operator, {account}: DomainView, project: string): DomainCondition {
  if (account.plan.customDomains) return Accepted.yes(project);
  return Accepted.yesDespitePlan(project, shownPlan(account), plansWithDomains(config));
}

function shownPlan({planName, unknownPlan}: DomainView['account']): string {
  if (unknownPlan === undefined) return planName;
  return `${planName} (its label names the plan '${unknownPlan}', which does not exist)`;
}

/** The Domain differs from what its Projects list, and the change is late: says why, as far as that is known. */
function outdated(operator: Operator, view: DomainView): DomainCondition | undefined {
  const {change, domain, project, holder, key, isPaused} = view;
  if (!change) return undefined;
  // A host that no Project lists anymore keeps what it has, and gets nothing new.
  const isInForce = project !== undefined && (change.to !== undefined || holder === 'us');
  if (isPaused && change.to) return Accepted.paused(change.to, isInForce);
  const refusal = operator.domainRefusals.get(key);
  if (refusal !== undefined) return Accepted.refused(change.to, refusal, isInForce);
  const isContested = operator.corrections.contestedMs(identify(DOMAIN, domain)) !== undefined;
  if (isInForce && !isContested && operator.outdated.lateInMs(key) > 0) return undefined;
  return Accepted.outdated(change.to, isContested, isInForce);
}

/** The platform's own zones, everything below them, and their parents. */
export function reservedZone(host: string, {config}: Operator): string | undefined {
  const {baseDomain, targetDomain, reservedHosts} = config.platform;
  const own = [baseDomain, targetDomain];
  return (
    [...own, ...reservedHosts].find(zone => host === zone || host.endsWith(`.${zone}`)) ??
    own.find(zone => zone.endsWith(`.${host}`))
  );
}

/** Another Project that lists the host and takes precedence over the one of a manually created Domain. */
function olderRival(
  {places}: Operator,
  {key, host, domain}: DomainView,
  project: DeepReadonly<Project>,
): string | undefined {
  if (isManaged(domain)) return undefined;
  const winner = desiredDomain(host, places.listing(key))?.winner;
  if (!winner || winner.metadata.name === project.metadata.name) return undefined;
  return listedHost(project, host) ? winner.metadata.name : undefined;
}

function refuseNewHost(
  operator: Operator,
  view: DomainView,
  project: DeepReadonly<Project>,
): DomainCondition | undefined {
  const {account, domain} = view;
  const {plan, planName} = account;
  if (!plan.customDomains) return Accepted.planRequired(shownPlan(account), plansWithDomains(operator.config));
  if (isManaged(domain) && !operator.places.has(project)) {
    return Accepted.projectBeyondPlan(project.metadata.name, planName, plan.maxProjects);
  }
  if (isBeyondPlan(operator, view)) return Accepted.planLimitReached(planName, plan.maxDomains);
  if (!project.metadata.annotations?.[ANNOTATION.firstDeployedAt]) {
    return Accepted.noSuccessfulDeploy(project.metadata.name, project.spec.service.name);
  }
  return undefined;
}

/** Whether Domains of the account that take precedence fill the plan: older ones, and those that hold their host. */
function isBeyondPlan({stores}: Operator, {account, domain, key}: DomainView): boolean {
  const {namespaces, domainAges, claims, domains} = stores;
  const {maxDomains} = account.plan;
  const own = new Set(namespaces.byIndex(INDEX.account, account.id).map(({metadata}) => metadata.name));
  if (domainAges.count([...own]) <= maxDomains) return false; // every Domain has a place, so nothing needs counting
  let used = 0;
  for (const namespace of own) used += domainAges.countOlder(namespace, domain);
  // So only Domains that the plan would allow by their age, at most `maxDomains`, read what the account holds.
  if (used >= maxDomains) return true;
  for (const {metadata, spec} of claims.byIndex(INDEX.account, account.id)) {
    const held = `${spec.namespace}/${metadata.name}`;
    const other = own.has(spec.namespace) ? domains.get(held) : undefined;
    if (other && held !== key && !isOlder(other, domain)) used++;
  }
  return used >= maxDomains;
}

function refuseRedirect(
  {edge, ...operator}: Operator,
  view: DomainView,
  project: DeepReadonly<Project>,
): DomainCondition | undefined {
  const {redirect} = view.domain.spec;
  if (!redirect) return undefined;
  const end = redirectEnd(operator, view, project);
  if (end.kind === 'loop') return Accepted.redirectLoop(end.path);
  if (end.kind === 'too-long') return Accepted.redirectChainTooLong(end.path, MAX_REDIRECTS);
  if (end.kind === 'not-ours') return Accepted.redirectTargetNotOurs(end.host, project.metadata.name);
  const problem = edge.unsupportedStatus(redirect.status ?? DEFAULT_REDIRECT_STATUS, operator.stores.platform);
  return problem ? Accepted.redirectStatusUnsupported(problem) : undefined;
}
