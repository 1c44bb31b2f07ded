/** The platform's accounts at the CAs: a client for each ACMEIssuer whose account exists. */
import type {KeyObject} from 'node:crypto';
import {AcmeClient} from '../../acme/client.ts';
import type {DeepReadonly} from '../../runtime/kube/object.ts';
import type {RequestGate} from '../../runtime/kube/transport.ts';
import type {Clock} from '../../time/clock.ts';
import type {ACMEIssuer} from '../kinds/kinds.ts';

/** For each request to a CA. */
const TIMEOUT_MS = 30_000;
/**
 * A CA that refuses orders because of a limit does not say whose. So the account rests for as long as the CA says, but
 * at most for this long: a limit that concerns one domain must not delay all tenants.
 */
const MAX_REST_MS = 60_000;

export interface CaAccount {
  readonly client: AcmeClient;
  readonly uri: string;
  /** Of the key with which the client signs. */
  readonly thumbprint: string;
}

interface Trouble {
  readonly sinceMs: number;
  readonly why: string;
  /** When somebody asks the CA again, on the monotonic clock. */
  readonly wakeAtMs: number;
}

interface Known {
  readonly server: string;
  readonly caBundle: string | undefined;
  readonly thumbprint: string;
  readonly client: AcmeClient;
  uri?: string;
  /** The CA no longer has the account. */
  isLost?: boolean;
  /** The CA has refused the account an order. */
  isDoubted?: boolean;
  /** Until when no order is placed, on the monotonic clock. */
  restsUntilMs: number;
  /** Since when the CA has not answered, on the wall clock, and why. */
  trouble?: Trouble;
}

export class CaAccounts {
  readonly #clock: Clock;
  readonly #userAgent: string;
  readonly #gate: RequestGate;
  readonly #known = new Map<string, Known>();

  /** `gate`: only the leader may change anything at a CA. */
  constructor(clock: Clock, userAgent: string, gate: RequestGate) {
    this.#clock = clock;
    this.#userAgent = userAgent;
    this.#gate = gate;
  }

  /** The client for the issuer, whether or not its account exists yet. */
  clientOf({metadata: {name}, spec}: DeepReadonly<ACMEIssuer>, key: KeyObject, thumbprint: string): AcmeClient {
    const {server, caBundle} = spec;
    const before = this.#known.get(name);
    if (before?.server === server && before.caBundle === caBundle && before.thumbprint === thumbprint) {
      return before.client;
    }
    void before?.client.close();
    const client = new AcmeClient({
      directory: server,
      key,
      caBundle: caBundle === undefined ? undefined : Buffer.from(caBundle, 'base64').toString(),
      timeoutMs: TIMEOUT_MS,
      userAgent: this.#userAgent,
      gate: this.#gate,
    });
    this.#known.set(name, {server, caBundle, thumbprint, client, restsUntilMs: Number.NEGATIVE_INFINITY});
    return client;
  }

  /** The account exists. */
  open(name: string, uri: string): void {
    const known = this.#known.get(name);
    if (known) Object.assign(known, {uri, isLost: false, isDoubted: false});
  }

  /** The CA no longer has the account, whatever the issuer's status says: there must be another one. */
  lose(name: string): void {
    const known = this.#known.get(name);
    if (!known) return;
    delete known.uri;
    known.isLost = true;
  }

  isLost(name: string): boolean {
    return this.#known.get(name)?.isLost ?? false;
  }

  /** The CA refused an order as unauthorized: the account may have been deactivated, or only this name is refused. */
  doubt(name: string): void {
    const known = this.#known.get(name);
    if (known) known.isDoubted = true;
  }

  isDoubted(name: string): boolean {
    return this.#known.get(name)?.isDoubted ?? false;
  }

  /** The issuer is gone. */
  forget(name: string): void {
    void this.#known.get(name)?.client.close();
    this.#known.delete(name);
  }

  /** Undefined until the account exists. */
  get(name: string): CaAccount | undefined {
    const {client, uri, thumbprint} = this.#known.get(name) ?? {};
    return client && uri !== undefined && thumbprint !== undefined ? {client, uri, thumbprint} : undefined;
  }

  rest(name: string, ms: number): void {
    const known = this.#known.get(name);
    if (known) known.restsUntilMs = this.#clock.monotonic() + Math.min(ms, MAX_REST_MS);
  }

  restMs(name: string): number {
    return Math.max(0, (this.#known.get(name)?.restsUntilMs ?? 0) - this.#clock.monotonic());
  }

  /** The failure of the last request; undefined: the CA answered. `wakeInMs`: when the caller asks again. */
  report(name: string, why: string | undefined, wakeInMs = 0): void {
    const known = this.#known.get(name);
    if (!known) return;
    const {trouble} = known;
    const wakeAtMs = Math.max(trouble?.wakeAtMs ?? 0, this.#clock.monotonic() + wakeInMs);
    if (why === undefined) delete known.trouble;
    else known.trouble = {sinceMs: trouble?.sinceMs ?? this.#clock.now(), why, wakeAtMs};
  }

  troubleOf(name: string): Trouble | undefined {
    return this.#known.get(name)?.trouble;
  }
}
