import type {Logger} from 'pino';
import type {Clock} from '../clock.ts';
import type {KubeClient} from './client.ts';
import type {DeepReadonly, KubeObject} from './object.ts';

export interface EventRecorderOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Who reports, for example "nameplate.dev/operator". */
  readonly reportingController: string;
  /** Which instance, usually the pod's name. */
  readonly reportingInstance: string;
}

/** Reports to `kubectl describe` and `kubectl get events`. Never throws, never waits, may drop: events are for people. */
export interface EventRecorder {
  /**
   * @param reason CamelCase, why: "CertificateIssued".
   * @param action CamelCase, what was done or tried: "Issue".
   * @param note one sentence; cut at 1 kB.
   */
  event(
    regarding: DeepReadonly<KubeObject>,
    type: 'Normal' | 'Warning',
    reason: string,
    action: string,
    note: string,
  ): void;
  /** Sends what is waiting. */
  flush(signal?: AbortSignal): Promise<void>;
}

export function createEventRecorder(options: EventRecorderOptions): EventRecorder {
  throw new Error(`not built yet: ${options.reportingController}`);
}
