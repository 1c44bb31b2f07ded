/**
 * Deletes the TLS Secret of a Domain or Project that is gone. It is kept for a while, so that a host that returns needs
 * no new certificate.
 */
import {timestamp} from '../../api/conditions.ts';
import {ANNOTATION, LABEL} from '../../api/names.ts';
import type {Reconcile} from '../../runtime/controller/controller.ts';
import {after, done} from '../../runtime/controller/outcome.ts';
import {type DeepReadonly, type KubeObject, objectKey} from '../../runtime/kube/object.ts';
import type {ApiAccess, Base} from '../caches/context.ts';
import {BEHIND_MS, deleteAsRead, isGone} from '../caches/fresh.ts';
import {domainKeyOf, inNamespace, type Stores} from '../caches/stores.ts';
import {DOMAIN, PROJECT, SECRET} from '../kinds/kinds.ts';

/** Keys are those of the TLS Secrets with our label. */
export function reconcileRetainedSecret({stores, config, clock}: Base): Reconcile {
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
    if (isInUse(stores, secret)) {
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
    if (!(await isLeft({client, signal}, secret))) return after(BEHIND_MS);
    await deleteAsRead({client, signal}, SECRET, secret);
    return done();
  };
}

/** If a cache is not synced, the Secret counts as in use. */
function isInUse({domains, projects}: Stores, secret: DeepReadonly<KubeObject>): boolean {
  if (domains.state !== 'synced' || projects.state !== 'synced') return true;
  const project = secret.metadata.labels?.[LABEL.project];
  if (project !== undefined) return projects.get(inNamespace(secret, project)) !== undefined;
  const [domainKey] = domainKeyOf(secret) ?? [];
  return domainKey === undefined || domains.get(domainKey) !== undefined;
}

/** Whether the API server, too, has nothing that uses the Secret. */
async function isLeft(api: ApiAccess, secret: DeepReadonly<KubeObject>): Promise<boolean> {
  const project = secret.metadata.labels?.[LABEL.project];
  if (project !== undefined) return isGone(api, PROJECT, inNamespace(secret, project));
  const [domainKey] = domainKeyOf(secret) ?? [];
  return domainKey !== undefined && isGone(api, DOMAIN, domainKey);
}
