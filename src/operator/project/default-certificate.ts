/** The certificate of a default host, if the platform gives each its own. */
import {type DecidedCondition, findCondition, timestamp} from '../../api/conditions.ts';
import {ANNOTATION} from '../../api/names.ts';
import {applyIfChanged} from '../../runtime/apply/apply.ts';
import type {DeepReadonly, KubeObject} from '../../runtime/kube/object.ts';
import {readFresh} from '../caches/fresh.ts';
import {
  type Attempt,
  attemptOf,
  buildCertificate,
  type CertificateIntent,
  type Certified,
  certifiedBy,
  changesAtMs,
  datesOf,
  dnsNamesIn,
  type HeldCertificate,
  heldCertificate,
  nextAttemptMs,
  sentence,
} from '../certificate/certificate.ts';
import {type Issuance, lastProblem} from '../claim/order-records.ts';
import {contestOf, deleteRoutes, routeObjects} from '../edge/publish.ts';
import {acmeIssuerOf, keptIssuer} from '../kinds/issuers.ts';
import {CERTIFICATE, type Certificate, SECRET} from '../kinds/kinds.ts';
import {earliest} from '../kinds/steps.ts';
import {ProjectReady} from './conditions.ts';
import type {ProjectContext} from './context.ts';

interface CertificateProgress {
  /** Why the default host does not have its own certificate yet, so it is not published. */
  readonly missing?: DecidedCondition | undefined;
  /** A problem to report although the default host is published. */
  readonly trouble?: DecidedCondition | undefined;
  /** As in `Contest`. */
  readonly contested?: string | undefined;
  /** When the Project must be reconciled again. */
  readonly wakeAtMs?: number | undefined;
}

type Intent = Omit<CertificateIntent, 'issuerRef'>;
type Host = Pick<Intent, 'namespace' | 'name' | 'host'>;

interface SecretVerdict {
  readonly certified: Certified;
  /** The certificate names other hosts, but a route that is published stays. */
  readonly isKept: boolean;
}

/** A certificate for somebody else's hosts unpublishes the host, no matter what else the Project lacks. */
export async function judgeDefaultHost(context: ProjectContext, defaultHost: Host): Promise<SecretVerdict> {
  const {host, namespace, name} = defaultHost;
  const key = `${namespace}/${name}`;
  const cached = context.stores.secrets.get(key);
  const secret = certifiedBy(cached, host).kind === 'others' ? await readSecret(context, defaultHost) : cached;
  if (isHarmful(secret, host)) {
    await deleteRoutes(context, key, async () => isHarmful(await readSecret(context, defaultHost), host));
  }
  const isPublished = routeObjects(context.stores, key).length > 0;
  return {certified: certifiedBy(secret, host), isKept: isPublished && !isHarmful(secret, host)};
}

/** Nobody else can have a host below a default host. */
function isHarmful(secret: DeepReadonly<KubeObject> | undefined, host: string): boolean {
  const isBelow = (name: string) => name === host || name.endsWith(`.${host}`);
  return certifiedBy(secret, host).kind === 'others' && !dnsNamesIn(secret).every(isBelow);
}

/** Requests the certificate. */
export async function certifyDefaultHost(
  context: ProjectContext,
  building: ProjectContext,
  intent: Intent,
  {certified, isKept}: SecretVerdict,
): Promise<CertificateProgress> {
  const {stores, config, corrections, signal} = context;
  const {host, namespace, name} = intent;
  const isPublished = routeObjects(stores, `${namespace}/${name}`).length > 0;
  if (stores.certificates.state === 'missing') {
    // Without its kind, nobody knows until when the certificate of a default host is valid.
    return isPublished && certified.kind === 'host' ? {} : {missing: ProjectReady.certManagerMissing(host)};
  }
  const existing = stores.certificates.get(`${namespace}/${name}`);
  const certificate = buildCertificate({...intent, issuerRef: keptIssuer(config, existing)});
  await applyIfChanged(building.client, stores.certificates, CERTIFICATE, certificate, {
    hashAnnotation: ANNOTATION.appliedHash,
    corrections,
    signal,
  });
  const nowMs = context.clock.now();
  const held = heldCertificate(existing, certified, datesOf(existing, undefined), nowMs);
  const problem = lastProblem(stores.claims.get(host), acmeIssuerOf(certificate.spec.issuerRef));
  const contest = contestOf(context, [certificate]);
  return {
    ...explain(intent, existing, {
      ...{held, isKept, isPublished, nowMs, problem},
      outage: context.certManager.problem(),
    }),
    ...contest,
    wakeAtMs: earliest(contest.wakeAtMs, changesAtMs(held, nowMs)),
  };
}

function readSecret(context: ProjectContext, {namespace, name}: Host) {
  return readFresh(context, SECRET, {namespace, name}, {metadataOnly: true});
}

interface Judged {
  readonly held: HeldCertificate;
  readonly isKept: boolean;
  readonly isPublished: boolean;
  readonly nowMs: number;
  /** The CA's problem with the last order, while the next one waits. */
  readonly problem: DeepReadonly<Issuance['problem']>;
  /** Why cert-manager issues nothing now. */
  readonly outage: string | undefined;
}

/** An expired certificate still names only the host, so its route is kept as it should be. */
function explain(
  {host, name}: Intent,
  existing: DeepReadonly<Certificate> | undefined,
  {held, isKept, isPublished, nowMs, problem, outage}: Judged,
): Pick<CertificateProgress, 'missing' | 'trouble'> {
  if (held.kind === 'misnamed') return {missing: ProjectReady.certificateForOthers(host, held.names, name, isKept)};
  const isCalledReady = findCondition(existing?.status?.conditions, 'Ready')?.status === 'True';
  if (held.kind === 'undated' && (isPublished || isCalledReady)) return {};
  const isInUse = held.kind === 'valid' && nowMs < held.overdueAtMs;
  const attempt: Attempt | undefined = problem
    ? {kind: 'failed', why: sentence(`${problem.type}: ${problem.detail}`)}
    : existing && attemptOf(existing, {isNeeded: held.kind !== 'valid', nowMs});
  const nextMs = existing && nextAttemptMs(existing);
  const next = problem?.retryAt ?? (nextMs === undefined ? undefined : timestamp(nextMs));
  const why =
    attempt?.kind === 'failed'
      ? `${attempt.why}${next === undefined ? '' : ` The next attempt is at ${next}.`}`
      : (outage ?? 'cert-manager has not renewed it.');
  switch (held.kind) {
    case 'valid': {
      if (isInUse && attempt?.kind !== 'failed') return {};
      return {trouble: ProjectReady.renewalFailing(host, timestamp(held.notAfterMs), why, name)};
    }
    case 'expired': {
      const expired = ProjectReady.certificateExpired(host, timestamp(held.notAfterMs), why, name);
      return isPublished ? {trouble: expired} : {missing: expired};
    }
    default:
      return {
        missing:
          attempt?.kind === 'failed'
            ? ProjectReady.certificateFailed(host, attempt.why, next, name)
            : ProjectReady.certificate(host, outage),
      };
  }
}
