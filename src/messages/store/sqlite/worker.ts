/** The database's thread: opens the engine and commits batch after batch. Started by sqlite-store.ts. */
import {parentPort, receiveMessageOnPort, workerData} from 'node:worker_threads';
import type {Chunk, Operation} from '../store.ts';
import {type BatchResult, Engine, type EngineOptions} from './engine.ts';

/** To the thread: operations, or `close` when all have been answered. */
export type ThreadRequest = Chunk | 'close';

/** From the thread: first that the database is open, then results in the order of the operations. */
type ThreadAnswer = 'open' | BatchResult;

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
  // What arrived during the previous commit shares the next one, so a slower disk has larger commits. On an idle disk,
  // the first operation does not wait for others.
  const operations: Operation[] = [...request.operations];
  let {now} = request;
  for (let chunk = next(); chunk !== undefined; chunk = next()) {
    operations.push(...chunk.operations);
    now = chunk.now;
  }
  for (const result of engine.applyAll(operations, now)) port.postMessage(result satisfies ThreadAnswer);
});
port.postMessage('open' satisfies ThreadAnswer);
