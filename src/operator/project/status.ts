/** The status of a Project, from the caches. Pure. */
import {type DecidedCondition, findCondition, settleConditions} from '../../api/conditions.ts';
import type {ProjectStatus} from '../../api/generated/project.ts';
import type {DeepReadonly} from '../../runtime/kube/object.ts';
import type {Domain, Project} from '../kinds/kinds.ts';
import {isManaged, type ListedHost, listedHosts} from '../kinds/project-hosts.ts';
import {progressOfReady} from '../kinds/steps.ts';
import {Deployed, DomainsReady} from './conditions.ts';
import type {FirstDeploy} from './first-deploy.ts';

interface ProjectFacts {
  readonly defaultHost: string;
  readonly ready: DecidedCondition;
  readonly deploy: FirstDeploy;
  readonly domainOf: (host: string) => DeepReadonly<Domain> | undefined;
  /** Why the API server rejected the host's Domain. */
  readonly refusalOf: (host: string) => string | undefined;
  readonly nowMs: number;
}

export function projectStatus(project: DeepReadonly<Project>, facts: ProjectFacts): ProjectStatus {
  const {defaultHost, ready, deploy, domainOf, nowMs} = facts;
  const hosts = listedHosts(project);
  const isBeyondPlan = ready.reason === 'PlanLimitReached';
  const conditions = [
    ready,
    deployedOf(project, deploy, isBeyondPlan),
    isBeyondPlan && hosts.length > 0 ? DomainsReady.planLimitReached() : summarizeDomains(project, hosts, facts),
    ...progressOfReady(ready, isBeyondPlan),
  ];
  const main = project.spec.domains?.primary;
  const isMainLive = main !== undefined && isReady(ours(project, domainOf(main)));
  return {
    observedGeneration: project.metadata.generation ?? 0,
    defaultHost,
    url: `https://${isMainLive ? main : defaultHost}/`,
    ...(hosts.length > 0 && {
      domains: hosts.map(({host, role}) => {
        const state = ours(project, domainOf(host))?.status?.state;
        return {host, role, ...(state && {state})};
      }),
    }),
    conditions: settleConditions(project.status?.conditions, conditions, project.metadata, nowMs),
  };
}

function deployedOf(
  {spec}: DeepReadonly<Project>,
  {deployedAt, failure}: FirstDeploy,
  isBeyondPlan: boolean,
): DecidedCondition {
  if (deployedAt) return Deployed.yes(deployedAt);
  if (isBeyondPlan) return Deployed.planLimitReached();
  return failure instanceof Error ? Deployed.refused(failure.message) : Deployed.no(spec.service.name);
}

function summarizeDomains(
  project: DeepReadonly<Project>,
  hosts: readonly ListedHost[],
  {domainOf, refusalOf}: ProjectFacts,
): DecidedCondition {
  if (hosts.length === 0) return DomainsReady.none();
  for (const {host} of hosts) {
    const domain = domainOf(host);
    if (!domain || ours(project, domain)) continue;
    return isManaged(domain)
      ? DomainsReady.inOtherProject(host, domain.spec.projectRef.name)
      : DomainsReady.inOtherDomain(host);
  }
  const waiting = hosts.filter(({host}) => !isReady(domainOf(host))).map(({host}) => host);
  for (const {host} of hosts) {
    const refusal = refusalOf(host);
    if (refusal !== undefined) return DomainsReady.refused(host, refusal, waiting.length === 0);
  }
  return waiting.length === 0 ? DomainsReady.all(hosts.length) : DomainsReady.waiting(waiting, hosts.length);
}

function ours(project: DeepReadonly<Project>, domain: DeepReadonly<Domain> | undefined) {
  return domain?.spec.projectRef.name === project.metadata.name ? domain : undefined;
}

function isReady(domain: DeepReadonly<Domain> | undefined): boolean {
  return findCondition(domain?.status?.conditions, 'Ready')?.status === 'True';
}
