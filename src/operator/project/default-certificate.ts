/** The certificate of a default host, if the platform gives each its own. */
import {type DecidedCondition, findCondition, timestamp} from '../../api/conditions.ts';
import {ANNOTATION} from '../../api/names.ts';
import {applyIfChanged} from '../../runtime/apply/apply.ts';
import type {DeepReadonly} from '../../runtime/kube/object.ts';
import {contestedOf, deleteRoutes, routeObjects} from '../edge/publish.ts';
import {
  assessCertificate,
  buildCertificate,
  type CertificateIntent,
  type Certified,
  certifiedBy,
  dnsNamesIn,
  nextAttemptMs,
} from '../issuance/certificate.ts';
import {keptIssuer} from '../model/ca-account.ts';
import {CERTIFICATE, type Certificate, type Project, SECRET} from '../model/kinds.ts';
import type {Context} from '../state/context.ts';
import {readFresh} from '../state/fresh.ts';
import {accountIn} from '../state/stores.ts';
import {ProjectReady} from './conditions.ts';

export interface CertificateProgress {
  /** Why the default host has no certificate of its own yet. */
  readonly missing?: DecidedCondition | undefined;
  /** As of `Contested`. */
  readonly note?: string;
  /** When the Project must be reconciled again. */
  readonly wakeAtMs?: number;
}

type Intent = Omit<CertificateIntent, 'issuerRef'>;

/** How often to check whether a route whose removal is held still harms nobody. */
const HELD_MS = 60_000;

/** Requests the certificate. One with other names unpublishes the host. */
export async function certifyDefaultHost(
  context: Context,
  building: Context,
  project: DeepReadonly<Project>,
  intent: Intent,
): Promise<CertificateProgress> {
  const {stores, config, removals, corrections, signal} = context;
  const {host, namespace, name} = intent;
  if (stores.certificates.state === 'missing') return {missing: ProjectReady.certManagerMissing(host)};
  const key = `${namespace}/${name}`;
  const existing = stores.certificates.get(key);
  const cached = stores.secrets.get(key);
  const secret = certifiedBy(cached, host).kind === 'others' ? await readSecret(context, intent) : cached;
  const certified = certifiedBy(secret, host);
  const isKept = certified.kind === 'others' && isHeld(context, project, intent, dnsNamesIn(secret));
  if (certified.kind !== 'others') removals.forget('default-route', `${namespace}/${host}`);
  else if (!isKept) {
    const isJustified = async () => certifiedBy(await readSecret(context, intent), host).kind === 'others';
    await deleteRoutes(context, key, isJustified);
  }
  const certificate = buildCertificate({...intent, issuerRef: keptIssuer(config, existing)});
  const {object} = await applyIfChanged(building.client, stores.certificates, CERTIFICATE, certificate, {
    hashAnnotation: ANNOTATION.appliedHash,
    corrections,
    signal,
  });
  if (isKept) return {missing: ProjectReady.removalHeld(host), wakeAtMs: context.clock.now() + HELD_MS};
  return {missing: explain(intent, existing, certified), ...contestedOf(context, [object])};
}

function readSecret(context: Context, {namespace, name}: Intent) {
  return readFresh(context, SECRET, {namespace, name}, {metadataOnly: true});
}

/** Whether a published route stays, because there are too many removals that nobody requested. */
function isHeld(
  {stores, removals}: Context,
  {status}: DeepReadonly<Project>,
  {namespace, name, host}: Intent,
  names: readonly string[],
): boolean {
  const key = `${namespace}/${host}`;
  const isPublished = routeObjects(stores, `${namespace}/${name}`).length > 0;
  // Nobody else can have a host beneath a default host.
  const harmsNobody = names.every(other => other === host || other.endsWith(`.${host}`));
  if (!isPublished || !harmsNobody) {
    removals.forget('default-route', key);
    return false;
  }
  const wasHeld = findCondition(status?.conditions, 'Ready')?.reason === 'RemovalHeld';
  return !removals.admit({removed: 'default-route', key, account: accountIn(stores, namespace) ?? '', wasHeld});
}

function explain(
  {host, name}: Intent,
  existing: DeepReadonly<Certificate> | undefined,
  certified: Certified,
): DecidedCondition | undefined {
  if (certified.kind === 'others') return ProjectReady.certificateForOthers(host, certified.names, name);
  if (!existing) return ProjectReady.certificate(host);
  const state = assessCertificate(existing, certified);
  switch (state.kind) {
    case 'issued':
    case 'renewal-failing':
      return undefined;
    case 'failed': {
      const nextMs = nextAttemptMs(existing);
      const next = nextMs === undefined ? undefined : timestamp(nextMs);
      return ProjectReady.certificateFailed(host, state.why, next, name);
    }
    default:
      return ProjectReady.certificate(host);
  }
}
