/**
 * Whether a project has ever had a ready endpoint. This queries the API server, and only until the first deploy: a
 * cache would hold the EndpointSlices of all Services permanently, and change with every pod.
 */
import {timestamp} from '../../api/conditions.ts';
import {ANNOTATION} from '../../api/names.ts';
import {classifyFailure} from '../../runtime/kube/errors.ts';
import {type DeepReadonly, keyOf, objectKey} from '../../runtime/kube/object.ts';
import type {Clock} from '../../time/clock.ts';
import type {ApiAccess} from '../caches/context.ts';
import type {Placing} from '../caches/places.ts';
import type {Stores} from '../caches/stores.ts';
import {type CachedProject, ENDPOINT_SLICE, PROJECT, type Project} from '../kinds/kinds.ts';
import {PausedError, type StepEnd} from '../kinds/steps.ts';

/** A tenant may write any number of slices. By default, each has at most 100 pods. */
const MAX_SLICES = 5;
const MIN_PAUSE_MS = 1000;
const MAX_PAUSE_MS = 60_000;
/** A project that has waited for an hour may wait two more minutes, so one that is never deployed costs little. */
const PART_OF_AGE = 30;

interface DeployContext extends ApiAccess {
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly stores: {readonly services: Pick<Stores['services'], 'get'>};
  readonly places: Placing<'projects'>;
}

export interface FirstDeploy extends StepEnd {
  /** When the first deployment was; undefined if there was none. */
  readonly deployedAt?: string | undefined;
}

/** The Project is published nevertheless. */
export function failedDeploy(failure: unknown): FirstDeploy {
  if (failure instanceof PausedError) return {};
  if (classifyFailure(failure) !== 'refusal') throw failure;
  return {failure};
}

export class FirstDeploys {
  /** The pause of each project without one, by key, on the monotonic clock. A change of the Service ends it. */
  readonly #pauses = new Map<string, {readonly service: string | undefined; readonly untilMs: number}>();

  forget(key: string): void {
    this.#pauses.delete(key);
  }

  /**
   * One ready endpoint of the Service is enough. The annotation survives outages and restores. A Project without a
   * place in the plan is not checked: a tenant may create any number.
   */
  async find(context: DeployContext, project: DeepReadonly<CachedProject>): Promise<FirstDeploy> {
    const {stores, clock, places} = context;
    const key = keyOf(project);
    const deployedAt = project.metadata.annotations?.[ANNOTATION.firstDeployedAt];
    const service = stores.services.get(`${project.metadata.namespace}/${project.spec.service.name}`);
    if (deployedAt !== undefined || !service || !places.projects.has(project)) {
      this.forget(key);
      return {deployedAt};
    }
    const {resourceVersion} = service.metadata;
    const last = this.#pauses.get(key);
    const restMs = last?.service === resourceVersion ? (last?.untilMs ?? 0) - clock.monotonic() : 0;
    if (restMs > 0) return {wakeAtMs: clock.now() + restMs};
    if (await hasReadyEndpoint(context, project)) return {deployedAt: await note(context, project)};
    const pauseMs = pauseOf(project, clock.now());
    this.#pauses.set(key, {service: resourceVersion, untilMs: clock.monotonic() + pauseMs});
    return {wakeAtMs: clock.now() + pauseMs};
  }
}

async function hasReadyEndpoint(
  {client, signal}: ApiAccess,
  {metadata, spec}: DeepReadonly<Project>,
): Promise<boolean> {
  const {namespace = ''} = metadata;
  const labelSelector = `kubernetes.io/service-name=${spec.service.name}`;
  for await (const {items} of client.list(ENDPOINT_SLICE, {namespace, labelSelector, pageSize: MAX_SLICES, signal})) {
    return items.some(({endpoints}) => endpoints?.some(({conditions}) => conditions?.ready !== false));
  }
  return false;
}

async function note({client, signal, clock}: DeployContext, project: DeepReadonly<Project>): Promise<string> {
  const now = timestamp(clock.now());
  const patch = {metadata: {annotations: {[ANNOTATION.firstDeployedAt]: now}}};
  await client.patch(PROJECT, objectKey(project), patch, {signal});
  return now;
}

function pauseOf({metadata}: DeepReadonly<Project>, nowMs: number): number {
  const ageMs = nowMs - Date.parse(metadata.creationTimestamp ?? '');
  return Math.min(Math.max(ageMs / PART_OF_AGE || 0, MIN_PAUSE_MS), MAX_PAUSE_MS);
}
