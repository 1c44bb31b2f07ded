/** The database's thread: opens the engine and applies batch after batch. Started by engine-thread.ts. */
import {parentPort, workerData} from 'node:worker_threads';
import {Engine} from './engine.ts';
import type {ThreadAnswer, ThreadRequest} from './engine-thread.ts';
import type {EngineOptions} from './operations.ts';

if (parentPort === null) throw new Error('this module is the start of a worker thread');
const port = parentPort;
const engine = new Engine(workerData as EngineOptions);
port.on('message', (request: ThreadRequest) => {
  if (request.kind === 'close') {
    engine.close();
    port.close();
    return;
  }
  port.postMessage(engine.apply(request.batch, request.now) satisfies ThreadAnswer);
});
port.postMessage('open' satisfies ThreadAnswer);
