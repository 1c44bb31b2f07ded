/** Which Domains a change to a host affects, because their redirects pass through it. */
import {isDeepStrictEqual} from 'node:util';
import {findCondition} from '../../api/conditions.ts';
import type {Delta, ReadonlyStore} from '../../runtime/cache/store.ts';
import {type DeepReadonly, keyOf} from '../../runtime/kube/object.ts';
import {INDEX} from '../caches/stores.ts';
import type {Domain} from '../kinds/kinds.ts';
import {isManaged} from '../kinds/project-hosts.ts';
import {REDIRECT_REASONS} from './reasons.ts';
import {MAX_REDIRECTS} from './redirect-chain.ts';

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
