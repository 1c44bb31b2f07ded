/** The hosts of a Project, with the defaults that the schema leaves to the code. Pure. */
import type {DomainSpec} from '../../api/generated/domain.ts';
import {LABEL} from '../../api/names.ts';
import type {DeepReadonly} from '../../runtime/kube/object.ts';
import type {Domain, Project} from './kinds.ts';

type HostRole = 'Primary' | 'Alias' | 'Redirect';
export type RedirectStatus = 301 | 302 | 303 | 307 | 308;
export const DEFAULT_REDIRECT_STATUS: RedirectStatus = 301;

export interface ListedHost {
  readonly host: string;
  readonly role: HostRole;
  readonly redirect?: {readonly to: string; readonly status: RedirectStatus};
}

/** Every custom host of the Project, the primary first. */
export function listedHosts(project: DeepReadonly<Project>): ListedHost[] {
  const {primary, aliases = [], redirects = []} = project.spec.domains ?? {};
  const hosts: ListedHost[] = primary ? [{host: primary, role: 'Primary'}] : [];
  for (const host of aliases) hosts.push({host, role: 'Alias'});
  for (const {from, to = primary, status = DEFAULT_REDIRECT_STATUS} of redirects) {
    if (to) hosts.push({host: from, role: 'Redirect', redirect: {to, status}});
  }
  return hosts;
}

/**
 * The entry of `listedHosts`, without building the others: a tenant may create any number of Projects that list a host.
 */
export function listedHost(project: DeepReadonly<Project>, host: string): ListedHost | undefined {
  const {primary, aliases = [], redirects = []} = project.spec.domains ?? {};
  if (host === primary) return {host, role: 'Primary'};
  if (aliases.includes(host)) return {host, role: 'Alias'};
  const redirect = redirects.find(({from}) => from === host);
  const to = redirect?.to ?? primary;
  if (!redirect || !to) return undefined;
  return {host, role: 'Redirect', redirect: {to, status: redirect.status ?? DEFAULT_REDIRECT_STATUS}};
}

export interface DesiredDomain {
  readonly spec: DeepReadonly<DomainSpec>;
  readonly winner: DeepReadonly<Project>;
  /** The winner and its heir: both own the Domain, so it outlives the winner. Further owners would add only writes. */
  readonly owners: readonly DeepReadonly<Project>[];
}

/** The Domain that the Projects of a namespace define for `host`: the oldest decides. Undefined if none lists it. */
export function desiredDomain(host: string, projects: Iterable<DeepReadonly<Project>>): DesiredDomain | undefined {
  const owners = [...projects]
    .filter(project => !project.metadata.deletionTimestamp && listedHost(project, host) !== undefined)
    .sort(byAge);
  const winner = owners[0];
  const listed = winner && listedHost(winner, host);
  if (!winner || !listed) return undefined;
  return {
    spec: {host, projectRef: {name: winner.metadata.name}, ...(listed.redirect && {redirect: listed.redirect})},
    winner,
    owners: owners.slice(0, 2),
  };
}

/** Oldest first; the name decides a tie, such as after a restore. */
function byAge(a: DeepReadonly<Project>, b: DeepReadonly<Project>): number {
  const [left = '', right = ''] = [a.metadata.creationTimestamp, b.metadata.creationTimestamp];
  if (left !== right) return left < right ? -1 : 1;
  return a.metadata.name < b.metadata.name ? -1 : 1;
}

/** Listed by a Project, not created manually. */
export function isManaged(domain: DeepReadonly<Domain>): boolean {
  return domain.metadata.labels?.[LABEL.managed] === 'true';
}
