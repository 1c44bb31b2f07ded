/** Where a chain of redirects ends. Pure. */
import {isDeepStrictEqual} from 'node:util';
import {findCondition} from '../../api/conditions.ts';
import type {Delta, ReadonlyStore} from '../../runtime/cache/store.ts';
import {type DeepReadonly, keyOf} from '../../runtime/kube/object.ts';
import {INDEX} from '../caches/stores.ts';
import {hostKey} from '../kinds/derived-names.ts';
import type {Domain, Project} from '../kinds/kinds.ts';
import {isManaged, listedHost} from '../kinds/project-hosts.ts';
import type {DomainOperator} from './context.ts';
import {REDIRECT_REASONS} from './reasons.ts';

/** A host as the chain sees it; `to` is set when it redirects in turn. */
export interface Hop {
  readonly host: string;
  readonly to?: string;
}

/**
 * The maximum length of a chain. A few hops are enough for any real use, and each one adds work to every reconcile of
 * the hosts before it.
 */
export const MAX_REDIRECTS = 32;

type RedirectEnd =
  | {readonly kind: 'serves'; readonly host: string}
  | {readonly kind: 'loop'; readonly path: readonly string[]}
  /** The chain continues beyond the end of `path`. */
  | {readonly kind: 'too-long'; readonly path: readonly string[]}
  | {readonly kind: 'not-ours'; readonly host: string};

/**
 * Follows a chain from `start`, so that the visitor is redirected only once, no matter how long the chain in the spec
 * is. `hop` returns a host of the same project, or undefined for any other host.
 */
export function followRedirects(start: Hop, hop: (host: string) => Hop | undefined): RedirectEnd {
  const passed = new Set([start.host]);
  let at = start;
  while (at.to !== undefined) {
    if (passed.has(at.to)) return {kind: 'loop', path: [...afterFirst(passed, at.to), at.to]};
    if (passed.size > MAX_REDIRECTS) return {kind: 'too-long', path: [...passed]};
    const next = hop(at.to);
    if (!next) return {kind: 'not-ours', host: at.to};
    passed.add(next.host);
    at = next;
  }
  return {kind: 'serves', host: at.host};
}

/** The hosts from `first` on. */
function afterFirst(passed: ReadonlySet<string>, first: string): string[] {
  const path = [...passed];
  return path.slice(path.indexOf(first));
}

interface Redirecting {
  readonly namespace: string;
  readonly host: string;
  readonly redirect: DeepReadonly<Domain['spec']['redirect']>;
}

/** Where the Domain's redirect ends, following the Domains and the hosts that the project lists. */
export function redirectEnd(
  {stores, outdated}: Pick<DomainOperator, 'stores' | 'outdated'>,
  {namespace, host, redirect}: Redirecting,
  project: DeepReadonly<Project>,
): RedirectEnd {
  const start = redirect ? {host, to: redirect.to} : {host};
  return followRedirects(start, name => {
    if (name === host) return start;
    const key = hostKey(namespace, name);
    const other = stores.domains.get(key);
    // The Project's list takes precedence over a managed Domain that is about to be created or changed to match it.
    const isListed = !other || (isManaged(other) && !outdated.isInForce(key));
    const entry = isListed ? listedHost(project, name) : undefined;
    if (entry) return entry.redirect ? {host: name, to: entry.redirect.to} : {host: name};
    if (other?.spec.projectRef.name !== project.metadata.name) return undefined;
    return other.spec.redirect ? {host: name, to: other.spec.redirect.to} : {host: name};
  });
}

/**
 * The hosts, and those whose redirects point to them through at most as many hosts as a chain may have. Walks through
 * refused Domains without including them: a change therefore requeues no more Domains than the plan allows, no matter
 * how many a tenant has created manually.
 */
export function withRedirectsTo(
  domains: Pick<ReadonlyStore<Domain>, 'byIndex'>,
  hosts: Iterable<string>,
): ReadonlySet<string> {
  const concerned = new Set(hosts);
  const passed = new Set(concerned);
  let level = [...concerned];
  for (let depth = 0; depth < MAX_REDIRECTS && level.length > 0; depth++) {
    const next: string[] = [];
    for (const redirect of level.flatMap(key => domains.byIndex(INDEX.redirectTo, key))) {
      const key = keyOf(redirect);
      if (passed.has(key)) continue;
      passed.add(key);
      next.push(key);
      if (!isRefusedBefore(redirect)) concerned.add(key);
    }
    level = next;
  }
  return concerned;
}

function isRefusedBefore({status}: DeepReadonly<Domain>): boolean {
  const accepted = findCondition(status?.conditions, 'Accepted');
  return accepted?.status === 'False' && !REDIRECT_REASONS.has(accepted.reason);
}

/** Whether a redirect to the host could now end differently, or be published. */
export function mattersToRedirects({object, old}: Delta<Domain>): boolean {
  return old === undefined || !isDeepStrictEqual(seenByRedirects(old), seenByRedirects(object));
}

function seenByRedirects(domain: DeepReadonly<Domain>) {
  const {status, observedGeneration} = findCondition(domain.status?.conditions, 'Routed') ?? {};
  const isCertified = findCondition(domain.status?.conditions, 'CertificateReady')?.status === 'True';
  const {generation} = domain.metadata;
  return {spec: domain.spec, managed: isManaged(domain), generation, status, observedGeneration, isCertified};
}
