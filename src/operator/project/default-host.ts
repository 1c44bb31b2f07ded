/**
 * The default host of a Project: a host without a Domain. It takes those steps of a Domain that get it a certificate
 * and a route, and is removed like one. It is the platform's, so it needs no proof, no claim, and no check of CAA.
 */
import type {DeepReadonly} from '../../runtime/kube/object.ts';
import {isGone} from '../caches/fresh.ts';
import {certify} from '../domain/certify.ts';
import type {StepResult} from '../domain/conditions.ts';
import {failedCertificate} from '../domain/held-certificate.ts';
import {type HostView, objectsOf} from '../domain/host-view.ts';
import {failedRoute, route, withoutBackend} from '../domain/route.ts';
import {dropForeignRoute, failedRemoval, unpublish} from '../domain/unpublish.ts';
import {findBackend} from '../edge/backend.ts';
import type {Account} from '../kinds/account.ts';
import {routeName} from '../kinds/derived-names.ts';
import {type CachedProject, PROJECT} from '../kinds/kinds.ts';
import {ProjectReady, RENEW} from './conditions.ts';
import type {ProjectContext} from './context.ts';

const GATE = {
  proof: {mayStart: true},
  accepted: {status: 'True'},
  claim: {holds: true},
  caa: {status: 'True'},
} as const;

/** For a Project that is gone. */
export async function unpublishDefaultHost(context: ProjectContext, key: string): Promise<void> {
  const [namespace = '', name = ''] = key.split('/');
  const hostKey = `${namespace}/${context.names.defaultHost(name, namespace)}`;
  await unpublish(context, hostKey, () => isGone(context, PROJECT, key));
}

/**
 * The results of its steps. Builds through `building`: a pause does not hold back the removal of a route that harms
 * others, nor does anything that the Project lacks.
 */
export async function publishDefaultHost(
  context: ProjectContext,
  building: ProjectContext,
  project: DeepReadonly<CachedProject>,
  account: Account,
  keepsFailing: boolean,
): Promise<StepResult[]> {
  const found = viewOf(context, project, account, keepsFailing);
  const isOfEdge = context.config.defaultHost.tls === 'ingress-default';
  const view = isOfEdge ? found : await dropForeignRoute(context, found, {lost: false}).catch(failedRemoval(found));
  const instead = (condition: StepResult['condition']) => [{condition, failure: view.unremoved?.failure}];
  const {planName, plan} = account;
  if (!context.places.projects.has(project)) return instead(ProjectReady.planLimitReached(planName, plan.maxProjects));
  const backend = findBackend(context, project);
  if (backend.kind !== 'found') return instead(withoutBackend(view, backend));
  const certificate = isOfEdge ? undefined : await certify(building, view, GATE).catch(failedCertificate(view));
  const gate = {...GATE, certificate: certificate ?? {usable: true}};
  const routed = await route(building, view, gate).catch(failedRoute(view));
  return certificate ? [certificate, routed] : [routed];
}

function viewOf(
  context: ProjectContext,
  project: DeepReadonly<CachedProject>,
  account: Account,
  keepsFailing: boolean,
): HostView {
  const {namespace = ''} = project.metadata;
  const host = project.defaultHost;
  const key = `${namespace}/${host}`;
  return {
    ...objectsOf(context, key),
    ...{key, namespace, host, account, project, keepsFailing},
    owner: project,
    isDefault: true,
    isRequested: false,
    again: `ask the platform team to run: ${RENEW(routeName(namespace, host))}`,
    nowMs: context.clock.now(),
  };
}
