/**
 * What a stranger's input costs at most: milliseconds of the event loop, in which nobody else is served, and bytes.
 * Each file in this folder covers one subject and prints a table.
 *
 *     node bench/hostile/run.ts [SUBJECT...]      all subjects by default; for example: dns planning
 */
import {glob} from 'node:fs/promises';
import {cpus} from 'node:os';
import {basename, join} from 'node:path';

const wanted = process.argv.slice(2);
const subjects: string[] = [];
for await (const file of glob('*.ts', {cwd: import.meta.dirname})) {
  const name = basename(file, '.ts');
  if (name !== 'run' && name !== 'table') subjects.push(name);
}

console.log(
  `${cpus().length} x ${cpus()[0]?.model}, Node ${process.version}, ${new Date().toISOString().slice(0, 10)}`,
);
for (const subject of subjects.sort()) {
  if (wanted.length > 0 && !wanted.includes(subject)) continue;
  console.log(`\n${subject}`);
  const {bench} = (await import(join(import.meta.dirname, `${subject}.ts`))) as {bench: () => Promise<void> | void};
  await bench();
}
