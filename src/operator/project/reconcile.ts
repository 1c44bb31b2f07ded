/** A Project: publishes its default host within the plan, records its first deploy, and summarizes its domains. */
import {isDeepStrictEqual} from 'node:util';
import {type DecidedCondition, timestamp} from '../../api/conditions.ts';
import {ANNOTATION} from '../../api/names.ts';
import {applyStatusIfChanged} from '../../runtime/apply/apply.ts';
import type {Reconcile} from '../../runtime/controller/controller.ts';
import {after, done, retry} from '../../runtime/controller/outcome.ts';
import {type DeepReadonly, type KubeObject, objectKey} from '../../runtime/kube/object.ts';
import {findBackend} from '../edge/backend.ts';
import {leaving} from '../edge/leave.ts';
import {deleteRoutes, earliest, type Publication, publishRoute, routeObjects} from '../edge/publish.ts';
import {publishedRoute} from '../edge/route-objects.ts';
import {KIND_MISSING_MS} from '../issuance/certificate.ts';
import {accountOf} from '../model/account.ts';
import {routeKeyOf, routeName} from '../model/derived-names.ts';
import {type CachedProject, PROJECT, type Project} from '../model/kinds.ts';
import {ownerOf} from '../model/owner.ts';
import {conditionAfter, lastCondition, PausedError} from '../model/write-conditions.ts';
import type {Context, Operator} from '../state/context.ts';
import {BEHIND_MS, isGone} from '../state/fresh.ts';
import {heldBack, isPausedProject} from '../state/paused.ts';
import {INDEX, isTerminating} from '../state/stores.ts';
import {ProjectReady} from './conditions.ts';
import {certificateMissing, type DefaultHost} from './default-certificate.ts';
import {deployedAt, projectStatus} from './status.ts';

/** Each Domain of a Project changes the summary, so the status is written at most this often. */
const STATUS_PAUSE_MS = 2_000;

/** Keys are "namespace/name". */
export function reconcileProject(operator: Operator): Reconcile {
  const {stores, names, places, clock, removals} = operator;
  /** When a status may be written again, by key, on the monotonic clock. */
  const restsUntilMs = new Map<string, number>();
  return async (key, {client, signal, keepsFailing}) => {
    const context = {...operator, client, signal};
    if (stores.projects.state !== 'synced') return done();
    const project = stores.projects.get(key);
    const [namespace = '', name = ''] = key.split('/');
    if (!project || project.metadata.deletionTimestamp || isTerminating(stores, namespace)) {
      restsUntilMs.delete(key);
      const routeKey = routeKeyOf(`${namespace}/${names.defaultHost(name, namespace)}`);
      removals.forget('default-route', `${namespace}/${names.defaultHost(name, namespace)}`);
      if (routeObjects(stores, routeKey).length === 0) return done();
      const isJustified = () => isGone(context, PROJECT, key);
      if (!(await isJustified())) return after(BEHIND_MS);
      await deleteRoutes(context, routeKey, isJustified);
      return done();
    }
    const object = stores.namespaces.get(namespace);
    if (!object) return done();
    const {defaultHost} = project;
    let failure: unknown;
    const failed = (error: unknown): DefaultHost => {
      failure = error;
      return {ready: failedPublication(operator, project, error, keepsFailing)};
    };
    const building = heldBack(context, isPausedProject(operator, project));
    const deployed = deployedAt(project) ?? (await noteFirstDeploy(building, project).catch(unlessPaused));
    const {ready, wakeAtMs}: DefaultHost = places.has(project)
      ? await publishDefaultHost(context, building, project, defaultHost).catch(failed)
      : {ready: beyondPlan(operator, object)};
    const domainOf = (host: string) => stores.domains.get(`${namespace}/${host}`);
    const facts = {defaultHost, ready, deployedAt: deployed, domainOf, nowMs: clock.now()};
    const status = projectStatus(project, facts);
    const restMs = (restsUntilMs.get(key) ?? 0) - clock.monotonic();
    const isDue = restMs <= 0;
    if (isDue) {
      const {changed} = await applyStatusIfChanged(client, PROJECT, project, status, {signal});
      if (changed) restsUntilMs.set(key, clock.monotonic() + STATUS_PAUSE_MS);
      else restsUntilMs.delete(key);
    }
    if (failure !== undefined && !(failure instanceof PausedError)) return retry(failure);
    if (!isDue && !isDeepStrictEqual(status, project.status)) return after(restMs);
    if (wakeAtMs !== undefined) return after(Math.max(wakeAtMs - clock.now(), 1000));
    return ready.reason === 'CertManagerMissing' ? after(KIND_MISSING_MS) : done();
  };
}

function beyondPlan({config}: Operator, namespace: DeepReadonly<KubeObject>): DecidedCondition {
  const {planName, plan} = accountOf(namespace, config);
  return ProjectReady.planLimitReached(planName, plan.maxProjects);
}

/** One ready endpoint of the Service counts as a successful deploy; the annotation survives outages and restores. */
async function noteFirstDeploy(
  {stores, clock, client, signal}: Context,
  project: DeepReadonly<Project>,
): Promise<string | undefined> {
  const service = `${project.metadata.namespace}/${project.spec.service.name}`;
  const slices = stores.services.get(service) ? stores.endpointSlices.byIndex(INDEX.service, service) : [];
  if (!slices.some(slice => (slice.endpoints ?? []).length > 0)) return undefined;
  const now = timestamp(clock.now());
  const patch = {metadata: {annotations: {[ANNOTATION.firstDeployedAt]: now}}};
  await client.patch(PROJECT, objectKey(project), patch, {signal});
  return now;
}

function unlessPaused(error: unknown): undefined {
  if (!(error instanceof PausedError)) throw error;
}

/** Builds through `building`, but removes a route with a certificate for others even if it is paused. */
async function publishDefaultHost(
  context: Context,
  building: Context,
  project: DeepReadonly<Project>,
  host: string,
): Promise<DefaultHost> {
  const {config, edge} = context;
  const {namespace = '', name: projectName} = project.metadata;
  const found = findBackend(context, project);
  if (found.kind !== 'found') return {ready: ProjectReady.noBackend(found)};
  const {backend} = found;
  const name = routeName(namespace, host);
  const route = {namespace, name, host, backend, owner: ownerOf(project), project: projectName};
  const ownCertificate = config.defaultHost.tls === 'certificate';
  const missing = ownCertificate && (await certificateMissing(context, building, project, route));
  if (missing) return missing;
  const routeKey = `${namespace}/${name}`;
  const former = leaving(context, {namespace, host, routeKey});
  const objects = edge.build({...route, leavesFormer: former.leaves, ...(ownCertificate && {tlsSecret: name})});
  const publication = await publishRoute(building, routeKey, objects);
  const {movesAtMs, contested} = publication.kind === 'waiting' ? {} : publication;
  const wakeAtMs = earliest(movesAtMs, contested?.wakeAtMs, former.wakeAtMs);
  const ready = readyOf(publication, host, `${contested?.note ?? ''}${former.note}`);
  return {ready, ...(wakeAtMs !== undefined && {wakeAtMs})};
}

function readyOf(publication: Publication, host: string, note: string): DecidedCondition {
  switch (publication.kind) {
    case 'accepted':
      return ProjectReady.yes(host, note);
    case 'waiting':
      return ProjectReady.routePending(host, publication.on);
    case 'pending':
      return ProjectReady.routePending(host, `the Gateway to accept ${publication.what}`);
    case 'rejected':
      return ProjectReady.routeNotAccepted(host, publication.what, publication.why);
  }
}

/** A published project stays Ready, whatever the API server says about the next write. */
function failedPublication(
  {stores, edge}: Operator,
  project: DeepReadonly<CachedProject>,
  failure: unknown,
  keepsFailing: boolean,
): DecidedCondition {
  const {metadata, defaultHost, status} = project;
  const objects = routeObjects(stores, routeKeyOf(`${metadata.namespace}/${defaultHost}`));
  const works = publishedRoute(edge, objects) !== undefined;
  return conditionAfter<DecidedCondition>(failure, {
    works,
    keepsFailing,
    last: lastCondition('Ready', status?.conditions, metadata.generation),
    refused: message => ProjectReady.refused(message, works),
    retrying: ProjectReady.retrying,
    paused: () => ProjectReady.paused(works),
  });
}
