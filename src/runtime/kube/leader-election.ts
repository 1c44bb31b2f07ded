import type {Logger} from 'pino';
import type {Registry} from 'prom-client';
import type {Clock} from '../clock.ts';
import type {KubeClient, WriteGate} from './client.ts';
import {isAlreadyExists, isConflict} from './errors.ts';
import {kubeMetrics} from './metrics.ts';
import {formatKey, type KubeObject, microTime, type ObjectKey, type ResourceType} from './object.ts';

/** https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/lease-v1/ */
export interface Lease extends KubeObject {
  spec?: {
    holderIdentity?: string;
    leaseDurationSeconds?: number;
    acquireTime?: string;
    renewTime?: string;
    leaseTransitions?: number;
  };
}

export const LEASE: ResourceType<Lease> = {
  group: 'coordination.k8s.io',
  version: 'v1',
  plural: 'leases',
  kind: 'Lease',
  namespaced: true,
};

export interface LeaderElectionOptions {
  readonly lease: ObjectKey & {readonly namespace: string};
  /** Others wait this long after the last renewal that they saw before they take over. Default 15 000, whole seconds. */
  readonly leaseDurationMs?: number;
  /** The holder stops writing this long after it began its last successful renewal. Default 10 000, less than the duration. */
  readonly renewDeadlineMs?: number;
  /** Between attempts. Default 2 000, less than the deadline. */
  readonly retryPeriodMs?: number;
}

export interface LeaderElectorOptions extends LeaderElectionOptions {
  /** Not subject to the gate that this election rules. */
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly registry: Registry;
  /** In [0, 1). */
  readonly random: () => number;
  /** Unique to this process, over restarts too. */
  readonly identity: string;
}

/** A lease as last seen in another's hands, and when, by our own clock: clocks of other machines are not trusted. */
interface Observation {
  readonly resourceVersion: string;
  readonly seenAt: number;
  readonly promisedMs: number;
}

/**
 * Leader election on a Lease, after client-go's `leaderelection`.
 *
 * Why two never write at once: a holder may write until `renewDeadline` after it *began* the last renewal that
 * succeeded. Others take over no sooner than `leaseDuration` after they *saw* that renewal, which is later than it began.
 * Both measure on their own monotonic clock, which no adjustment moves and no SIGSTOP halts. `gate` is asked right before
 * a write goes out, and the write's deadline ends with the right to write.
 */
export class LeaderElector {
  readonly #options: LeaderElectorOptions;
  readonly #logger: Logger;
  readonly #leaseDurationMs: number;
  readonly #renewDeadlineMs: number;
  readonly #retryPeriodMs: number;
  #held: Lease | undefined;
  #mayWriteUntil = Number.NEGATIVE_INFINITY;
  #observed: Observation | undefined;

  constructor(options: LeaderElectorOptions) {
    const {leaseDurationMs = 15_000, renewDeadlineMs = 10_000, retryPeriodMs = 2_000} = options;
    if (!(leaseDurationMs > renewDeadlineMs && renewDeadlineMs > retryPeriodMs && retryPeriodMs > 0)) {
      throw new RangeError('leader election: lease duration > renew deadline > retry period > 0 must hold');
    }
    this.#options = options;
    this.#leaseDurationMs = leaseDurationMs;
    this.#renewDeadlineMs = renewDeadlineMs;
    this.#retryPeriodMs = retryPeriodMs;
    this.#logger = options.logger.child({lease: formatKey(options.lease), identity: options.identity});
    this.#setLeader(false);
  }

  /** How long this process may still write, milliseconds; 0 when it does not lead. */
  readonly gate: WriteGate = () => Math.max(0, this.#mayWriteUntil - this.#options.clock.monotonic());

  get leading(): boolean {
    return this.gate() > 0;
  }

  /**
   * Waits for the lease and holds it for as long as `lead` runs; `lead` is told by the signal when the lease is lost, and
   * answers whether the lease may be given back: whether no write of its own can be under way any more. Then the next
   * holder need not wait until it expires. Resolves with false when the lease was lost.
   */
  async run(signal: AbortSignal, lead: (lost: AbortSignal) => Promise<{readonly release: boolean}>): Promise<boolean> {
    if (!(await this.#acquire(signal))) return true;
    this.#logger.info('leading');
    this.#setLeader(true);
    const lost = new AbortController();
    const ended = new AbortController();
    const work = lead(lost.signal);
    const end = (): void => ended.abort();
    work.then(end, end);
    const kept = await this.#renew(ended.signal);
    if (!kept) {
      this.#logger.error('the lease is lost');
      lost.abort(new Error('the lease is lost'));
    }
    this.#setLeader(false);
    let held: Lease | undefined;
    try {
      const {release} = await work;
      held = this.leading && release ? this.#held : undefined;
    } finally {
      // From here on nothing may be written: the next one may already be at work.
      this.#mayWriteUntil = Number.NEGATIVE_INFINITY;
    }
    if (held) await this.#release(held);
    return kept;
  }

  /** False when the signal aborted first. */
  async #acquire(signal: AbortSignal): Promise<boolean> {
    while (!signal.aborted) {
      try {
        if (await this.#tryAcquire(signal)) return true;
      } catch (err) {
        if (!signal.aborted) this.#logger.warn({err}, 'could not ask for the lease');
      }
      await this.#sleep(signal);
    }
    return false;
  }

  async #tryAcquire(signal: AbortSignal): Promise<boolean> {
    const {client, lease, clock} = this.#options;
    const startedAt = clock.monotonic();
    const current = await client.get(LEASE, lease, this.#deadline(signal));
    if (current ? !this.#isFree(current) : !this.#hasExpired()) return false;
    try {
      const wanted = this.#record(current, true);
      this.#held = await (current
        ? client.replace(LEASE, wanted, this.#deadline(signal))
        : client.create(LEASE, wanted, this.#deadline(signal)));
    } catch (error) {
      if (isConflict(error) || isAlreadyExists(error)) return false; // Another one was faster.
      throw error;
    }
    this.#mayWriteUntil = startedAt + this.#renewDeadlineMs;
    return true;
  }

  /** Nobody's, or not renewed for as long as its holder promised to, by our clock. */
  #isFree(lease: Lease): boolean {
    const {clock} = this.#options;
    const {holderIdentity, leaseDurationSeconds} = lease.spec ?? {};
    if (!holderIdentity) return true;
    const resourceVersion = lease.metadata.resourceVersion ?? '';
    if (this.#observed?.resourceVersion === resourceVersion) return this.#hasExpired();
    this.#logger.debug({holder: holderIdentity}, 'another one leads');
    const promisedMs = leaseDurationSeconds === undefined ? this.#leaseDurationMs : leaseDurationSeconds * 1000;
    this.#observed = {resourceVersion, seenAt: clock.monotonic(), promisedMs};
    return false;
  }

  /** What the last holder that we saw may still do does not end because somebody deletes the Lease. */
  #hasExpired(): boolean {
    if (!this.#observed) return true;
    return this.#options.clock.monotonic() - this.#observed.seenAt >= this.#observed.promisedMs;
  }

  /** Renews until `ended` aborts (true) or the right to write has run out (false). */
  async #renew(ended: AbortSignal): Promise<boolean> {
    while (!ended.aborted) {
      await this.#sleep(ended);
      if (ended.aborted) break;
      if (this.gate() === 0) return false;
      if (!(await this.#tryRenew(ended))) return false;
    }
    return this.gate() > 0;
  }

  /** False when the lease is another's. A failed attempt is not yet a loss: there is time until the deadline. */
  async #tryRenew(ended: AbortSignal): Promise<boolean> {
    const {client, lease, clock, identity} = this.#options;
    const startedAt = clock.monotonic();
    try {
      const timeoutMs = Math.min(this.#renewDeadlineMs / 2, this.gate());
      const wanted = this.#record(this.#held, false);
      const options = {signal: ended, timeoutMs};
      this.#held = await (this.#held ? client.replace(LEASE, wanted, options) : client.create(LEASE, wanted, options));
      this.#mayWriteUntil = startedAt + this.#renewDeadlineMs;
    } catch (err) {
      if (ended.aborted) return true;
      this.#logger.warn({err}, 'could not renew the lease');
      let current: Lease | undefined;
      try {
        current = await client.get(LEASE, lease, this.#deadline(ended));
      } catch {
        return true;
      }
      if (current && current.spec?.holderIdentity !== identity) {
        this.#mayWriteUntil = Number.NEGATIVE_INFINITY;
        return false;
      }
      this.#held = current; // Our own renewal, whose answer was lost, or a foreign edit; or somebody deleted it.
    }
    return true;
  }

  async #release(held: Lease): Promise<void> {
    const {client, clock} = this.#options;
    const spec = {...held.spec, holderIdentity: '', leaseDurationSeconds: 1, renewTime: microTime(clock.now())};
    try {
      await client.replace(LEASE, {...held, spec}, {timeoutMs: this.#retryPeriodMs});
      this.#logger.info('lease released');
    } catch (err) {
      this.#logger.warn({err}, 'could not release the lease; it will expire');
    }
  }

  #record(current: Lease | undefined, acquiring: boolean): Lease {
    const {lease, identity, clock} = this.#options;
    const now = microTime(clock.now());
    const {acquireTime = now, leaseTransitions = 0} = current?.spec ?? {};
    return {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: current?.metadata ?? {name: lease.name, namespace: lease.namespace},
      spec: {
        holderIdentity: identity,
        leaseDurationSeconds: Math.ceil(this.#leaseDurationMs / 1000),
        acquireTime: acquiring ? now : acquireTime,
        renewTime: now,
        leaseTransitions: acquiring && current ? leaseTransitions + 1 : leaseTransitions,
      },
    };
  }

  /** Half the renew deadline, as client-go has it: there is time for a second attempt. */
  #deadline(signal: AbortSignal): {signal: AbortSignal; timeoutMs: number} {
    return {signal, timeoutMs: this.#renewDeadlineMs / 2};
  }

  async #sleep(signal: AbortSignal): Promise<void> {
    const {clock, random} = this.#options;
    // Jitter downwards: no renewal comes later than the period.
    await clock.sleep(this.#retryPeriodMs * (1 - 0.2 * random()), signal).catch(() => undefined);
  }

  #setLeader(leading: boolean): void {
    kubeMetrics(this.#options.registry).leader.set({name: this.#options.lease.name}, leading ? 1 : 0);
  }
}
