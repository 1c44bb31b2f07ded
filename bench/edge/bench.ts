/**
 * How soon an edge with N hosts answers for a new host: Traefik, then Envoy Gateway, each in a separate cluster, or
 * only the one that EDGE names. hosts.ts describes what is measured.
 *
 *     node bench/edge/bench.ts [HOSTS,HOSTS...]      default 300,1000; LARGE=1 adds 3000,10000
 *     node bench/edge/bench.ts 100,300,1000,3000     the curve, with a table for each edge
 */
import {spawnSync} from 'node:child_process';
import {join} from 'node:path';

const NAME = 'bench-edge';
const ROOT = join(import.meta.dirname, '../..');
const CLI = join(ROOT, 'test/cluster/cli.ts');
const counts = process.argv[2] ?? `300,1000${process.env.LARGE ? ',3000,10000' : ''}`;

function cluster(edge: string, verb: string, ...rest: readonly string[]): void {
  const args = [CLI, verb, '--name', NAME, ...rest];
  const {status} = spawnSync(process.execPath, args, {stdio: 'inherit', env: {...process.env, EDGE: edge}});
  if (status !== 0) throw new Error(`${args.join(' ')} ended (${status})`);
}

for (const edge of process.env.EDGE ? [process.env.EDGE] : ['traefik', 'gateway']) {
  cluster(edge, 'down');
  try {
    cluster(edge, 'up');
    cluster(edge, 'exec', '--', process.execPath, join(import.meta.dirname, 'hosts.ts'), counts);
  } finally {
    cluster(edge, 'down');
  }
}
