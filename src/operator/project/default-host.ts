/**
 * The default host of a Project: a host without a Domain. It takes those steps of a Domain that get it a certificate
 * and a route, and is removed like one. It is the platform's, so it needs no proof, no claim, and no check of CAA.
 */
import {ANNOTATION} from '../../api/names.ts';
import {type DeepReadonly, keyOf} from '../../runtime/kube/object.ts';
import {isGone} from '../caches/fresh.ts';
import {INDEX, inNamespace} from '../caches/stores.ts';
import {certify} from '../domain/certify.ts';
import type {StepResult} from '../domain/conditions.ts';
import {failedCertificate} from '../domain/held-certificate.ts';
import {type HostView, objectsOf} from '../domain/host-view.ts';
import {isAnswered} from '../domain/probe.ts';
import {failedRoute, route, withoutBackend} from '../domain/route.ts';
import {dropCertificate, dropForeignRoute, failedRemoval, unpublish} from '../domain/unpublish.ts';
import {findBackend} from '../edge/backend.ts';
import type {Account} from '../kinds/account.ts';
import {routeKeyOf, routeName} from '../kinds/derived-names.ts';
import {type CachedProject, DOMAIN, PROJECT} from '../kinds/kinds.ts';
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
  for (const hostKey of hostKeysOf(context, key)) {
    await unpublish(context, hostKey, () => isGone(context, PROJECT, key));
    context.prober.unwatch(hostKey);
  }
}

/**
 * Removes what the configuration no longer wants: a Certificate, if the edge has one for all default hosts, and a host
 * of another base domain or platform key, once the edge answers for the present one. For a Project that is published.
 */
export async function removeFormer(
  context: ProjectContext,
  project: DeepReadonly<CachedProject>,
  account: Account,
): Promise<void> {
  const view = viewOf(context, project, account, false);
  if (isOfEdge(context)) await dropCertificate(context, routeKeyOf(view.key), async () => true);
  const former = hostKeysOf(context, keyOf(project)).filter(key => key !== view.key);
  if (former.length === 0) context.prober.unwatch(view.key);
  else if (isAnswered(context, view)) {
    for (const key of former) await unpublish(context, key, () => isGone(context, DOMAIN, key));
  }
}

/** Of the present default host, and of former ones of which something is left. */
function hostKeysOf({stores}: ProjectContext, key: string): string[] {
  const objects = [stores.certificates, ...stores.routes.map(({store}) => store)].flatMap(store => [
    ...store.byIndex(INDEX.defaultHost, key),
  ]);
  const keys = objects.map(object => inNamespace(object, object.metadata.annotations?.[ANNOTATION.host] ?? ''));
  return [...new Set(keys)];
}

/** The edge has a certificate for all default hosts. */
function isOfEdge({config}: ProjectContext): boolean {
  return config.defaultHost.tls === 'ingress-default';
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
  const isShared = isOfEdge(context);
  const view = isShared ? found : await dropForeignRoute(context, found, {lost: false}).catch(failedRemoval(found));
  const instead = (condition: StepResult['condition']) => [{condition, failure: view.unremoved?.failure}];
  const {planName, plan} = account;
  if (!context.places.projects.has(project)) return instead(ProjectReady.planLimitReached(planName, plan.maxProjects));
  const backend = findBackend(context, project);
  if (backend.kind !== 'found') return instead(withoutBackend(view, backend));
  const certificate = isShared ? undefined : await certify(building, view, GATE).catch(failedCertificate(view));
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
