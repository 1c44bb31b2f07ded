/** The default host of a Project: its certificate, its route, and what its condition says. */
import {type DecidedCondition, findCondition} from '../../api/conditions.ts';
import {type DeepReadonly, type KubeObject, ownerOf} from '../../runtime/kube/object.ts';
import {BehindError, isGone} from '../caches/fresh.ts';
import {findBackend, type NoBackend} from '../edge/backend.ts';
import {
  deleteRoutes,
  type Publication,
  publishedRoute,
  publishRoute,
  routeObjects,
  whileFormerServes,
} from '../edge/publish.ts';
import {accountOf} from '../kinds/account.ts';
import {routeKeyOf, routeName} from '../kinds/derived-names.ts';
import {type CachedProject, PROJECT} from '../kinds/kinds.ts';
import {earliest, lastCondition, type StepEnd, stepAfter} from '../kinds/steps.ts';
import {ProjectReady} from './conditions.ts';
import type {ProjectContext, ProjectOperator} from './context.ts';
import {certifyDefaultHost, judgeDefaultHost} from './default-certificate.ts';

/** The result for the default host. */
export interface DefaultHost extends StepEnd {
  readonly ready: DecidedCondition;
}

/** For a Project that is gone. */
export async function unpublishDefaultHost(context: ProjectContext, key: string): Promise<void> {
  const [namespace = '', name = ''] = key.split('/');
  const hostKey = `${namespace}/${context.names.defaultHost(name, namespace)}`;
  const routeKey = routeKeyOf(hostKey);
  if (routeObjects(context.stores, routeKey).length === 0) return;
  const isJustified = () => isGone(context, PROJECT, key);
  if (!(await isJustified())) throw new BehindError();
  await deleteRoutes(context, routeKey, isJustified);
}

/** Builds through `building`. A pause does not hold back the removal of a route that harms others. */
export async function publishDefaultHost(
  context: ProjectContext,
  building: ProjectContext,
  project: DeepReadonly<CachedProject>,
  namespaceObject: DeepReadonly<KubeObject>,
): Promise<DefaultHost> {
  const {config} = context;
  const {defaultHost: host} = project;
  const {namespace = '', name: projectName} = project.metadata;
  const name = routeName(namespace, host);
  const ownCertificate = config.defaultHost.tls === 'certificate';
  const judged = ownCertificate && (await judgeDefaultHost(context, {namespace, name, host}));
  if (!context.places.projects.has(project)) return {ready: beyondPlan(context, namespaceObject)};
  const service = findBackend(context, project);
  if (service.kind !== 'found') return {ready: withoutBackend(project, service)};
  const {backend} = service;
  const route = {namespace, name, host, backend, owner: ownerOf(project), project: projectName};
  const certificate = judged ? await certifyDefaultHost(context, building, route, judged) : {};
  const {missing, trouble, contested = ''} = certificate;
  if (missing) return {ready: {...missing, message: missing.message + contested}, wakeAtMs: certificate.wakeAtMs};
  const tls = ownCertificate && {tlsSecret: name};
  const wasReady = findCondition(project.status?.conditions, 'Ready')?.status === 'True';
  const found = await publishRoute(building, {...route, ...tls});
  const publication = whileFormerServes(context, found, wasReady);
  const notes = `${publication.contested ?? ''}${contested}`;
  const ready =
    trouble && publication.kind === 'accepted'
      ? {...trouble, message: trouble.message + notes}
      : readyOf(publication, host, notes);
  return {ready, wakeAtMs: earliest(publication.wakeAtMs, certificate.wakeAtMs)};
}

/** The operator reports once what its edge lacks; a Project that is published stays so. */
function withoutBackend({metadata, status}: DeepReadonly<CachedProject>, found: NoBackend): DecidedCondition {
  const last = lastCondition('Ready', status?.conditions, metadata.generation);
  return found.kind === 'no-edge' && last?.status === 'True' ? last : ProjectReady.noBackend(found);
}

function readyOf(publication: Publication, host: string, note: string): DecidedCondition {
  switch (publication.kind) {
    case 'accepted':
      return ProjectReady.yes(host, `${note}${publication.note ?? ''}`);
    case 'waiting':
      return ProjectReady.routePending(host, publication.on, publication.contested);
    case 'pending':
      return ProjectReady.routePending(host, `the Gateway to accept ${publication.what}`);
    case 'rejected':
      return ProjectReady.routeNotAccepted(host, publication.what, publication.why);
  }
}

/**
 * The report after a write that failed. A published project stays Ready, whatever the API server says about the write.
 */
export function failedPublication(
  {stores, edge}: ProjectOperator,
  {metadata, defaultHost, status}: DeepReadonly<CachedProject>,
  keepsFailing: boolean,
) {
  return (failure: unknown): DefaultHost => {
    const objects = routeObjects(stores, routeKeyOf(`${metadata.namespace}/${defaultHost}`));
    const works = publishedRoute(edge, objects) !== undefined;
    const {condition: ready} = stepAfter<DecidedCondition>(failure, {
      works,
      keepsFailing,
      last: lastCondition('Ready', status?.conditions, metadata.generation),
      refused: message => ProjectReady.refused(message, works),
      retrying: ProjectReady.retrying,
      paused: () => ProjectReady.paused(works),
    });
    return {ready, failure};
  };
}

function beyondPlan({config}: ProjectOperator, namespace: DeepReadonly<KubeObject>): DecidedCondition {
  const {planName, plan} = accountOf(namespace, config);
  return ProjectReady.planLimitReached(planName, plan.maxProjects);
}
