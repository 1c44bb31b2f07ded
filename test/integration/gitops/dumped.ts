/** The objects in states.jsonl, as tests saw them in states that the operator set. collect.ts writes the file. */
import {existsSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import type {Condition} from '../../../src/api/conditions.ts';
import type {KubeObject} from '../../../src/runtime/kube/object.ts';

export const STATES_FILE = join(import.meta.dirname, 'states.jsonl');

export interface Dumped extends KubeObject {
  readonly spec?: object;
  readonly status?: {
    readonly observedGeneration?: number;
    readonly state?: string;
    readonly conditions?: readonly Condition[];
  };
}

export function readObjects(file: string): Dumped[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean);
  return lines.map(line => JSON.parse(line) as Dumped);
}
