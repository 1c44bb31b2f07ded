/**
 * Whether cert-manager works: its controller renews a Lease, and says something about each new Certificate within a
 * second. Other objects do not show it, because nothing changes while nothing is due. A fault concerns the
 * operator as a whole, and hosts that wait for a certificate.
 */
import type {Logger} from 'pino';
import type {KubeClient} from '../../runtime/kube/client.ts';
import {LEASE, type Lease} from '../../runtime/kube/leader-election.ts';
import type {Clock} from '../../time/clock.ts';
import {INDEX, type Stores} from '../caches/stores.ts';
import type {OperatorConfig} from '../config/config.ts';

const LOOK_MS = 15_000;
/** cert-manager renews every 15 s, and another replica takes over after 60 s. */
const SILENCE_MS = 90_000;

interface CertManagerParts {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly certificates: Pick<Stores['certificates'], 'byIndex'>;
  readonly lease: OperatorConfig['certificates']['certManagerLease'];
}

export class CertManager {
  readonly #parts: CertManagerParts;
  readonly #handlers = new Set<() => void>();
  #seen: {readonly renewal: string; readonly sinceMs: number} | undefined;
  /** By uid. */
  #untouched: ReadonlySet<string | undefined> = new Set();
  /** When cert-manager last took up a Certificate, or none waited. */
  #tookUpMs: number | undefined;
  #problem: string | undefined;

  constructor(parts: CertManagerParts) {
    this.#parts = parts;
  }

  problem(): string | undefined {
    return this.#problem;
  }

  subscribe(handler: () => void): void {
    this.#handlers.add(handler);
  }

  async run(signal: AbortSignal): Promise<void> {
    const {clock, lease, logger} = this.#parts;
    while (!signal.aborted) {
      const untouched = this.#untouchedProblem();
      const silent =
        lease.name === ''
          ? undefined
          : await this.#silence(signal).catch((error: unknown) => {
              // The API server's outage is reported elsewhere, and says nothing about cert-manager.
              if (!signal.aborted) logger.debug({err: error}, "cert-manager's Lease cannot be read.");
              this.#seen = undefined;
              return this.#problem;
            });
      this.#set(silent ?? untouched);
      await clock.sleep(LOOK_MS, signal).catch(() => undefined);
    }
  }

  /** The times in the Lease are of another clock, so how long it has not changed is measured here. */
  async #silence(signal: AbortSignal): Promise<string | undefined> {
    const {client, clock, lease} = this.#parts;
    const {namespace, name} = lease;
    const found = await client.get(LEASE, {namespace, name}, {signal});
    if (!found?.spec) {
      this.#seen = undefined; // it may run without an election
      return undefined;
    }
    const {holderIdentity = '', renewTime = ''} = found.spec;
    const [renewal, nowMs] = [`${holderIdentity} ${renewTime}`, clock.monotonic()];
    if (this.#seen?.renewal !== renewal) this.#seen = {renewal, sinceMs: nowMs};
    const isSilent = nowMs - this.#seen.sinceMs >= silenceMs(found);
    if (!isSilent) return undefined;
    return `cert-manager is not running: it last renewed Lease ${namespace}/${name} at ${renewTime.slice(0, 19)}Z.`;
  }

  /** With thousands of new Certificates, the last of them wait for long, but not all of them. */
  #untouchedProblem(): string | undefined {
    const {certificates, clock} = this.#parts;
    const now = new Set(certificates.byIndex(INDEX.untouched, 'all').map(({metadata}) => metadata.uid));
    const isIdle = now.size === 0 || [...this.#untouched].some(uid => !now.has(uid));
    if (isIdle || this.#untouched.size === 0) this.#tookUpMs = clock.monotonic();
    this.#untouched = now;
    const silentMs = clock.monotonic() - (this.#tookUpMs ?? clock.monotonic());
    if (silentMs < SILENCE_MS) return undefined;
    return 'cert-manager is not running: it has not taken up any of the Certificates that wait for it.';
  }

  #set(problem: string | undefined): void {
    const before = this.#problem;
    this.#problem = problem;
    if ((before === undefined) === (problem === undefined)) return;
    const {logger} = this.#parts;
    if (problem === undefined) logger.info('cert-manager is running again.');
    else logger.warn(`${problem} Nothing is issued or renewed meanwhile.`);
    for (const handler of this.#handlers) handler();
  }
}

function silenceMs({spec}: Lease): number {
  return Math.max(SILENCE_MS, 1500 * (spec?.leaseDurationSeconds ?? 0));
}
