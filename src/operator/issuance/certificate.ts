/** One cert-manager Certificate per host: built, judged, and made to try again. Pure. */
import {Certificate as CertificateModel} from '@kubernetes-models/cert-manager/cert-manager.io/v1/Certificate';
import {findCondition, timestamp} from '../../api/conditions.ts';
import {ANNOTATION, LABEL} from '../../api/names.ts';
import type {DeepReadonly, KubeObject, OwnerReference} from '../../runtime/kube/object.ts';
import type {OperatorConfig} from '../model/config.ts';
import {hostLabel} from '../model/derived-names.ts';
import type {Certificate} from '../model/kinds.ts';

const HOUR_MS = 3_600_000;
/** Where cert-manager is not installed, it is looked for again: an empty kind that appears wakes nobody. */
export const KIND_MISSING_MS = 5_000;

export interface CertificateIntent {
  readonly name: string;
  readonly namespace: string;
  readonly host: string;
  readonly issuerRef: DeepReadonly<Certificate['spec']['issuerRef']>;
  readonly owner: OwnerReference;
  /** Set on the certificate of a default host. */
  readonly project?: string;
}

/** The Secret has the Certificate's name; it bears our labels, so that it can be kept and swept after the Certificate. */
export function buildCertificate(intent: CertificateIntent): Certificate {
  const {name, namespace, host, issuerRef, owner, project} = intent;
  const labels = {
    [LABEL.managedBy]: 'nameplate',
    [LABEL.host]: hostLabel(host),
    ...(project !== undefined && {[LABEL.project]: project}),
  };
  const annotations = {[ANNOTATION.host]: host};
  const model = new CertificateModel({
    metadata: {name, namespace, labels, annotations, ownerReferences: [owner]},
    spec: {
      secretName: name,
      dnsNames: [host],
      issuerRef: {...issuerRef},
      privateKey: {algorithm: 'ECDSA', size: 256, rotationPolicy: 'Always'},
      secretTemplate: {labels, annotations},
    },
  });
  model.validate();
  return model.toJSON() as Certificate;
}

/** Whose certificate stands in a Secret: that of the host alone, or one that names others, too. */
export type Certified =
  | {readonly kind: 'nothing'}
  | {readonly kind: 'host'}
  | {readonly kind: 'others'; readonly names: string};

/** By which cert-manager notes what the certificate itself names, beside the DNS names in `alt-names`. */
const OTHER_NAMES = ['ip-sans', 'uri-sans', 'email-sans'].map(name => `cert-manager.io/${name}`);
const MAX_NAMES_LENGTH = 200;

/**
 * A request says what a certificate should name; who issues it decides. An ingress shows it for every name that it has,
 * whichever route it came with, so one that names a host of somebody else must not get there. An Issuer of a namespace is
 * the tenant's to run.
 */
export function certifiedBy(secret: DeepReadonly<KubeObject> | undefined, host: string): Certified {
  const {annotations = {}} = secret?.metadata ?? {};
  const dnsNames = annotations['cert-manager.io/alt-names'];
  if (dnsNames === undefined) return {kind: 'nothing'}; // or none of which cert-manager says what it is, until it does
  const commonName = annotations['cert-manager.io/common-name'] ?? '';
  const others = OTHER_NAMES.flatMap(annotation => annotations[annotation] || []);
  const isHost = (name: string) => name.toLowerCase() === host;
  if (isHost(dnsNames) && (commonName === '' || isHost(commonName)) && others.length === 0) return {kind: 'host'};
  const names = [...new Set([dnsNames, commonName, ...others])].filter(Boolean).join(', ') || 'nothing';
  return {kind: 'others', names: names.slice(0, MAX_NAMES_LENGTH).replace(/[^ -~]/g, '?')};
}

export type CertificateState =
  | {readonly kind: 'issued'}
  | {readonly kind: 'misnamed'; readonly names: string}
  | {readonly kind: 'renewal-failing'; readonly why: string}
  | {readonly kind: 'failed'; readonly why: string; readonly rateLimited: boolean}
  | {readonly kind: 'issuing'; readonly sinceMs: number; readonly progress: string};

/**
 * What cert-manager says of the Certificate. A Ready one whose Secret is gone is being issued again. `certified`: what its
 * Secret holds. `orderedAtMs`: when the last order was let through; until then it waited, and the CA has nothing to do with
 * how long.
 */
export function assessCertificate(
  certificate: DeepReadonly<Certificate>,
  certified: Certified,
  issuerTrouble = '',
  orderedAtMs = 0,
): CertificateState {
  const {conditions, lastFailureTime} = certificate.status ?? {};
  const issuing = findCondition(conditions, 'Issuing');
  if (certified.kind === 'others' && issuing?.status !== 'True') return {kind: 'misnamed', names: certified.names};
  const ready = findCondition(conditions, 'Ready')?.status === 'True' && certified.kind === 'host';
  const failed = lastFailureTime !== undefined && issuing?.status !== 'True';
  const why = sentence(issuing?.message ?? 'cert-manager gives no reason');
  if (ready) return failed ? {kind: 'renewal-failing', why} : {kind: 'issued'};
  if (failed) return {kind: 'failed', why, rateLimited: /\b429\b|rateLimited|too many/i.test(why)};
  // Ready, but its Secret is gone: that has only just been seen.
  const isReplacing = issuing?.status !== 'True' && findCondition(conditions, 'Ready')?.status === 'True';
  const since = issuing?.lastTransitionTime ?? certificate.metadata.creationTimestamp;
  const progress = issuing?.status === 'True' && issuing.message ? ` cert-manager: ${sentence(issuing.message)}` : '';
  return {
    kind: 'issuing',
    sinceMs: isReplacing ? Number.POSITIVE_INFINITY : Math.max(since ? Date.parse(since) : 0, orderedAtMs),
    progress: progress + issuerTrouble,
  };
}

/** cert-manager's messages end as they happen to: some in a colon, where the CA gave no reason. */
function sentence(text: string): string {
  return `${text.replace(/[\s.:;,]+$/, '')}.`;
}

/** cert-manager's own pause after the n-th failure in a row: 1 h doubled, at most 32 h. */
export function nextAttemptMs({status}: DeepReadonly<Certificate>): number | undefined {
  if (!status?.lastFailureTime) return undefined;
  return Date.parse(status.lastFailureTime) + pauseMs(status.failedIssuanceAttempts ?? 1);
}

function pauseMs(failures: number): number {
  return HOUR_MS * 2 ** Math.min(failures - 1, 5);
}

/**
 * The same pause, for a host that cert-manager no longer knows since its Certificate was removed: after the failures of
 * the last day, which the claim remembers. Undefined: none has failed, or the pause is over.
 */
export function pausedUntilMs(failures: readonly string[], nowMs: number): number | undefined {
  const recent = failures.map(time => Date.parse(time)).filter(time => time > nowMs - 24 * HOUR_MS);
  if (recent.length === 0) return undefined;
  const untilMs = Math.max(...recent) + pauseMs(recent.length);
  return untilMs > nowMs ? untilMs : undefined;
}

/** When the failure budget admits another attempt; undefined: now. `failures` are RFC 3339 times of failures or attempts. */
export function budgetBlockedUntilMs(
  failures: readonly string[],
  {failureBudget}: OperatorConfig['certificates'],
  nowMs: number,
): number | undefined {
  const windowMs = failureBudget.windowSeconds * 1000;
  const recent = failures
    .map(time => Date.parse(time))
    .filter(time => time > nowMs - windowMs)
    .sort((a, b) => a - b);
  const excess = recent[recent.length - failureBudget.failures];
  return excess === undefined ? undefined : excess + windowMs;
}

/**
 * The status that `cmctl renew` writes: cert-manager starts a fresh attempt, whatever its own backoff says. It takes a
 * failure in the same second for one of the new attempt, so the attempt begins no earlier than the second after.
 */
export function freshAttemptStatus(certificate: DeepReadonly<Certificate>, nowMs: number) {
  const {lastFailureTime} = certificate.status ?? {};
  const startMs = lastFailureTime === undefined ? nowMs : Math.max(nowMs, Date.parse(lastFailureTime) + 1000);
  return {
    conditions: [
      {
        type: 'Issuing',
        status: 'True',
        reason: 'ManuallyTriggered',
        message: 'Re-verify asked for a fresh attempt',
        lastTransitionTime: timestamp(startMs),
        ...(certificate.metadata.generation !== undefined && {observedGeneration: certificate.metadata.generation}),
      },
    ],
  };
}
