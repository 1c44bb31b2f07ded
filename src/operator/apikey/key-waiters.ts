/**
 * The APIKeys that wait for a key of another one, by the key's hash. Their status does not show the hash. A new leader
 * learns them when it reconciles every APIKey once.
 */
export class KeyWaiters {
  readonly #hashes = new Map<string, string>();
  readonly #waiters = new Map<string, Set<string>>();

  /** `apiKey`: "namespace/name". Call it before looking who holds the key, so that no change in between is missed. */
  wait(apiKey: string, sha256: string): void {
    this.leave(apiKey);
    this.#hashes.set(apiKey, sha256);
    this.#waiters.set(sha256, (this.#waiters.get(sha256) ?? new Set()).add(apiKey));
  }

  leave(apiKey: string): void {
    const sha256 = this.#hashes.get(apiKey);
    if (sha256 === undefined) return;
    this.#hashes.delete(apiKey);
    const waiters = this.#waiters.get(sha256);
    waiters?.delete(apiKey);
    if (waiters?.size === 0) this.#waiters.delete(sha256);
  }

  of(sha256: string): readonly string[] {
    return [...(this.#waiters.get(sha256) ?? [])];
  }
}
