/**
 * `node test/integration/gitops/collect.ts FOLDER` updates states.jsonl with the objects that tests dumped with
 * STATES=FOLDER. It keeps as few objects as are needed to show every condition in every state, and an earlier one only
 * for what no new one shows. It replaces names, times, and random values, so that two dumps differ little.
 */
import {globSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {type Dumped, readObjects, STATES_FILE} from './dumped.ts';

function normalized({apiVersion, kind, metadata, ...rest}: Dumped): Dumped {
  const {name, namespace, generation, labels, annotations} = metadata;
  const kept = {name, namespace, generation, labels, annotations};
  const text = JSON.stringify({apiVersion, kind, metadata: kept, ...rest});
  // A namespace such as `expired` is also a word in messages.
  const named = namespace?.includes('-') ? text.replaceAll(namespace, 'acme-shop') : text;
  return JSON.parse(
    named
      .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, '2026-06-01T00:00:00Z')
      .replace(/\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, '00000000-0000-0000-0000-000000000000')
      .replace(/\b[0-9a-f]{64}\b/g, '0'.repeat(64))
      .replace(/\b127\.0\.0\.1:\d+/g, '127.0.0.1:53')
      .replace(/\b(?=[a-z]*[2-7])[a-z2-7]{20,}\b/g, token => 'a'.repeat(token.length)),
  ) as Dumped;
}

/** What an object shows: each of its conditions, in its state. */
function factsOf({kind, metadata, status = {}}: Dumped): string[] {
  const {state = '', observedGeneration, conditions = []} = status;
  if (conditions.length === 0) return [kind];
  if (observedGeneration !== metadata.generation) return [`${kind} changed`];
  const progress = conditions.find(({type}) => type === 'Reconciling' || type === 'Stalled')?.type ?? '';
  return conditions.map(({type, status, reason}) => [kind, type, status, reason, state, progress].join(' '));
}

/** Chooses greedily: always the object that shows most of what is still missing, and on a tie, the earlier one. */
function cover(objects: readonly Dumped[], shown: Set<string>): Dumped[] {
  const kept: Dumped[] = [];
  for (;;) {
    const missing = objects.map(object => factsOf(object).filter(fact => !shown.has(fact)));
    const most = Math.max(0, ...missing.map(({length}) => length));
    const [object] = objects.filter((_, index) => missing[index]?.length === most);
    if (most === 0 || !object) return kept;
    kept.push(object);
    for (const fact of factsOf(object)) shown.add(fact);
  }
}

const [folder] = process.argv.slice(2);
if (!folder) throw new Error('usage: node test/integration/gitops/collect.ts FOLDER');
const dumped = globSync('*.jsonl', {cwd: folder})
  .sort()
  .flatMap(file => readObjects(join(folder, file)));
const former = readObjects(STATES_FILE);
const shown = new Set<string>();
const kept = [...cover(dumped.map(normalized), shown), ...cover(former, shown)];
const lines = kept.map(object => ({fact: factsOf(object).join(), line: JSON.stringify(object)}));
lines.sort((a, b) => (a.fact < b.fact ? -1 : 1));
writeFileSync(STATES_FILE, lines.map(({line}) => `${line}\n`).join(''));
console.log(`${dumped.length} dumped, ${former.length} from before, ${kept.length} kept`);
