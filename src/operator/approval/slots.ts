/**
 * How many certificates may be issued at the same time. cert-manager processes 60 challenges at a time, and one whose
 * self check fails keeps its slot until something ends it. Each account therefore has a limit, the total stays below
 * cert-manager's, some slots are reserved for renewals, and the last free slot goes to an account that has none.
 */
import type {DeepReadonly, KubeObject} from '../../runtime/kube/object.ts';
import {approvedAtMs, isForHost} from '../model/certificate-request.ts';
import type {CertificateRequest} from '../model/kinds.ts';
import type {Operator} from '../state/context.ts';
import {accountIn, INDEX} from '../state/stores.ts';
import {hasOpenRequest, openChallenges} from './open-challenges.ts';

/** An account may use this many times the number of slots that it leaves free. */
const SHARE = 4;

export class Slots {
  readonly #limits: Operator['config']['certificates']['challenges'];
  readonly #taken = new Map<string, number>();
  #total = 0;

  constructor(operator: Operator) {
    const {stores, config} = operator;
    this.#limits = config.certificates.challenges;
    for (const request of stores.certificateRequests?.byIndex(INDEX.inProgress, 'all') ?? []) {
      if (holdsSlot(operator, request)) this.#add(accountOfObject(operator, request));
    }
    for (const account of operator.reservations.accounts(stores.certificateRequests)) this.#add(account);
    // cert-manager processes a challenge until it is gone, even if its request has ended.
    for (const challenge of stores.challenges.list()) {
      if (!hasOpenRequest(operator, challenge)) this.#add(accountOfObject(operator, challenge));
    }
  }

  /** False: no slot is free for the account now. */
  take(account: string, renewal: boolean): boolean {
    const {inProgress, inProgressPerAccount, renewalReserve} = this.#limits;
    const free = inProgress - (renewal ? 0 : renewalReserve) - this.#total;
    const had = this.#taken.get(account) ?? 0;
    const hasRoom = had === 0 ? free > 0 : had < Math.min(inProgressPerAccount, SHARE * (free - 1));
    if (hasRoom) this.#add(account);
    return hasRoom;
  }

  #add(account: string): void {
    this.#taken.set(account, (this.#taken.get(account) ?? 0) + 1);
    this.#total += 1;
  }
}

export function accountOfObject({stores}: Operator, {metadata}: DeepReadonly<KubeObject>): string {
  return accountIn(stores, metadata.namespace) ?? '';
}

export function approvalId({metadata}: DeepReadonly<CertificateRequest>): string {
  return `approved ${metadata.uid}`;
}

/** A request holds a slot while it is younger than the timeout of challenges, or has open challenges. */
function holdsSlot(operator: Operator, request: DeepReadonly<CertificateRequest>): boolean {
  const {timeoutSeconds} = operator.config.certificates.challenges;
  const leftMs = operator.knownSince.leftMs(approvalId(request), approvedAtMs(request), timeoutSeconds * 1000);
  return (leftMs > 0 && isForHost(request)) || openChallenges(operator, request).length > 0;
}
