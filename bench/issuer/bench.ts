/**
 * What a certificate costs beside another commit: from the Certificate to its Secret, from the right record to Live, and
 * writes for each host, cleanup included. Each commit has a cluster of its own; the rounds alternate.
 *
 *     node bench/issuer/bench.ts CHECKOUT [HOSTS] [ROUNDS]      default 10 and 5
 *
 * CHECKOUT: a work tree of the other commit, with its packages installed.
 */
import {join} from 'node:path';
import {run} from '../../test/cluster/children.ts';
import {median, ratios} from '../statistics.ts';
import type {Figures} from './measure.ts';

const [other = '', hosts = '10', rounds = '5'] = process.argv.slice(2);
if (other === '') throw new Error('name the work tree of the other commit');
const HERE = join(import.meta.dirname, '../..');
const checkouts = {here: HERE, there: other};
const figures: Record<keyof typeof checkouts, Figures[]> = {here: [], there: []};

const cli = (side: keyof typeof checkouts, ...args: readonly string[]) =>
  run([process.execPath, join(checkouts[side], 'test/cluster/cli.ts'), '--name', `bench-${side}`, ...args], {
    cwd: checkouts[side],
  });

const sides = ['here', 'there'] as const;
try {
  for (const side of sides) await cli(side, 'up', '--load-operator');
  for (let round = 0; round < Number(rounds); round++) {
    for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
      const program = join(HERE, 'bench/issuer/measure.ts');
      const printed = await cli(side, 'exec', '--', process.execPath, program, checkouts[side], hosts);
      const found = JSON.parse(printed.trim().split('\n').at(-1) ?? '') as Figures;
      figures[side].push(found);
      console.log(`${side}: ${JSON.stringify(found)}`);
    }
  }
} finally {
  for (const side of sides) await cli(side, 'down');
}
console.log(`${hosts} hosts one after the other, ${rounds} rounds, medians, beside ${other}`);
const of = (pick: (figures: Figures) => number) => sides.map(side => figures[side].map(pick)) as [number[], number[]];
for (const [name, pick] of [
  ['Certificate to Secret, s', ({secret}: Figures) => median(secret)],
  ['record right to Live, s', ({live}: Figures) => median(live)],
  ['writes for each host', ({writes}: Figures) => writes],
  ['all at once to Live, s', ({burst}: Figures) => burst],
] as const) {
  const [ours, theirs] = of(pick);
  console.log(`${name}: ${median(ours).toFixed(2)} and ${median(theirs).toFixed(2)}, ratio ${ratios(ours, theirs)}`);
}
