/**
 * Notices that cert-manager's built-in approver is enabled. It approves every request, usually before we can judge it,
 * so that a tenant gets a certificate for any host. Nothing else would report this.
 */
import type {Logger} from 'pino';
import type {Registry} from 'prom-client';
import {timestamp} from '../../api/conditions.ts';
import {metricsIn} from '../../operations/metrics.ts';
import type {Delta, ReadonlyStore} from '../../runtime/cache/store.ts';
import type {EventRecorder} from '../../runtime/kube/events.ts';
import {type DeepReadonly, type KubeObject, keyOf} from '../../runtime/kube/object.ts';
import type {Clock} from '../../time/clock.ts';
import {isDecided} from '../kinds/certificate-request.ts';
import type {CertificateRequest} from '../kinds/kinds.ts';

/** The reason that it sets: sync.go in pkg/controller/certificaterequests/approver of cert-manager. */
const APPROVER = 'cert-manager.io';

const ADVICE =
  "cert-manager's built-in approver is enabled: it approves every certificate request, so tenants can get certificates for other tenants' hosts. Disable it (disableAutoApproval=true in cert-manager's chart).";

interface ApprovalWatch {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly registry: Registry;
  readonly events: Pick<EventRecorder, 'event'>;
  /** The object of the Event, in a namespace that the platform team sees and tenants do not. */
  readonly regarding: DeepReadonly<KubeObject>;
}

/** Counts its approvals from now on, and reports the first one. Returns the text for the readiness check, if any. */
export function watchForeignApprovals(
  requests: Pick<ReadonlyStore<CertificateRequest>, 'subscribe'>,
  {clock, logger, registry, events, regarding}: ApprovalWatch,
): () => string | undefined {
  const approvals = metricsIn(registry).counter(
    'nameplate_foreign_approvals_total',
    "Certificate requests approved by cert-manager's built-in approver since the process started. It must be disabled.",
  );
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

/** Earlier approvals may predate Nameplate. */
function isNewApproval({type, object, old, initial}: Delta<CertificateRequest>): boolean {
  if (initial || type === 'deleted' || (old && isDecided(old))) return false;
  return object.status?.conditions?.some(({type, reason}) => type === 'Approved' && reason === APPROVER) ?? false;
}
