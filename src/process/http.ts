/** The operations endpoint: /healthz, /readyz and /metrics. */
import type {Logger} from 'pino';

/** A named reason to be unhealthy. */
export interface HealthCheck {
  readonly name: string;
  /** Undefined when all is well, otherwise what is not. Must return at once: it reads state, it does no I/O. */
  readonly problem: () => string | undefined;
}

/** What /metrics needs of a prom-client Registry. */
export interface MetricsSource {
  readonly contentType: string;
  metrics(): Promise<string>;
}

export interface OperationsServerOptions {
  /** 0: any free port. */
  readonly port: number;
  /** All addresses unless given. */
  readonly host?: string;
  /** /healthz: a failing one gets the process restarted. */
  readonly liveness: readonly HealthCheck[];
  /** /readyz: a failing one takes the pod out of rotation. */
  readonly readiness: readonly HealthCheck[];
  readonly metrics: MetricsSource;
  readonly logger: Logger;
}

export interface OperationsServer {
  readonly port: number;
  /** Stops listening and ends what is open. */
  close(): Promise<void>;
}

/** Resolves once it listens; rejects when the port cannot be had. */
export async function startOperationsServer(_options: OperationsServerOptions): Promise<OperationsServer> {
  throw new Error('not yet written');
}
