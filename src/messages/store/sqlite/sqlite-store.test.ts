import {expect, test} from 'vitest';
import type {EngineOptions} from './engine.ts';
import {startEngineThread} from './sqlite-store.ts';

test('a thread that has ended on its own can still be closed, so the process need not wait', async () => {
  const program = `
    import {parentPort} from 'node:worker_threads';
    parentPort.postMessage('ready');
    setImmediate(() => process.exit(3));`;
  const module = new URL(`data:text/javascript,${encodeURIComponent(program)}`);
  const thread = await startEngineThread(module, {} as EngineOptions);
  expect((await thread.failed).message).toContain('code 3');
  await thread.close();
});

test('a thread that ends without an answer rejects the start', async () => {
  const module = new URL(`data:text/javascript,${encodeURIComponent('process.exit(4)')}`);
  await expect(startEngineThread(module, {} as EngineOptions)).rejects.toThrow('code 4');
});
