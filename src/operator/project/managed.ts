/**
 * Managed Domains: one for each host that the Projects of a namespace list. A Domain goes when no Project with a place
 * in the plan and none of its owners lists the host anymore: nobody loses a Domain by losing a place.
 */
import {isDeepStrictEqual} from 'node:util';
import {timestamp} from '../../api/conditions.ts';
import {hostNamed, objectNameOf} from '../../api/host-names.ts';
import {ANNOTATION, API_VERSION, LABEL} from '../../api/names.ts';
import {identify} from '../../runtime/apply/corrections.ts';
import type {Reconcile} from '../../runtime/controller/controller.ts';
import {after, done} from '../../runtime/controller/outcome.ts';
import {type DeepReadonly, objectKey, ownerOf} from '../../runtime/kube/object.ts';
import {deleteAsRead} from '../caches/fresh.ts';
import {listing} from '../caches/listing.ts';
import {isPausedHost} from '../caches/paused.ts';
import {isTerminating} from '../caches/stores.ts';
import {DOMAIN, type Domain} from '../kinds/kinds.ts';
import {type DesiredDomain, desiredDomain, isManaged} from '../kinds/project-hosts.ts';
import type {ProjectContext, ProjectOperator} from './context.ts';
import {UnlistedHosts} from './unlisted-hosts.ts';

const contested = (host: string) =>
  `Another program keeps changing or deleting Domain ${host}, which Projects manage, so Nameplate corrects it only from time to time. Change the Project instead, or ask the platform team to stop that program.`;

/**
 * Keys are "namespace/host". A manually created Domain is never taken over (the Project's DomainsReady reports it), so
 * a managed one is created by POST and changed at a resourceVersion.
 */
export function reconcileManagedDomain(operator: ProjectOperator): Reconcile {
  const {stores, corrections, events} = operator;
  const unlisted = new UnlistedHosts(operator);
  return async (key, {client, signal}) => {
    if (stores.projects.state !== 'synced') return done(); // without their kind, Projects missing from the cache are not gone
    const [namespace = '', name = ''] = key.split('/');
    const host = hostNamed(name);
    const desired = desiredDomain(host, listing(operator, key));
    const existing = stores.domains.get(key);
    if (existing && (!isManaged(existing) || existing.metadata.deletionTimestamp)) return done();
    if (!desired) {
      if (!existing) return done();
      const context = {...operator, client, signal};
      const waitMs = await unlisted.waitMs(context, key);
      if (waitMs > 0) return after(waitMs);
      await remove(context, existing);
      return done();
    }
    if (isPausedHost(operator, key)) return done();
    if (!existing && isTerminating(stores, namespace)) return done();
    const wanted = existing ? withDesired(existing, desired) : newDomain(namespace, desired);
    if (existing && isDeepStrictEqual(wanted, existing)) return done();
    const [id, content] = [identify(DOMAIN, wanted), JSON.stringify(desired.spec)];
    const pauseMs = corrections.pauseMs(id, content);
    if (pauseMs > 0) {
      events.event(existing ?? desired.winner, 'Warning', 'Contested', 'Correct', contested(host));
      return after(pauseMs);
    }
    if (existing) await client.patch(DOMAIN, objectKey(existing), change(wanted), {signal});
    else await client.create(DOMAIN, wanted, {signal});
    corrections.wrote(id, content);
    return done();
  };
}

/**
 * Marks the Domain and deletes it at the version that has the mark. A leader that decides otherwise removes the mark,
 * so a deletion that a former leader sent before fails.
 */
async function remove(context: ProjectContext, domain: DeepReadonly<Domain>): Promise<void> {
  const {client, signal, clock} = context;
  const {resourceVersion, annotations} = domain.metadata;
  const mark = {metadata: {resourceVersion, annotations: {[ANNOTATION.removingSince]: timestamp(clock.now())}}};
  const isMarked = annotations?.[ANNOTATION.removingSince];
  const marked = isMarked ? domain : await client.patch(DOMAIN, objectKey(domain), mark, {signal});
  await deleteAsRead(context, DOMAIN, marked);
}

function newDomain(namespace: string, desired: DesiredDomain): DeepReadonly<Domain> {
  const metadata = {name: objectNameOf(desired.spec.host), namespace};
  return withDesired({apiVersion: API_VERSION, kind: 'Domain', metadata, spec: desired.spec}, desired);
}

/**
 * The cache does not hold the complete Domain, so this merges the desired changes into it, at the version that was
 * read.
 */
function change({metadata, spec}: DeepReadonly<Domain>): Record<string, unknown> {
  const {resourceVersion, ownerReferences} = metadata;
  const annotations = {[ANNOTATION.removingSince]: null};
  return {metadata: {resourceVersion, ownerReferences, annotations}, spec: {...spec, redirect: spec.redirect ?? null}};
}

function withDesired(domain: DeepReadonly<Domain>, {spec, owners}: DesiredDomain): DeepReadonly<Domain> {
  const labels = {...domain.metadata.labels, [LABEL.managed]: 'true'};
  const others = (domain.metadata.ownerReferences ?? []).filter(owner => owner.kind !== 'Project');
  const ownerReferences = [...others, ...owners.map(ownerOf)];
  const {[ANNOTATION.removingSince]: _, ...annotations} = domain.metadata.annotations ?? {};
  const kept = domain.metadata.annotations && {annotations};
  return {...domain, metadata: {...domain.metadata, labels, ownerReferences, ...kept}, spec};
}
