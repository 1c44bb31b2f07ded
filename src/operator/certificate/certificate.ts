/** One cert-manager Certificate per host: how to build, judge, and retry it. Pure. */
import {Certificate as CertificateModel} from '@kubernetes-models/cert-manager/cert-manager.io/v1/Certificate';
import {findCondition, timestamp} from '../../api/conditions.ts';
import {ANNOTATION, LABEL} from '../../api/names.ts';
import type {DeepReadonly, KubeObject, OwnerReference} from '../../runtime/kube/object.ts';
import {hostLabel} from '../kinds/derived-names.ts';
import type {Certificate} from '../kinds/kinds.ts';

const HOUR_MS = 3_600_000;

export interface CertificateIntent {
  readonly name: string;
  readonly namespace: string;
  readonly host: string;
  readonly issuerRef: DeepReadonly<Certificate['spec']['issuerRef']>;
  readonly owner: OwnerReference;
  /** Set on the certificate of a default host. */
  readonly project?: string;
  /** If the CA does not validate the host by HTTP-01: the kind of challenge. */
  readonly challenge?: string | undefined;
  /** As `renewBeforePercentage` returns it. */
  readonly renewBeforePercentage?: number | null | undefined;
}

/** The Secret has the Certificate's name and our labels, so that it can outlive the Certificate and be swept later. */
export function buildCertificate(intent: CertificateIntent): Certificate {
  const {name, namespace, host, issuerRef, owner, project, challenge, renewBeforePercentage} = intent;
  const labels = {
    [LABEL.managedBy]: 'nameplate',
    [LABEL.host]: hostLabel(host),
    ...(project !== undefined && {[LABEL.project]: project}),
  };
  const annotations = {[ANNOTATION.host]: host};
  const challenged = challenge === undefined ? annotations : {...annotations, [ANNOTATION.challenge]: challenge};
  const model = new CertificateModel({
    metadata: {name, namespace, labels, annotations: challenged, ownerReferences: [owner]},
    spec: {
      secretName: name,
      dnsNames: [host],
      issuerRef: {...issuerRef},
      privateKey: {algorithm: 'ECDSA', size: 256, rotationPolicy: 'Always'},
      secretTemplate: {labels, annotations},
    },
  });
  model.validate();
  const certificate = model.toJSON() as Certificate;
  if (renewBeforePercentage === undefined) return certificate;
  return {...certificate, spec: {...certificate.spec, renewBeforePercentage}};
}

/** The certificate in a Secret: one for only the host, or one that names others. */
export type Certified =
  | {readonly kind: 'nothing'}
  | {readonly kind: 'host'}
  | {readonly kind: 'others'; readonly names: string};

/** The DNS names in the certificate that a Secret holds, as cert-manager records them. */
export function dnsNamesIn(secret: DeepReadonly<KubeObject> | undefined): string[] {
  const {annotations = {}} = secret?.metadata ?? {};
  const names = ['alt-names', 'common-name'].map(name => annotations[`cert-manager.io/${name}`] ?? '');
  return names.flatMap(text => text.toLowerCase().split(',')).filter(Boolean);
}

/**
 * The annotations in which cert-manager records the certificate's other names, besides the DNS names in `alt-names`.
 */
const OTHER_NAMES = ['ip-sans', 'uri-sans', 'email-sans'].map(name => `cert-manager.io/${name}`);
const MAX_NAMES_LENGTH = 200;

/**
 * A request states the names for a certificate, but the issuer decides them, and a tenant can run the Issuer of its
 * namespace. An ingress uses a certificate for every name in it, whichever route it came with, so one that names
 * another tenant's host must never be routed.
 */
export function certifiedBy(secret: DeepReadonly<KubeObject> | undefined, host: string): Certified {
  const {annotations = {}} = secret?.metadata ?? {};
  const dnsNames = annotations['cert-manager.io/alt-names'];
  if (dnsNames === undefined) return {kind: 'nothing'}; // or cert-manager has not annotated it yet
  const commonName = annotations['cert-manager.io/common-name'] ?? '';
  const others = OTHER_NAMES.flatMap(annotation => annotations[annotation] || []);
  const isHost = (name: string) => name.toLowerCase() === host;
  if (isHost(dnsNames) && (commonName === '' || isHost(commonName)) && others.length === 0) return {kind: 'host'};
  const names = [...new Set([dnsNames, commonName, ...others])].filter(Boolean).join(', ') || 'nothing';
  return {kind: 'others', names: names.slice(0, MAX_NAMES_LENGTH).replace(/[^ -~]/g, '?')};
}

/** The certificate in the Secret, by the clock. No condition of another controller says that a certificate is usable. */
export type HeldCertificate =
  | {readonly kind: 'nothing'}
  | {readonly kind: 'misnamed'; readonly names: string}
  /** It names only the host, but nobody has said until when it is valid. */
  | {readonly kind: 'undated'}
  | {readonly kind: 'early'; readonly notBeforeMs: number}
  /** `overdueAtMs`: when a renewal counts as failing, however it is going. */
  | {readonly kind: 'valid'; readonly notAfterMs: number; readonly overdueAtMs: number}
  | {readonly kind: 'expired'; readonly notAfterMs: number};

/** In RFC 3339, as cert-manager reads them from the Secret. */
export interface CertificateDates {
  readonly notBefore?: string | undefined;
  readonly notAfter?: string | undefined;
  readonly renewalTime?: string | undefined;
}

/** cert-manager found in these cases that the edge cannot use what is in the Secret, whatever it names. */
const DAMAGED: ReadonlySet<string> = new Set(['MissingData', 'InvalidKeyPair', 'InvalidCertificate']);
/** The CA's clock or ours may be wrong by this much. A host that visitors can reach must not go down for that. */
export const CLOCK_TOLERANCE_MS = 2 * HOUR_MS;
/** The part of its lifetime that a certificate may be due before its renewal counts as failing. */
const OVERDUE_SHARE = 0.1;

/** The dates of the certificate in the Secret; `last`: those that were known before cert-manager lost its status. */
export function datesOf(
  certificate: DeepReadonly<Certificate> | undefined,
  last: CertificateDates | undefined,
): CertificateDates {
  const {notBefore, notAfter, renewalTime} = certificate?.status ?? {};
  return notAfter === undefined ? (last ?? {}) : {notBefore, notAfter, renewalTime};
}

/** Half of such a lifetime is hardly enough for an outage over a weekend. */
const SHORT_LIFETIME_MS = 10 * 24 * HOUR_MS;
const HALF = 50;

/**
 * cert-manager renews a certificate when a third of its lifetime is left, and one with a short lifetime when half of it
 * is left, if we say so (https://letsencrypt.org/docs/integration-guide/#when-to-renew). Only a CA knows the lifetime,
 * so the first one tells. Null: it must no longer say so; undefined: nothing is to be said.
 */
export function renewBeforePercentage(
  {notBefore, notAfter}: CertificateDates,
  certificate: DeepReadonly<Certificate> | undefined,
): number | null | undefined {
  const said = certificate?.spec.renewBeforePercentage ?? undefined;
  const [sinceMs, untilMs] = [parsed(notBefore), parsed(notAfter)];
  if (sinceMs === undefined || untilMs === undefined) return said;
  if (untilMs - sinceMs < SHORT_LIFETIME_MS) return HALF;
  return said === undefined ? undefined : null;
}

/**
 * It is usable if it names only the host and is valid now. cert-manager's condition Ready says something else, for
 * example whether it came from the current issuer, and stays as it was while cert-manager is down.
 */
export function heldCertificate(
  certificate: DeepReadonly<Certificate> | undefined,
  certified: Certified,
  {notBefore, notAfter, renewalTime}: CertificateDates,
  nowMs: number,
): HeldCertificate {
  if (certified.kind === 'others') return {kind: 'misnamed', names: certified.names};
  const ready = findCondition(certificate?.status?.conditions, 'Ready');
  if (certified.kind === 'nothing' || (ready?.status === 'False' && DAMAGED.has(ready.reason ?? '')))
    return {kind: 'nothing'};
  const [notBeforeMs, notAfterMs, renewalMs] = [parsed(notBefore), parsed(notAfter), parsed(renewalTime)];
  if (notAfterMs === undefined) return {kind: 'undated'};
  if (nowMs >= notAfterMs) return {kind: 'expired', notAfterMs};
  if (notBeforeMs !== undefined && nowMs < notBeforeMs - CLOCK_TOLERANCE_MS) return {kind: 'early', notBeforeMs};
  const isKnown = notBeforeMs !== undefined && renewalMs !== undefined;
  const overdueAtMs = isKnown ? renewalMs + OVERDUE_SHARE * (notAfterMs - notBeforeMs) : notAfterMs;
  return {kind: 'valid', notAfterMs, overdueAtMs: Math.min(overdueAtMs, notAfterMs)};
}

function parsed(time: string | undefined): number | undefined {
  const ms = Date.parse(time ?? '');
  return Number.isNaN(ms) ? undefined : ms;
}

/** A wall clock may be set, and a timer does not notice: what depends on a date is judged at least this often. */
const LOOK_AGAIN_MS = 6 * HOUR_MS;

/** Who is harmed by a certificate with other names may change at any time. */
const MISNAMED_MS = 60_000;

/** When to judge a certificate again although nothing about it has changed but the time; undefined: never. */
export function changesAtMs(held: HeldCertificate, nowMs: number): number | undefined {
  if (held.kind === 'misnamed') return nowMs + MISNAMED_MS;
  const nextMs = nextChangeMs(held, nowMs);
  return nextMs === undefined ? undefined : Math.min(nextMs, nowMs + LOOK_AGAIN_MS);
}

function nextChangeMs(held: HeldCertificate, nowMs: number): number | undefined {
  if (held.kind === 'early') return held.notBeforeMs - CLOCK_TOLERANCE_MS;
  if (held.kind !== 'valid') return undefined;
  return nowMs < held.overdueAtMs ? held.overdueAtMs : held.notAfterMs;
}

/** The progress of cert-manager with a certificate. It only explains the next step. */
export type Attempt =
  | {readonly kind: 'none'}
  | {readonly kind: 'failed'; readonly why: string}
  /**
   * `isStarted`: cert-manager said so. `sinceMs`: undefined if nobody recorded a time that can be true.
   */
  | {
      readonly kind: 'running';
      readonly isStarted: boolean;
      readonly sinceMs: number | undefined;
      readonly progress: string;
    };

/**
 * `isNeeded`: the Secret holds no certificate that can be used, so cert-manager must create one, even if it has not
 * noticed. `orderedAtMs`: when the last order was placed; the time that it waited before is not the CA's.
 */
export function attemptOf(
  certificate: DeepReadonly<Certificate>,
  {isNeeded, orderedAtMs = 0, nowMs}: {isNeeded: boolean; orderedAtMs?: number | undefined; nowMs: number},
): Attempt {
  const {conditions, lastFailureTime} = certificate.status ?? {};
  const issuing = findCondition(conditions, 'Issuing');
  const isIssuing = issuing?.status === 'True';
  if (lastFailureTime !== undefined && !isIssuing) {
    return {kind: 'failed', why: sentence(issuing?.message ?? 'cert-manager reports no reason')};
  }
  if (!isIssuing && !isNeeded) return {kind: 'none'};
  const progress = isIssuing && issuing.message ? ` cert-manager: ${sentence(issuing.message)}` : '';
  // Ready, but its Secret is gone, which cert-manager may not notice: nobody knows since when.
  const isReplacing = !isIssuing && findCondition(conditions, 'Ready')?.status === 'True';
  const began = isReplacing ? [] : [issuing?.lastTransitionTime ?? certificate.metadata.creationTimestamp ?? ''];
  const times = [...began.map(time => Date.parse(time)), ...(isReplacing ? [] : [orderedAtMs])];
  const past = times.filter(time => time > 0 && isBelievable(time, nowMs));
  return {kind: 'running', isStarted: isIssuing, sinceMs: past.length > 0 ? Math.max(...past) : undefined, progress};
}

/** cert-manager's messages end in various ways: some in a colon, if the CA gave no reason. */
export function sentence(text: string): string {
  return `${text.replace(/[\s.:;,]+$/, '')}.`;
}

/** When cert-manager will try again on its own. */
export function nextAttemptMs({status}: DeepReadonly<Certificate>): number | undefined {
  if (!status?.lastFailureTime) return undefined;
  return Date.parse(status.lastFailureTime) + pauseAfterMs(status.failedIssuanceAttempts ?? 1);
}

/** cert-manager would wait for a pause after a time that a wrong clock recorded, perhaps for years. */
export function failedInFuture({status}: DeepReadonly<Certificate>, nowMs: number): boolean {
  return status?.lastFailureTime !== undefined && !isBelievable(Date.parse(status.lastFailureTime), nowMs);
}

/** A wrong clock recorded any other time: it must delay nothing. */
function isBelievable(timeMs: number, nowMs: number): boolean {
  return timeMs <= nowMs + CLOCK_TOLERANCE_MS;
}

/** The times of the failures that lie in the window before now, in chronological order. */
function within(failures: readonly string[], windowMs: number, nowMs: number): number[] {
  const times = failures.map(time => Date.parse(time));
  return times.filter(time => time > nowMs - windowMs && isBelievable(time, nowMs)).sort((a, b) => a - b);
}

/** cert-manager's own pause after the n-th failure in a row: 1 h doubled, at most 32 h. */
function pauseAfterMs(failures: number): number {
  return HOUR_MS * 2 ** Math.min(failures - 1, 5);
}

/**
 * The same pause for a host whose Certificate was removed. It follows from the failures of the last day, which the claim
 * remembers. `pauseMs`: that of the issuer. Undefined: none has failed, or the pause is over.
 */
export function pausedUntilMs(
  failures: readonly string[],
  nowMs: number,
  pauseMs: (failures: number) => number = pauseAfterMs,
): number | undefined {
  const recent = within(failures, 24 * HOUR_MS, nowMs);
  if (recent.length === 0) return undefined;
  const untilMs = Math.max(...recent) + pauseMs(recent.length);
  return untilMs > nowMs ? untilMs : undefined;
}

/**
 * The status that `cmctl renew` applies: cert-manager starts a new attempt, regardless of its own backoff. It attributes
 * a failure in the same second to the new attempt, so the attempt begins at the next second at the earliest.
 */
export function freshAttempt({apiVersion, kind, metadata, status}: DeepReadonly<Certificate>, nowMs: number) {
  const {name, namespace = '', resourceVersion = '', generation} = metadata;
  const failedMs = Date.parse(status?.lastFailureTime ?? '');
  const startMs = isBelievable(failedMs, nowMs) ? Math.max(nowMs, failedMs + 1000) : nowMs;
  const issuing = {
    type: 'Issuing',
    status: 'True',
    reason: 'ManuallyTriggered',
    message: 'A verify request started a new attempt',
    lastTransitionTime: timestamp(startMs),
    ...(generation !== undefined && {observedGeneration: generation}),
  };
  return {apiVersion, kind, metadata: {name, namespace, resourceVersion}, status: {conditions: [issuing]}};
}
