/** Managed Domains: one for each host that the Projects of a namespace list, removed when none lists it any more. */
import {isDeepStrictEqual} from 'node:util';
import {API_VERSION, LABEL} from '../../api/names.ts';
import type {Reconcile} from '../../runtime/controller/controller.ts';
import {done} from '../../runtime/controller/outcome.ts';
import {type DeepReadonly, objectKey} from '../../runtime/kube/object.ts';
import {DOMAIN, type Domain} from '../model/kinds.ts';
import {ownerOf} from '../model/owner.ts';
import {type DesiredDomain, desiredDomain, isManaged} from '../model/project-hosts.ts';
import type {Operator} from '../state/context.ts';
import {isTerminating} from '../state/stores.ts';

/**
 * Keys are "namespace/host". A manually created Domain is never taken over (the Project's DomainsReady reports it), so
 * a managed one is created by POST and changed at a resourceVersion.
 */
export function reconcileManagedDomain({stores, places}: Operator): Reconcile {
  return async (key, {client, signal}) => {
    if (stores.projects.state !== 'synced') return done(); // without their kind, Projects missing from the cache are not gone
    const [namespace = '', host = ''] = key.split('/');
    const desired = desiredDomain(host, places.listing(key));
    const existing = stores.domains.get(key);
    if (existing && (!isManaged(existing) || existing.metadata.deletionTimestamp)) return done();
    if (!desired) {
      const {uid} = existing?.metadata ?? {};
      if (existing) await client.delete(DOMAIN, objectKey(existing), {...(uid && {preconditions: {uid}}), signal});
      return done();
    }
    if (!existing) {
      if (!isTerminating(stores, namespace)) await client.create(DOMAIN, newDomain(namespace, desired), {signal});
      return done();
    }
    const wanted = withDesired(existing, desired);
    if (!isDeepStrictEqual(wanted, existing)) await client.patch(DOMAIN, objectKey(existing), change(wanted), {signal});
    return done();
  };
}

function newDomain(namespace: string, desired: DesiredDomain): DeepReadonly<Domain> {
  const metadata = {name: desired.spec.host, namespace};
  return withDesired({apiVersion: API_VERSION, kind: 'Domain', metadata, spec: desired.spec}, desired);
}

/**
 * The cache does not hold the complete Domain, so this merges the desired changes into it, at the version that was
 * read.
 */
function change({metadata: {resourceVersion, ownerReferences}, spec}: DeepReadonly<Domain>): Record<string, unknown> {
  return {metadata: {resourceVersion, ownerReferences}, spec: {...spec, redirect: spec.redirect ?? null}};
}

function withDesired(domain: DeepReadonly<Domain>, {spec, owners}: DesiredDomain): DeepReadonly<Domain> {
  const labels = {...domain.metadata.labels, [LABEL.managed]: 'true'};
  const others = (domain.metadata.ownerReferences ?? []).filter(owner => owner.kind !== 'Project');
  const ownerReferences = [...others, ...owners.map(ownerOf)];
  return {...domain, metadata: {...domain.metadata, labels, ownerReferences}, spec};
}
