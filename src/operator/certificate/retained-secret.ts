/**
 * Deletes the TLS Secret of a Domain or Project that is gone. It is kept for a while, so that a host that returns needs
 * no new certificate.
 */
import {timestamp} from '../../api/conditions.ts';
import {ANNOTATION} from '../../api/names.ts';
import type {Reconcile} from '../../runtime/controller/controller.ts';
import {after, done} from '../../runtime/controller/outcome.ts';
import {type DeepReadonly, type KubeObject, keyOf, objectKey} from '../../runtime/kube/object.ts';
import type {Base} from '../caches/context.ts';
import {BEHIND_MS, deleteAsRead, isGone} from '../caches/fresh.ts';
import {domainKeyOf, projectKeyOf} from '../caches/stores.ts';
import {CERTIFICATE, DOMAIN, PROJECT, SECRET} from '../kinds/kinds.ts';

/** Keys are those of the TLS Secrets with our label. */
export function reconcileRetainedSecret(operator: Base): Reconcile {
  const {stores, config, clock} = operator;
  return async (key, {client, signal}) => {
    const secret = stores.secrets.get(key);
    if (!secret || secret.metadata.deletionTimestamp) return done();
    const retainedSince = secret.metadata.annotations?.[ANNOTATION.retainedSince];
    const retain = (since: string | null) =>
      client.patch(
        SECRET,
        objectKey(secret),
        {metadata: {annotations: {[ANNOTATION.retainedSince]: since}}},
        {signal, metadataOnly: true},
      );
    const user = userOf(operator, secret);
    // Until its cache is synced, a user that is missing from it may exist.
    if (user?.store.state !== 'synced' || user.store.get(user.key)) {
      if (retainedSince) await retain(null);
      return done();
    }
    const retentionMs = config.certificates.secretRetentionSeconds * 1000;
    if (!retainedSince) {
      await retain(timestamp(clock.now()));
      return after(retentionMs);
    }
    const leftMs = Date.parse(retainedSince) + retentionMs - clock.now();
    if (leftMs > 0) return after(leftMs);
    if (!(await isGone({client, signal}, user.resource, user.key))) return after(BEHIND_MS);
    await deleteAsRead({client, signal}, SECRET, secret);
    return done();
  };
}

/** Undefined if it is not the Secret of a host. */
function userOf({stores, config, names}: Base, secret: DeepReadonly<KubeObject>) {
  const [domain] = domainKeyOf(secret) ?? [];
  if (domain !== undefined) return {resource: DOMAIN, store: stores.domains, key: domain};
  const [project] = projectKeyOf(secret);
  if (project === undefined) return undefined;
  const [namespace = '', name = ''] = project.split('/');
  const isPresent = secret.metadata.annotations?.[ANNOTATION.host] === names.defaultHost(name, namespace);
  if (isPresent && config.defaultHost.tls === 'certificate') {
    return {resource: PROJECT, store: stores.projects, key: project};
  }
  // Of a former default host.
  return {resource: CERTIFICATE, store: stores.certificates, key: keyOf(secret)};
}
