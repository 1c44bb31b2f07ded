/**
 * Changes of the hosts of a Project, as JSON patches that apply only to the hosts that were read. Pure: the API server
 * decides what is valid.
 */
import {isApex, isWildcard} from '../../dns/dns.ts';
import type {Project} from '../../operator/kinds/kinds.ts';
import {listedHosts} from '../../operator/kinds/project-hosts.ts';
import type {PatchOperation} from '../../runtime/kube/calls.ts';
import type {DeepReadonly} from '../../runtime/kube/object.ts';

type Hosts = DeepReadonly<NonNullable<Project['spec']['domains']>>;

export interface Addition {
  readonly host: string;
  /** Redirect there instead of serving the project. */
  readonly redirectTo: string | undefined;
  /** Also list the other name of an apex and its `www`, as a redirect. */
  readonly withTwin: boolean;
}

export interface Edit {
  /** The hosts afterwards. */
  readonly domains: Hosts;
  readonly patch: readonly PatchOperation[];
}

const PATH = '/spec/domains';

/** The name that visitors confuse with `host`: an apex and its `www` are twins. */
export function twinOf(host: string): string | undefined {
  if (isApex(host)) return `www.${host}`;
  const apex = host.startsWith('www.') ? host.slice(4) : '';
  return isApex(apex) ? apex : undefined;
}

/** The first host that serves the Project is its primary; others, and wildcards, are aliases. */
export function addHost(project: DeepReadonly<Project>, {host, redirectTo, withTwin}: Addition): Edit {
  const hosts = project.spec.domains ?? {};
  const twin = withTwin ? twinOf(host) : undefined;
  const isListed = listedHosts(project).some(listed => listed.host === twin);
  const redirects = [
    ...(redirectTo === undefined ? [] : [redirectOf(hosts, host, redirectTo)]),
    ...(twin === undefined || isListed ? [] : [{from: twin, to: redirectTo ?? host}]),
  ];
  const serves = redirectTo === undefined;
  const isPrimary = hosts.primary === undefined && !isWildcard(host);
  return editOf(project, {
    ...hosts,
    ...(serves && isPrimary && {primary: host}),
    ...(serves && !isPrimary && {aliases: [...(hosts.aliases ?? []), host]}),
    ...(redirects.length > 0 && {redirects: [...(hosts.redirects ?? []), ...redirects]}),
  });
}

/** As a person would write it: a redirect to the primary follows the primary. */
function redirectOf(hosts: Hosts, from: string, to: string): NonNullable<Hosts['redirects']>[number] {
  return to === hosts.primary ? {from} : {from, to};
}

/** The hosts that end with `host`: itself, and those that redirect to it. */
export function hostsThatEndWith(project: DeepReadonly<Project>, host: string): readonly string[] {
  const found = new Set([host]);
  const listed = listedHosts(project);
  // A redirect to a redirect ends too.
  for (const each of found) for (const {redirect, ...other} of listed) if (redirect?.to === each) found.add(other.host);
  return [...found];
}

/** Removes the host, and the redirects to it, which would point to nothing. */
export function removeHost(project: DeepReadonly<Project>, host: string): Edit {
  const removed = new Set(hostsThatEndWith(project, host));
  const {primary, aliases, redirects} = project.spec.domains ?? {};
  const kept = {
    primary: primary !== undefined && removed.has(primary) ? undefined : primary,
    aliases: nonEmpty(aliases?.filter(each => !removed.has(each))),
    redirects: nonEmpty(redirects?.filter(({from}) => !removed.has(from))),
  };
  return editOf(project, Object.fromEntries(Object.entries(kept).filter(([, value]) => value !== undefined)));
}

function nonEmpty<T>(items: readonly T[] | undefined): readonly T[] | undefined {
  return items === undefined || items.length === 0 ? undefined : items;
}

/** One `test` on all hosts: a role of a host depends on the others. The status has its own writer and plays no part. */
function editOf(project: DeepReadonly<Project>, domains: Hosts): Edit {
  const {uid} = project.metadata;
  const same: PatchOperation = {op: 'test', path: '/metadata/uid', value: uid};
  const read = project.spec.domains;
  if (read === undefined) {
    // Nothing can be tested at a path that does not exist, so the whole spec is.
    const service: PatchOperation = {op: 'test', path: '/spec', value: project.spec};
    return {domains, patch: [same, service, {op: 'add', path: PATH, value: domains}]};
  }
  return {domains, patch: [same, {op: 'test', path: PATH, value: read}, {op: 'replace', path: PATH, value: domains}]};
}
