/**
 * `make demo`: starts a real Kubernetes with the operator's image, tells the story, and removes everything. KEEP=1
 * keeps it.
 */
import {type ChildProcess, spawn} from 'node:child_process';
import {join} from 'node:path';

const NAME = 'demo';
const CLI = join(import.meta.dirname, '../cluster/cli.ts');
const keep = Boolean(process.env.KEEP);
let running: ChildProcess | undefined;

function cluster(verb: string, ...rest: readonly string[]): Promise<number> {
  const child = spawn(process.execPath, [CLI, verb, '--name', NAME, ...rest], {stdio: 'inherit'});
  running = child;
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', code => resolve(code ?? 1));
  });
}

async function story(): Promise<number> {
  // `down` first: an earlier demo may have been kept.
  const code = (await cluster('down')) || (await cluster('up', '--load-operator'));
  if (code !== 0) return code;
  return cluster('exec', '--', process.execPath, join(import.meta.dirname, 'story.ts'));
}

// The running program gets Ctrl-C from the terminal and ends. Then the cluster is taken down as usual.
process.on('SIGINT', () => {});
process.on('SIGTERM', () => running?.kill('SIGTERM'));

const start = performance.now();
try {
  process.exitCode = await story();
} catch (error) {
  console.error(`error: ${(error as Error).message}`);
  process.exitCode = 1;
}
if (keep) {
  console.log(`\nThe cluster keeps running. Open a shell in it:  node test/cluster/cli.ts shell --name ${NAME}`);
  console.log(`Stop it:                                        node test/cluster/cli.ts down --name ${NAME}`);
} else {
  await cluster('down');
}
const verdict = process.exitCode ? 'The demo failed' : 'Every check passed';
console.log(`\n${verdict}; ${Math.round((performance.now() - start) / 1000)} s in total.`);
if (process.exitCode && !keep) console.log('KEEP=1 make demo keeps the cluster running, so that you can inspect it.');
