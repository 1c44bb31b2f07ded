/** A database thread without group commit: each operation is a separate transaction. */
import {parentPort, workerData} from 'node:worker_threads';
import {Engine, type EngineOptions} from '../../src/messages/store/sqlite/engine.ts';
import type {Chunk} from '../../src/messages/store/store.ts';

const engine = new Engine(workerData as EngineOptions);
parentPort?.on('message', ({operations, now}: Chunk) => {
  for (const operation of operations) {
    for (const result of engine.applyAll([operation], now)) parentPort?.postMessage(result);
  }
});
parentPort?.postMessage('open');
