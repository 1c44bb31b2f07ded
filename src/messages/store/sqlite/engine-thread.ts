import {once} from 'node:events';
import {Worker} from 'node:worker_threads';
import type {BatchResult, EngineOptions, Operation} from './operations.ts';

/** To the thread. One batch at a time; `close` only when none is under way. */
export type ThreadRequest =
  | {readonly kind: 'apply'; readonly batch: readonly Operation[]; readonly now: number}
  | {readonly kind: 'close'};

/** From the thread: first that the database is open, then one result for each batch. */
export type ThreadAnswer = 'open' | BatchResult;

/** An engine somewhere else: a commit that takes long must not keep the service from answering. */
export interface EngineThread {
  /** Rejects only when the thread is gone. The one before must have ended. */
  apply(batch: readonly Operation[], now: number): Promise<BatchResult>;
  /** Resolves with the error when the thread ends by itself, which it never should. */
  readonly failed: Promise<Error>;
  close(): Promise<void>;
}

/** Starts a thread from `module` (worker.ts). Rejects with the engine's error when the database cannot be opened. */
export async function startEngineThread(module: URL, options: EngineOptions): Promise<EngineThread> {
  const worker = new Worker(module, {workerData: options, name: 'store'});
  await once(worker, 'message'); // rejects on 'error'
  const failed = new Promise<Error>(resolve => {
    worker.once('error', resolve);
    worker.once('exit', code => resolve(new Error(`the database's thread ended with code ${code}`)));
  });
  let pending: PromiseWithResolvers<BatchResult> | undefined;
  worker.on('message', (result: BatchResult) => {
    pending?.resolve(result);
    pending = undefined;
  });
  void failed.then(error => pending?.reject(error));

  const post = (request: ThreadRequest) => worker.postMessage(request);
  return {
    failed,
    apply: (batch, now) => {
      pending = Promise.withResolvers();
      post({kind: 'apply', batch, now});
      return pending.promise;
    },
    close: async () => {
      const exited = once(worker, 'exit');
      post({kind: 'close'});
      await exited;
    },
  };
}
