import type {Logger} from 'pino';
import type {Registry} from 'prom-client';
import type {Clock} from '../../time/clock.ts';
import type {WriteGate} from './calls.ts';
import type {KubeClient} from './client.ts';
import {isAlreadyExists, isConflict} from './errors.ts';
import {kubeMetrics} from './metrics.ts';
import {formatKey, type KubeObject, microTime, type ObjectKey, resourceType} from './object.ts';

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

export const LEASE = resourceType<Lease>('coordination.k8s.io/v1', 'Lease', 'leases');

export interface LeaderElectionOptions {
  readonly lease: ObjectKey & {readonly namespace: string};
  /** Others take over this long after the last renewal that they saw. Whole seconds, default 15 000. */
  readonly leaseDurationMs?: number;
  /** The holder stops writing this long after it began its last renewal. Less than the duration, default 10 000. */
  readonly renewDeadlineMs?: number;
  /** Between attempts. Less than the deadline, default 2 000. */
  readonly retryPeriodMs?: number;
}

interface LeaderElectorOptions extends LeaderElectionOptions {
  /** A client without the gate, which this election controls. */
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly registry: Registry;
  /** In [0, 1). */
  readonly random: () => number;
  /** Unique to this process, across restarts too. */
  readonly identity: string;
}

/** Another holder's lease as we last saw it, and when, on our own clock: the clocks of other machines may be wrong. */
interface Observation {
  readonly resourceVersion: string;
  readonly seenAt: number;
  readonly promisedMs: number;
}

/**
 * Leader election on a Lease, like `leaderelection` of client-go.
 *
 * Why two processes never write at the same time: a holder may write until `renewDeadline` after its last successful
 * renewal *began*. Others take over no sooner than `leaseDuration` after they *saw* that renewal, which is later. Each
 * measures on its own monotonic clock, which no adjustment moves and no SIGSTOP stops. `gate` is called right before a
 * write is sent, and the write's deadline ends with the right to write.
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

  /** How many milliseconds this process may still write; 0 if it does not lead. */
  readonly gate: WriteGate = () => Math.max(0, this.#mayWriteUntil - this.#options.clock.monotonic());

  get leading(): boolean {
    return this.gate() > 0;
  }

  /**
   * Waits for the lease and holds it while `lead` runs. The signal aborts when the lease is lost. `lead` returns
   * whether the lease may be released: whether none of its writes can still be in flight. The next holder then need not
   * wait until the lease expires. Resolves with false if the lease was lost.
   */
  async run(signal: AbortSignal, lead: (lost: AbortSignal) => Promise<{readonly release: boolean}>): Promise<boolean> {
    if (!(await this.#acquire(signal))) return true;
    this.#logger.info('This process is now the leader.');
    this.#setLeader(true);
    const lost = new AbortController();
    const ended = new AbortController();
    const work = lead(lost.signal);
    const end = (): void => ended.abort();
    work.then(end, end);
    const kept = await this.#renew(ended.signal);
    if (!kept) {
      this.#logger.error('Lost the lease.');
      lost.abort(new Error('the lease is lost'));
    }
    this.#setLeader(false);
    let held: Lease | undefined;
    try {
      const {release} = await work;
      held = this.leading && release ? this.#held : undefined;
    } finally {
      // From now on, nothing may be written: the next holder may already lead.
      this.#mayWriteUntil = Number.NEGATIVE_INFINITY;
    }
    if (held) await this.#release(held);
    return kept;
  }

  /** False if the signal aborted first. */
  async #acquire(signal: AbortSignal): Promise<boolean> {
    while (!signal.aborted) {
      try {
        if (await this.#tryAcquire(signal)) return true;
      } catch (err) {
        if (!signal.aborted) this.#logger.warn({err}, 'Could not request the lease.');
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
      if (isConflict(error) || isAlreadyExists(error)) return false; // Another process was faster.
      throw error;
    }
    this.#mayWriteUntil = startedAt + this.#renewDeadlineMs;
    return true;
  }

  /** It has no holder, or the holder has not renewed it in time, on our clock. */
  #isFree(lease: Lease): boolean {
    const {clock} = this.#options;
    const {holderIdentity, leaseDurationSeconds} = lease.spec ?? {};
    if (!holderIdentity) return true;
    const resourceVersion = lease.metadata.resourceVersion ?? '';
    if (this.#observed?.resourceVersion === resourceVersion) return this.#hasExpired();
    this.#logger.debug({holder: holderIdentity}, 'another replica is the leader');
    const promisedMs = leaseDurationSeconds === undefined ? this.#leaseDurationMs : leaseDurationSeconds * 1000;
    this.#observed = {resourceVersion, seenAt: clock.monotonic(), promisedMs};
    return false;
  }

  /** If somebody deletes the Lease, the last holder that we saw may still write for a while. */
  #hasExpired(): boolean {
    if (!this.#observed) return true;
    return this.#options.clock.monotonic() - this.#observed.seenAt >= this.#observed.promisedMs;
  }

  /** Renews until `ended` aborts (true) or the right to write has expired (false). */
  async #renew(ended: AbortSignal): Promise<boolean> {
    while (!ended.aborted) {
      await this.#sleep(ended, this.gate());
      if (ended.aborted) break;
      if (this.gate() === 0) return false;
      if (!(await this.#tryRenew(ended))) return false;
    }
    return this.gate() > 0;
  }

  /** False if another process has the lease. After a failed attempt, there is still time until the deadline. */
  async #tryRenew(ended: AbortSignal): Promise<boolean> {
    const {client, lease, clock, identity} = this.#options;
    const startedAt = clock.monotonic();
    try {
      const wanted = this.#record(this.#held, false);
      const options = {signal: ended, timeoutMs: Math.min(this.#renewDeadlineMs / 2, this.gate())};
      this.#held = await (this.#held ? client.replace(LEASE, wanted, options) : client.create(LEASE, wanted, options));
      this.#mayWriteUntil = startedAt + this.#renewDeadlineMs;
    } catch (err) {
      if (ended.aborted) return true;
      this.#logger.warn({err}, 'Could not renew the lease.');
      const timeoutMs = Math.min(this.#renewDeadlineMs / 2, this.gate());
      if (timeoutMs === 0) return true; // The caller sees that there is no time left.
      let current: Lease | undefined;
      try {
        current = await client.get(LEASE, lease, {signal: ended, timeoutMs});
      } catch {
        return true;
      }
      if (current && current.spec?.holderIdentity !== identity) {
        this.#mayWriteUntil = Number.NEGATIVE_INFINITY;
        return false;
      }
      this.#held = current; // Our own renewal, whose response was lost, or a foreign edit or deletion.
    }
    return true;
  }

  async #release(held: Lease): Promise<void> {
    const {client, clock} = this.#options;
    const spec = {...held.spec, holderIdentity: '', leaseDurationSeconds: 1, renewTime: microTime(clock.now())};
    try {
      await client.replace(LEASE, {...held, spec}, {timeoutMs: this.#retryPeriodMs});
      this.#logger.info('Released the lease.');
    } catch (err) {
      this.#logger.warn({err}, 'Could not release the lease; it will expire.');
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

  /** Half the renew deadline, as in client-go, so there is time for a second attempt. */
  #deadline(signal: AbortSignal): {signal: AbortSignal; timeoutMs: number} {
    return {signal, timeoutMs: this.#renewDeadlineMs / 2};
  }

  async #sleep(signal: AbortSignal, maxMs = Number.POSITIVE_INFINITY): Promise<void> {
    const {clock, random} = this.#options;
    // Jitter only shortens: no renewal comes later than the period.
    const ms = Math.min(this.#retryPeriodMs * (1 - 0.2 * random()), maxMs);
    await clock.sleep(ms, signal).catch(() => undefined);
  }

  #setLeader(leading: boolean): void {
    kubeMetrics(this.#options.registry).leader.set({name: this.#options.lease.name}, leading ? 1 : 0);
  }
}
