import type {Logger} from 'pino';
import type {Registry} from 'prom-client';
import type {Clock} from './clock.ts';
import type {DnsScheduler} from './scheduler.ts';
import type {ProofQuestion, Verdict} from './verdict.ts';

export interface Dns {
  readonly scheduler: DnsScheduler;
  /** Never rejects but when the signal aborts: faults of DNS are verdicts. */
  verify(question: ProofQuestion, signal: AbortSignal): Promise<Verdict>;
}

export interface DnsDependencies {
  readonly logger: Logger;
  readonly registry: Registry;
  readonly clock: Clock;
}
