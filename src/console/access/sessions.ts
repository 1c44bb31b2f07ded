/** Sessions, in the memory of this process. A restart ends them all, which costs each user one silent redirect. */
import {randomBytes} from 'node:crypto';
import type {KubeClient} from '../../runtime/kube/client.ts';
import type {Clock} from '../../time/clock.ts';
import type {SignedIn} from './user-client.ts';

export interface UserSession {
  /** The value of the cookie. */
  readonly id: string;
  /** In every form of the session's pages. */
  readonly formToken: string;
  readonly user: string;
  readonly name: string;
  readonly namespaces: readonly string[];
  readonly client: KubeClient;
  readonly expiresAtMs: number;
  /** Aborted when the session ends. */
  readonly signal: AbortSignal;
  /** Whether the user may list all Domains, asked once, for a link. */
  readonly mayListAll: boolean;
  /** Open live pages. */
  streams: number;
}

export interface SessionLimits {
  readonly total: number;
  readonly perUser: number;
  readonly maxSeconds: number;
}

const ID_BYTES = 32;

export class Sessions {
  readonly #limits: SessionLimits;
  readonly #clock: Clock;
  /** In the order in which they began. */
  readonly #sessions = new Map<string, {readonly session: UserSession; readonly end: AbortController}>();

  constructor(limits: SessionLimits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  get size(): number {
    return this.#sessions.size;
  }

  /**
   * Of a user whom the API server accepts. Takes the client over. Beyond a limit, the oldest session of the user, or of
   * all, ends.
   */
  begin(signedIn: SignedIn, client: KubeClient, mayListAll: boolean): UserSession {
    const {total, perUser, maxSeconds} = this.#limits;
    const own = [...this.#sessions.values()].filter(({session}) => session.user === signedIn.user);
    if (own.length >= perUser) this.end(own[0]?.session.id ?? '');
    if (this.size >= total) this.end(this.#sessions.keys().next().value ?? '');
    const end = new AbortController();
    const session: UserSession = {
      id: secret(),
      formToken: secret(),
      user: signedIn.user,
      name: signedIn.name,
      namespaces: signedIn.namespaces,
      client,
      expiresAtMs: Math.min(signedIn.expiresAtMs, this.#clock.now() + maxSeconds * 1000),
      signal: end.signal,
      mayListAll,
      streams: 0,
    };
    this.#sessions.set(session.id, {session, end});
    void this.#endLater(session);
    return session;
  }

  find(id: string | undefined): UserSession | undefined {
    const session = id === undefined ? undefined : this.#sessions.get(id)?.session;
    return session && session.expiresAtMs > this.#clock.now() ? session : undefined;
  }

  /** Ends its streams and connections too. */
  end(id: string): void {
    const found = this.#sessions.get(id);
    if (!found) return;
    this.#sessions.delete(id);
    found.end.abort(new Error('the session has ended'));
    void found.session.client.close();
  }

  endAll(): void {
    for (const id of [...this.#sessions.keys()]) this.end(id);
  }

  async #endLater({id, expiresAtMs, signal}: UserSession): Promise<void> {
    const isOver = await this.#clock.sleep(Math.max(0, expiresAtMs - this.#clock.now()), signal).then(
      () => true,
      () => false,
    );
    if (isOver) this.end(id);
  }
}

/** Too long to guess. */
export function secret(): string {
  return randomBytes(ID_BYTES).toString('base64url');
}
