/** The places in an account's limit of open requests that no cache shows yet. */
import type {ReadonlyStore} from '../../runtime/cache/store.ts';
import {type DeepReadonly, keyOf} from '../../runtime/kube/object.ts';
import {isDecided} from '../model/certificate-request.ts';
import type {CertificateRequest} from '../model/kinds.ts';

/** Slots of requests that are being approved: the cache shows an approval only a moment after the write. */
export class SlotReservations {
  /** By "namespace/name". */
  readonly #held = new Map<string, {readonly uid: string | undefined; readonly account: string}>();

  add(account: string, request: DeepReadonly<CertificateRequest>): void {
    this.#held.set(keyOf(request), {uid: request.metadata.uid, account});
  }

  /** Runs `approve`, and releases the slot unless it resolves to true, which means that the request was approved. */
  async releaseUnless(request: DeepReadonly<CertificateRequest>, approve: () => Promise<boolean>): Promise<boolean> {
    let isApproved = false;
    try {
      isApproved = await approve();
      return isApproved;
    } finally {
      if (!isApproved) this.release(request);
    }
  }

  release(request: DeepReadonly<CertificateRequest>): void {
    this.#held.delete(keyOf(request));
  }

  /** The account of each slot that the cache does not show yet; forgets the others. */
  accounts(requests: ReadonlyStore<CertificateRequest> | undefined): string[] {
    for (const [key, {uid}] of this.#held) {
      const request = requests?.get(key);
      if (!request || request.metadata.uid !== uid || isDecided(request)) this.#held.delete(key);
    }
    return [...this.#held.values()].map(({account}) => account);
  }
}
