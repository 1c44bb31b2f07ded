/** A Project: publishes its default host within the plan, records its first deploy, and summarizes its Domains. */
import {isDeepStrictEqual} from 'node:util';
import type {ProjectStatus} from '../../api/generated/project.ts';
import {applyStatusIfChanged} from '../../runtime/apply/apply.ts';
import type {Reconcile} from '../../runtime/controller/controller.ts';
import {after, done} from '../../runtime/controller/outcome.ts';
import {type DeepReadonly, keyOf} from '../../runtime/kube/object.ts';
import {heldBack, isPausedProject} from '../caches/paused.ts';
import {isEnding} from '../caches/stores.ts';
import {accountOf} from '../kinds/account.ts';
import {hostKey} from '../kinds/derived-names.ts';
import {PROJECT, type Project} from '../kinds/kinds.ts';
import {outcomeOf} from '../kinds/steps.ts';
import {ProjectReady} from './conditions.ts';
import type {ProjectContext, ProjectOperator} from './context.ts';
import {publishDefaultHost, removeFormer, unpublishDefaultHost} from './default-host.ts';
import {FirstDeploys, failedDeploy} from './first-deploy.ts';
import {projectStatus} from './status.ts';

/** Keys are "namespace/name". */
export function reconcileProject(operator: ProjectOperator): Reconcile {
  const summary = new Summary();
  const firstDeploys = new FirstDeploys();
  const {projects, namespaces, domains} = operator.stores;
  return async (key, {client, signal, keepsFailing}) => {
    const context = {...operator, client, signal};
    if (projects.state !== 'synced') return done();
    const project = projects.get(key);
    if (!project || isEnding(operator.stores, project)) {
      summary.forget(key);
      firstDeploys.forget(key);
      await unpublishDefaultHost(context, key);
      return done();
    }
    const namespace = namespaces.get(project.metadata.namespace ?? '');
    if (!namespace) return done();
    const isPaused = isPausedProject(operator, project);
    const building = heldBack(context, isPaused);

    const deploy = await firstDeploys.find(building, project).catch(failedDeploy);
    const account = accountOf(namespace, operator.config);
    const steps = await publishDefaultHost(context, building, project, account, keepsFailing);
    const conditions = steps.map(({condition}) => condition);
    const ready = ProjectReady.of(project.defaultHost, conditions);
    const status = projectStatus(project, {
      defaultHost: project.defaultHost,
      ready,
      deploy,
      domainOf: host => domains.get(hostKey(namespace.metadata.name, host)),
      refusalOf: host => operator.outdated.refusalOf(hostKey(namespace.metadata.name, host)),
      nowMs: operator.clock.now(),
    });
    const restMs = await summary.write(context, project, status);
    const isDone = ready.status === 'True' && steps.every(({failure}) => failure === undefined);
    if (isDone && !isPaused) await removeFormer(context, project, account);
    const outcome = outcomeOf([...steps, deploy], operator.clock.now());
    return restMs === undefined || outcome.kind === 'retry' ? outcome : after(restMs);
  };
}

/** Each Domain of a Project changes the summary, so the status is written at most this often. */
const STATUS_PAUSE_MS = 2_000;

/** Writes the statuses of Projects, each after its pause. */
class Summary {
  /** When a status may be written again, by key, on the monotonic clock. */
  readonly #restsUntilMs = new Map<string, number>();

  /** Returns how long a changed status must still wait; undefined if none waits. */
  async write(
    {client, clock, signal}: ProjectContext,
    project: DeepReadonly<Project>,
    status: ProjectStatus,
  ): Promise<number | undefined> {
    const key = keyOf(project);
    const restMs = (this.#restsUntilMs.get(key) ?? 0) - clock.monotonic();
    if (restMs > 0) return isDeepStrictEqual(status, project.status) ? undefined : restMs;
    const {changed} = await applyStatusIfChanged(client, PROJECT, project, status, {signal});
    if (changed) this.#restsUntilMs.set(key, clock.monotonic() + STATUS_PAUSE_MS);
    else this.forget(key);
    return undefined;
  }

  forget(key: string): void {
    this.#restsUntilMs.delete(key);
  }
}
