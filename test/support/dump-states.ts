/**
 * With STATES=FOLDER, tests write every object of our kinds to that folder, once in each state that the operator
 * reported.
 */
import {appendFileSync} from 'node:fs';
import {join} from 'node:path';
import {setTimeout as pause} from 'node:timers/promises';
import type {Condition} from '../../src/api/conditions.ts';
import {FIELD_MANAGER} from '../../src/api/names.ts';
import {API_KEY, KEY_CLAIM} from '../../src/apikey/apikey.ts';
import {ACME_ISSUER, DOMAIN, DOMAIN_CLAIM, PROJECT} from '../../src/operator/kinds/kinds.ts';
import type {KubeClient} from '../../src/runtime/kube/client.ts';
import type {KubeObject, ResourceType} from '../../src/runtime/kube/object.ts';

const KINDS: readonly ResourceType[] = [PROJECT, DOMAIN, API_KEY, DOMAIN_CLAIM, KEY_CLAIM, ACME_ISSUER];
const FOLDER = process.env.STATES;
const LIMITS = {timeoutMs: 3_600_000, idleTimeoutMs: 3_600_000};

interface Reported extends KubeObject {
  readonly metadata: KubeObject['metadata'] & {
    readonly managedFields?: readonly {readonly manager?: string; readonly subresource?: string}[];
  };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly state?: string;
    readonly conditions?: readonly Condition[];
  };
}

/** Watches until the returned function is called. */
export function dumpStates(client: KubeClient): () => Promise<void> {
  if (!FOLDER) return async () => {};
  const file = join(FOLDER, `${process.pid}.jsonl`);
  const stopping = new AbortController();
  const seen = new Set<string>();
  const keep = (object: Reported) => {
    if (object.metadata.deletionTimestamp || !isByOperator(object)) return;
    const state = `${object.kind} ${stateIn(object)}`;
    if (seen.has(state)) return;
    seen.add(state);
    appendFileSync(file, `${JSON.stringify(object)}\n`);
  };
  const running = Promise.all(KINDS.map(kind => watch(client, kind as ResourceType<Reported>, stopping.signal, keep)));
  return async () => {
    stopping.abort();
    await running;
  };
}

/** Tests also write statuses that the operator never wrote. */
function isByOperator({metadata: {managedFields = []}}: Reported): boolean {
  return managedFields.every(({manager, subresource}) => subresource !== 'status' || manager === FIELD_MANAGER);
}

function stateIn({metadata, status = {}}: Reported): string {
  const {state, observedGeneration, conditions = []} = status;
  const reasons = conditions.map(({type, status, reason}) => `${type}=${status} ${reason}`);
  return [state, observedGeneration === metadata.generation, ...reasons].join(', ');
}

/** A test may interrupt the API server. Then the next watch begins with all existing objects. */
async function watch(
  client: KubeClient,
  kind: ResourceType<Reported>,
  signal: AbortSignal,
  onChange: (object: Reported) => void,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await client.watch(kind, {signal, ...LIMITS}, event => {
        if (event.type !== 'BOOKMARK') onChange(event.object);
      });
    } catch {
      await pause(500, undefined, {signal}).catch(() => {});
    }
  }
}
