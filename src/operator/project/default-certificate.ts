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

interface CertificateProgress {
  /** Why the default host does not have its own certificate yet. */
  readonly missing?: DecidedCondition | undefined;
  /** As in `Contested`. */
  readonly note?: string;
  /** When the Project must be reconciled again. */
  readonly wakeAtMs?: number;
}

type Intent = Omit<CertificateIntent, 'issuerRef'>;
type Host = Pick<Intent, 'namespace' | 'name' | 'host'>;

/** What the default host's Secret certifies, and whether its route stays although it certifies other names. */
interface SecretVerdict {
  readonly certified: Certified;
  readonly isKept: boolean;
}

/** How often to check whether a route whose removal is held back still harms nobody. */
const HELD_MS = 60_000;

/** A certificate with other names unpublishes the host, no matter what else the Project lacks. */
export async function judgeDefaultHost(
  context: Context,
  project: DeepReadonly<Project>,
  defaultHost: Host,
): Promise<SecretVerdict> {
  const {host, namespace, name} = defaultHost;
  const key = `${namespace}/${name}`;
  const cached = context.stores.secrets.get(key);
  const secret = certifiedBy(cached, host).kind === 'others' ? await readSecret(context, defaultHost) : cached;
  const certified = certifiedBy(secret, host);
  const isKept = certified.kind === 'others' && isHeld(context, project, defaultHost, dnsNamesIn(secret));
  if (certified.kind !== 'others') context.removals.forget('default-route', `${namespace}/${host}`);
  else if (!isKept) {
    const isJustified = async () => certifiedBy(await readSecret(context, defaultHost), host).kind === 'others';
    await deleteRoutes(context, key, isJustified);
  }
  return {certified, isKept};
}

/** Requests the certificate. */
export async function certifyDefaultHost(
  context: Context,
  building: Context,
  intent: Intent,
  {certified, isKept}: SecretVerdict,
): Promise<CertificateProgress> {
  const {stores, config, corrections, signal} = context;
  const {host, namespace, name} = intent;
  if (stores.certificates.state === 'missing') return {missing: ProjectReady.certManagerMissing(host)};
  const existing = stores.certificates.get(`${namespace}/${name}`);
  const certificate = buildCertificate({...intent, issuerRef: keptIssuer(config, existing)});
  await applyIfChanged(building.client, stores.certificates, CERTIFICATE, certificate, {
    hashAnnotation: ANNOTATION.appliedHash,
    corrections,
    signal,
  });
  if (isKept) return {missing: ProjectReady.removalHeld(host), wakeAtMs: context.clock.now() + HELD_MS};
  return {missing: explain(intent, existing, certified), ...contestedOf(context, [certificate])};
}

function readSecret(context: Context, {namespace, name}: Host) {
  return readFresh(context, SECRET, {namespace, name}, {metadataOnly: true});
}

/** Whether a published route stays, because there are too many removals that nobody requested. */
function isHeld(
  {stores, removals}: Context,
  {status}: DeepReadonly<Project>,
  {namespace, name, host}: Host,
  names: readonly string[],
): boolean {
  const key = `${namespace}/${host}`;
  const isPublished = routeObjects(stores, `${namespace}/${name}`).length > 0;
  // Nobody else can have a host below a default host.
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
