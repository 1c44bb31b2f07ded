/**
 * Runs before runc, with its arguments, on a machine without CAP_SYS_RESOURCE: removes that capability, and the limits
 * that need it, from the container that runc is about to start.
 */
import {readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';

interface Process {
  rlimits?: unknown;
  readonly capabilities?: Record<string, readonly string[]>;
}

function change<T>(file: string, processIn: (content: T) => Process): void {
  const content = JSON.parse(readFileSync(file, 'utf8')) as T;
  const started = processIn(content);
  delete started.rlimits;
  for (const [set, names] of Object.entries(started.capabilities ?? {})) {
    if (started.capabilities) started.capabilities[set] = names.filter(name => name !== 'CAP_SYS_RESOURCE');
  }
  writeFileSync(file, JSON.stringify(content));
}

const args = process.argv.slice(2);
for (const [index, option] of args.entries()) {
  const value = args[index + 1] ?? '';
  if (option === '--bundle') change<{process: Process}>(join(value, 'config.json'), ({process: started}) => started);
  if (option === '--process') change<Process>(value, started => started);
}
