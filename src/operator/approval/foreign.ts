/**
 * Notices that cert-manager's own approver is on. It approves whatever is asked for, as a rule before we could judge it, so
 * that a tenant gets a certificate for any host; and nothing else would tell.
 */
import type {Logger} from 'pino';
import {Counter, type Registry} from 'prom-client';
import {timestamp} from '../../api/conditions.ts';
import type {Clock} from '../../base/clock.ts';
import type {Delta, ReadonlyStore} from '../../runtime/cache/store.ts';
import type {EventRecorder} from '../../runtime/kube/events.ts';
import {type DeepReadonly, type KubeObject, keyOf} from '../../runtime/kube/object.ts';
import {isDecided} from '../model/certificate-request.ts';
import type {CertificateRequest} from '../model/kinds.ts';

/** The reason that it gives: sync.go in pkg/controller/certificaterequests/approver of cert-manager. */
const APPROVER = 'cert-manager.io';

const ADVICE =
  "cert-manager's own approver is on: it approves every certificate request, so that tenants get certificates for hosts of others. Turn it off (disableAutoApproval=true in cert-manager's chart).";

export interface ApprovalWatch {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly registry: Registry;
  readonly events: EventRecorder;
  /** Whom the Event is about: an object where the platform team looks, and no tenant. */
  readonly regarding: DeepReadonly<KubeObject>;
}

/** Counts what it approves from now on, and says so once. Returns the words for the readiness check, if there are any. */
export function watchForeignApprovals(
  requests: ReadonlyStore<CertificateRequest>,
  {clock, logger, registry, events, regarding}: ApprovalWatch,
): () => string | undefined {
  const approvals = new Counter({
    name: 'nameplate_foreign_approvals_total',
    help: "Certificate requests that cert-manager's own approver has approved since the start: it must be off.",
    registers: [registry],
  });
  let lastMs: number | undefined;
  requests.subscribe(delta => {
    if (!isNewApproval(delta)) return;
    approvals.inc();
    if (lastMs === undefined) {
      logger.error({request: keyOf(delta.object)}, ADVICE);
      events.event(regarding, 'Warning', 'ApproverIsOn', 'Approve', ADVICE);
    }
    lastMs = clock.now();
  });
  return () => (lastMs === undefined ? undefined : `${ADVICE} Last seen at ${timestamp(lastMs)}.`);
}

/** What had been approved before the start may be from a time before Nameplate. */
function isNewApproval({type, object, old, initial}: Delta<CertificateRequest>): boolean {
  if (initial || type === 'deleted' || (old && isDecided(old))) return false;
  return object.status?.conditions?.some(({type, reason}) => type === 'Approved' && reason === APPROVER) ?? false;
}
