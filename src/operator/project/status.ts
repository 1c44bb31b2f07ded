/** The status of a Project, from the caches. Pure. */
import {type DecidedCondition, findCondition, settleConditions} from '../../api/conditions.ts';
import type {ProjectStatus} from '../../api/generated/project.ts';
import type {DeepReadonly} from '../../runtime/kube/object.ts';
import type {Domain, Project} from '../model/kinds.ts';
import {isManaged, type ListedHost, listedHosts} from '../model/project-hosts.ts';
import {Deployed, DomainsReady, progressOfProject} from './conditions.ts';

interface ProjectFacts {
  readonly defaultHost: string;
  readonly ready: DecidedCondition;
  /** When the Service first had a ready endpoint; undefined: never. */
  readonly deployedAt: string | undefined;
  readonly domainOf: (host: string) => DeepReadonly<Domain> | undefined;
  readonly nowMs: number;
}

export function projectStatus(project: DeepReadonly<Project>, facts: ProjectFacts): ProjectStatus {
  const {defaultHost, ready, deployedAt, domainOf, nowMs} = facts;
  const hosts = listedHosts(project);
  const isBeyondPlan = ready.reason === 'PlanLimitReached';
  const notDeployed = isBeyondPlan ? Deployed.planLimitReached() : Deployed.no(project.spec.service.name);
  const conditions = [
    ready,
    deployedAt ? Deployed.yes(deployedAt) : notDeployed,
    isBeyondPlan && hosts.length > 0 ? DomainsReady.planLimitReached() : summarizeDomains(project, hosts, domainOf),
    ...progressOfProject(ready),
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
    conditions: settleConditions(project.status?.conditions, conditions, project.metadata.generation ?? 0, nowMs),
  };
}

function summarizeDomains(
  project: DeepReadonly<Project>,
  hosts: readonly ListedHost[],
  domainOf: ProjectFacts['domainOf'],
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
  return waiting.length === 0 ? DomainsReady.all(hosts.length) : DomainsReady.waiting(waiting, hosts.length);
}

function ours(project: DeepReadonly<Project>, domain: DeepReadonly<Domain> | undefined) {
  return domain?.spec.projectRef.name === project.metadata.name ? domain : undefined;
}

function isReady(domain: DeepReadonly<Domain> | undefined): boolean {
  return findCondition(domain?.status?.conditions, 'Ready')?.status === 'True';
}
