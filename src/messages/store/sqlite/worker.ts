/** The database's thread: opens the engine and commits batch after batch. Started by engine-thread.ts. */
import {parentPort, receiveMessageOnPort, workerData} from 'node:worker_threads';
import type {Chunk} from '../queue/operations.ts';
import {Engine} from './engine.ts';
import {gather} from './group-commit.ts';
import type {EngineOptions, ThreadAnswer, ThreadRequest} from './thread-messages.ts';

if (parentPort === null) throw new Error('this module must run in a worker thread');
const port = parentPort;
const engine = new Engine(workerData as EngineOptions);
// Only chunks: `close` is sent once all of them have been answered.
const next = () => receiveMessageOnPort(port)?.message as Chunk | undefined;
port.on('message', (request: ThreadRequest) => {
  if (request === 'close') {
    engine.close();
    port.close();
    return;
  }
  const {operations, now} = gather(request, next);
  for (const result of engine.applyAll(operations, now)) port.postMessage(result satisfies ThreadAnswer);
});
port.postMessage('open' satisfies ThreadAnswer);
