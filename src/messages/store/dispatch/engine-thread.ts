import {once} from 'node:events';
import {Worker} from 'node:worker_threads';
import type {BatchResult, Chunk, EngineOptions, ThreadRequest} from '../sqlite/operations.ts';

/** An engine somewhere else: a commit that takes long must not keep the service from answering. */
export interface EngineThread {
  post(chunk: Chunk): void;
  /** To be called once, before the first chunk. One result may answer several chunks. */
  onResult(listener: (result: BatchResult) => void): void;
  /** Resolves with the error when the thread ends by itself, which it never should. */
  readonly failed: Promise<Error>;
  /** Only when all has been answered. */
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
  const post = (request: ThreadRequest) => worker.postMessage(request);
  return {
    post,
    onResult: listener => worker.on('message', listener),
    failed,
    close: async () => {
      const exited = once(worker, 'exit');
      post('close');
      await exited;
    },
  };
}
