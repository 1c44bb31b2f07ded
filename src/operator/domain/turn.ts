/** A certificate that is asked for, and whose order waits for its turn at the CA. */
import {timestamp} from '../../api/conditions.ts';
import type {DeepReadonly} from '../../runtime/kube/object.ts';
import {explainShortage} from '../issuance/explain-shortage.ts';
import {caAccountOf} from '../model/ca-account.ts';
import type {Certificate} from '../model/kinds.ts';
import type {Operator} from '../state/context.ts';
import type {CertificateResult} from './certify.ts';
import {CertificateReady} from './conditions.ts';
import {before, type Subject} from './view.ts';

/** How soon the turns are surely planned. */
const PLAN_MS = 5_000;

/** Undefined: it waits for no turn. */
export function awaitTurn(
  {orders, config, stores}: Operator,
  subject: Subject,
  issuerRef: DeepReadonly<Certificate['spec']['issuerRef']>,
): CertificateResult | undefined {
  const {key, host, namespace, domain, nowMs} = subject;
  const caAccount = stores.certificateRequests && caAccountOf(config, namespace, issuerRef);
  const turn = caAccount === undefined ? undefined : orders.get(caAccount, key);
  if (turn === undefined) return undefined;
  const last = before(subject, 'CertificateReady');
  const told =
    last?.reason === 'OrderBudget' ? Date.parse(domain.status?.certificate?.nextAttemptAt ?? '') : Number.NaN;
  if (turn === 'unknown') {
    // After a restart, until the turns are planned again, what was said last holds.
    if (!last || Number.isNaN(told)) return undefined;
    return {
      condition: {...last, type: 'CertificateReady'},
      usable: false,
      nextAttemptAtMs: told,
      wakeAtMs: nowMs + PLAN_MS,
    };
  }
  // Others come and go, and each time all turns shift: what was told stands until then, unless it will be earlier.
  const atMs = told > nowMs ? Math.min(told, turn.atMs) : turn.atMs;
  const why = explainShortage(turn.shortage ?? 'orders', host, config.certificates);
  const condition = CertificateReady.awaitsTurn(why, timestamp(atMs));
  return {condition, usable: false, nextAttemptAtMs: atMs, wakeAtMs: atMs};
}
