/** One cert-manager Certificate per host: how to build, judge, and retry it. Pure. */
import {Certificate as CertificateModel} from '@kubernetes-models/cert-manager/cert-manager.io/v1/Certificate';
import {findCondition, timestamp} from '../../api/conditions.ts';
import {ANNOTATION, LABEL} from '../../api/names.ts';
import type {DeepReadonly, KubeObject, OwnerReference} from '../../runtime/kube/object.ts';
import type {OperatorConfig} from '../model/config.ts';
import {hostLabel} from '../model/derived-names.ts';
import type {Certificate} from '../model/kinds.ts';

const HOUR_MS = 3_600_000;
/** How often to check again whether cert-manager is installed: a new kind without objects triggers nothing. */
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

/** The Secret has the Certificate's name and our labels, so that it can outlive the Certificate and be swept later. */
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

/** What certificate a Secret holds: one for only the host, or one that names others. */
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

export type CertificateState =
  | {readonly kind: 'issued'}
  | {readonly kind: 'misnamed'; readonly names: string}
  | {readonly kind: 'renewal-failing'; readonly why: string}
  | {readonly kind: 'failed'; readonly why: string; readonly rateLimited: boolean}
  | {readonly kind: 'issuing'; readonly sinceMs: number; readonly progress: string};

/**
 * The Certificate's state, according to cert-manager. A Ready one whose Secret is gone is being issued again.
 * `certified`: what its Secret holds. `orderedAtMs`: when the last order was approved; the time that it waited before
 * is not the CA's.
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
  const why = sentence(issuing?.message ?? 'cert-manager reports no reason');
  if (ready) return failed ? {kind: 'renewal-failing', why} : {kind: 'issued'};
  if (failed) return {kind: 'failed', why, rateLimited: /\b429\b|rateLimited|too many/i.test(why)};
  // Ready, but its Secret is gone, which was only just noticed.
  const isReplacing = issuing?.status !== 'True' && findCondition(conditions, 'Ready')?.status === 'True';
  const since = issuing?.lastTransitionTime ?? certificate.metadata.creationTimestamp;
  const progress = issuing?.status === 'True' && issuing.message ? ` cert-manager: ${sentence(issuing.message)}` : '';
  return {
    kind: 'issuing',
    sinceMs: isReplacing ? Number.POSITIVE_INFINITY : Math.max(since ? Date.parse(since) : 0, orderedAtMs),
    progress: progress + issuerTrouble,
  };
}

/** cert-manager's messages end in various ways: some in a colon, if the CA gave no reason. */
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
 * The same pause for a host that cert-manager no longer knows, because its Certificate was removed. It follows from the
 * failures of the last day, which the claim remembers. Undefined: none has failed, or the pause is over.
 */
export function pausedUntilMs(failures: readonly string[], nowMs: number): number | undefined {
  const recent = failures.map(time => Date.parse(time)).filter(time => time > nowMs - 24 * HOUR_MS);
  if (recent.length === 0) return undefined;
  const untilMs = Math.max(...recent) + pauseMs(recent.length);
  return untilMs > nowMs ? untilMs : undefined;
}

/** When the failure budget allows another attempt; undefined: now. `failures` are RFC 3339 times. */
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
 * The status that `cmctl renew` writes: cert-manager starts a new attempt, regardless of its own backoff. It attributes
 * a failure in the same second to the new attempt, so the attempt begins at the next second at the earliest.
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
        message: 'A verify request started a new attempt',
        lastTransitionTime: timestamp(startMs),
        ...(certificate.metadata.generation !== undefined && {observedGeneration: certificate.metadata.generation}),
      },
    ],
  };
}
