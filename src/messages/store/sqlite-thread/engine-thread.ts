import {Worker} from 'node:worker_threads';
import type {Chunk} from '../queue/operations.ts';
import type {BatchResult, EngineOptions, ThreadRequest} from '../sqlite/thread-messages.ts';

/** An engine on another thread, so that a slow commit does not block the service. */
export interface EngineThread {
  post(chunk: Chunk): void;
  /** Call this once, before the first chunk. One result may answer several chunks. */
  onResult(listener: (result: BatchResult) => void): void;
  /** Resolves with the error if the thread ends unexpectedly. */
  readonly failed: Promise<Error>;
  /** Call this only when everything has been answered. */
  close(): Promise<void>;
}

/**
 * Starts a thread from `module` (worker.ts). Rejects with the engine's error if the database cannot be opened, or if the
 * thread ends without an answer.
 */
export async function startEngineThread(module: URL, options: EngineOptions): Promise<EngineThread> {
  const worker = new Worker(module, {workerData: options, name: 'store'});
  // Before the first await: a thread that ends at once emits its message and its exit in the same turn.
  const exited = new Promise<void>(resolve => worker.once('exit', () => resolve()));
  const failed = new Promise<Error>(resolve => {
    worker.once('error', resolve);
    worker.once('exit', code => resolve(new Error(`the database's thread ended with code ${code}`)));
  });
  await new Promise<void>((resolve, reject) => {
    worker.once('message', () => resolve());
    void failed.then(reject);
  });
  const post = (request: ThreadRequest) => worker.postMessage(request);
  return {
    post,
    onResult: listener => worker.on('message', listener),
    failed,
    close: async () => {
      post('close'); // nothing happens if the thread has ended
      await exited;
    },
  };
}
