/**
 * Durable POST /messages per second, compared with its bounds: the disk's own fdatasync rate, a commit per request, and
 * servers that store nothing. (SQLite as Node builds it calls fsync, which costs as much or a little more.) All take
 * turns in one run, so that other load on the machine affects all of them.
 *
 *     node bench/messages/bench.ts [ROUNDS] [SECONDS]           default 3 rounds of 2 seconds each
 *     node bench/messages/bench.ts ROUNDS SECONDS layers        only the HTTP layers that store nothing, 64 clients
 *
 * Prints medians over the rounds, and by how much the project meets its goals. Fetches wrk if it is missing.
 */
import {closeSync, fdatasyncSync, openSync, writeSync} from 'node:fs';
import {mkdtemp, rm} from 'node:fs/promises';
import {cpus} from 'node:os';
import {join} from 'node:path';
import {median} from '../statistics.ts';
import {KINDS, type Kind, LAYERS} from './kinds.ts';
import {measure, type Sample, type Server, startServer} from './servers.ts';
import {ensureWrk} from './wrk.ts';

const onlyLayers = process.argv[4] === 'layers';
const CONNECTIONS = onlyLayers ? [64] : [1, 16, 64, 256];
const kinds: readonly Kind[] = onlyLayers ? LAYERS : KINDS;

const rounds = Number(process.argv[2] ?? 3);
const seconds = Number(process.argv[3] ?? 2);

/** How many times per second one page can be appended and synced. */
function syncsPerSecond(folder: string): number {
  const file = openSync(join(folder, 'syncs'), 'w');
  const page = Buffer.alloc(4096);
  const start = performance.now();
  let count = 0;
  for (; performance.now() - start < 1000; count++) {
    writeSync(file, page);
    fdatasyncSync(file);
  }
  closeSync(file);
  return (1000 * count) / (performance.now() - start);
}

class Results {
  readonly syncs: number[] = [];
  readonly #samples = new Map<string, Sample[]>();

  add(kind: Kind, connections: number, sample: Sample): void {
    const key = `${kind} ${connections}`;
    this.#samples.set(key, [...(this.#samples.get(key) ?? []), sample]);
  }

  get(kind: Kind, connections: number, what: keyof Sample): number {
    return median(this.#all(kind, connections).map(sample => sample[what]));
  }

  /** How many times better `kind` is than `other` within each round: median, worst, and best. */
  ratios(kind: Kind, other: Kind, what: 'perSecond' | 'cpuMicros'): readonly [number, number, number] {
    const [ours, theirs] = [this.#all(kind, 64), this.#all(other, 64)];
    const ratios = ours.map((sample, round) => {
      const ratio = sample[what] / (theirs[round]?.[what] ?? Number.NaN);
      return what === 'perSecond' ? ratio : 1 / ratio;
    });
    return [median(ratios), Math.min(...ratios), Math.max(...ratios)];
  }

  #all(kind: Kind, connections: number): readonly Sample[] {
    return this.#samples.get(`${kind} ${connections}`) ?? [];
  }
}

function table(results: Results): string {
  const cell = (value: number, digits: number) => value.toFixed(digits).padStart(8);
  const rows = CONNECTIONS.flatMap(connections =>
    kinds.map(kind => {
      const [rate, p50, p99, cpu] = (['perSecond', 'p50Ms', 'p99Ms', 'cpuMicros'] as const).map(what =>
        results.get(kind, connections, what),
      );
      const figures = [cell(rate ?? 0, 0), cell(p50 ?? 0, 2), cell(p99 ?? 0, 2), cell(cpu ?? 0, 0)];
      return `${String(connections).padStart(4)}  ${kind.padEnd(32)}${figures.join('')}`;
    }),
  );
  return [`   c  ${''.padEnd(32)}  POST/s  p50 ms  p99 ms  CPU us`, ...rows].join('\n');
}

/** The goals, all at 64 connections except the last. */
function goals(results: Results): string {
  const rate = (kind: Kind) => results.get(kind, 64, 'perSecond');
  const group = rate('group commit');
  const syncs = median(results.syncs);
  const p99 = (kind: Kind) => results.get(kind, 64, 'p99Ms');
  const rows: readonly (readonly [string, number, number])[] = [
    ['group commit / commit per request, at least', group / rate('commit per request'), 5],
    ['their p99: group commit / commit per request, at most', p99('group commit') / p99('commit per request'), 1],
    ['group commit / fastify no-op, at least', group / rate('fastify no-op'), 1.3],
    ['group commit / our batched no-op, at least', group / rate('no-op, batched'), 0.7],
    ['messages / fdatasync, at least', group / syncs, 3],
    [
      'c = 1: p50 / one fdatasync (no goal; close to 1 is good)',
      (results.get('group commit', 1, 'p50Ms') * syncs) / 1000,
      0,
    ],
  ];
  return rows
    .map(([what, ratio, goal]) => `${what.padEnd(58)}${ratio.toFixed(2).padStart(7)}   ${goal || ''}`)
    .join('\n');
}

/** Ratios are taken within rounds, because other load on the machine changes from round to round. */
function layers(results: Results): string {
  const pairs: readonly (readonly [Kind, Kind])[] = [
    ['no-op', 'fastify no-op'],
    ['no-op', 'fastify no-op, checks'],
    ['no-op, batched', 'fastify no-op, batched'],
    ['no-op, batched', 'fastify no-op, checks, batched'],
  ];
  const rows = pairs.map(([ours, theirs]) => {
    const cells = (['perSecond', 'cpuMicros'] as const).map(what => {
      const [middle = 0, ...range] = results.ratios(ours, theirs, what).map(ratio => ratio.toFixed(2));
      return `${middle} (${range.join(' to ')})`.padEnd(24);
    });
    return `${`${ours} / ${theirs}`.padEnd(52)}${cells.join('')}`;
  });
  return [
    `${'ratios within a round: median (lowest to highest)'.padEnd(52)}POST/s                  POSTs per CPU`,
    ...rows,
  ].join('\n');
}

async function main(): Promise<void> {
  await ensureWrk();
  // Next to the sources, because the folder for temporary files is often in memory, where a sync costs nothing.
  const folder = await mkdtemp(join(import.meta.dirname, 'store-'));
  const servers = new Map<Kind, Server>();
  const results = new Results();
  try {
    for (const kind of kinds) servers.set(kind, await startServer(kind, folder));
    for (const server of servers.values()) await measure(server, {connections: 64, seconds}); // warm
    for (let round = 0; round < rounds; round++) {
      if (!onlyLayers) results.syncs.push(syncsPerSecond(folder));
      for (const connections of CONNECTIONS) {
        const turns = round % 2 === 0 ? [...servers] : [...servers].reverse();
        for (const [kind, server] of turns)
          results.add(kind, connections, await measure(server, {connections, seconds}));
      }
    }
  } finally {
    for (const {process: server} of servers.values()) server.kill();
    await rm(folder, {recursive: true, force: true});
  }
  console.log(
    `${cpus().length} x ${cpus()[0]?.model}, Node ${process.version}, ${new Date().toISOString().slice(0, 10)}`,
  );
  console.log(`${table(results)}\n\n${layers(results)}`);
  if (!onlyLayers) console.log(`\nfdatasync: ${median(results.syncs).toFixed(0)}/s\n${goals(results)}`);
}

await main();
