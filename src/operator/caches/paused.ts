/**
 * A pause holds back what builds or changes: claims, certificates and their approval, routes, managed Domains, new API
 * keys. It never holds back what protects others or what somebody requested: withdrawals, denials, and removals.
 */
import type {Registry} from 'prom-client';
import {metricsIn} from '../../operations/metrics.ts';
import type {DeepReadonly, KubeObject} from '../../runtime/kube/object.ts';
import {hasPause} from '../kinds/account.ts';
import {PausedError} from '../kinds/steps.ts';
import type {ApiAccess, Base} from './context.ts';
import {listing} from './listing.ts';
import {INDEX, type Stores} from './stores.ts';

type Basis = Pick<Base, 'config' | 'stores'>;

/** Whether its own annotation, its namespace's, or the configuration pauses it. */
export function isPausedProject(operator: Basis, project: DeepReadonly<KubeObject>): boolean {
  return hasPause(project) || isPausedNamespace(operator, project.metadata.namespace ?? '');
}

/**
 * The same for a host. The pause of a Project also covers its default host and the hosts that it lists. `key`:
 * "namespace/host".
 */
export function isPausedHost(operator: Basis & Pick<Base, 'places'>, key: string): boolean {
  const {domains, projects} = operator.stores;
  const [namespace = ''] = key.split('/');
  if (isPausedNamespace(operator, namespace)) return true;
  const domain = domains.get(key);
  const project = domain && projects.get(`${namespace}/${domain.spec.projectRef.name}`);
  const covering = [...listing(operator, key), ...projects.byIndex(INDEX.defaultHost, key)];
  return [domain, project, ...covering].some(object => object && hasPause(object));
}

/** False if nothing is paused, which saves looking at each host. */
export function hasPauses({config, stores: {domains, projects, namespaces}}: Basis): boolean {
  const isAnyPaused = [domains, projects, namespaces].some(store => store.byIndex(INDEX.paused, 'all').length > 0);
  return config.controller.paused || isAnyPaused;
}

export function isPausedNamespace({config, stores}: Basis, name: string): boolean {
  const namespace = stores.namespaces.get(name);
  return config.controller.paused || (namespace !== undefined && hasPause(namespace));
}

/**
 * Every step that creates or changes something must write through this: each write throws `PausedError` if `isPaused`.
 */
export function heldBack<Context extends ApiAccess>(context: Context, isPaused: boolean): Context {
  return isPaused ? {...context, client: context.client.withoutWrites(() => new PausedError())} : context;
}

/** Returns the text for the readiness check, if the configuration pauses everything. */
export function watchPauses(config: Base['config'], stores: Stores, registry: Registry): () => string | undefined {
  const {domains, projects, namespaces} = stores;
  const kinds = Object.entries({Domain: domains, Project: projects, Namespace: namespaces});
  metricsIn(registry).readings(
    'nameplate_paused',
    'Objects with the annotation nameplate.dev/paused, by kind. Kind All is 1 if the configuration pauses everything.',
    ['kind'],
    () => [
      ...kinds.map(([kind, store]) => [{kind}, store.byIndex(INDEX.paused, 'all').length] as const),
      [{kind: 'All'}, config.controller.paused ? 1 : 0],
    ],
  );
  const text = 'Nameplate builds and changes nothing, because config.controller.paused is true.';
  return () => (config.controller.paused ? text : undefined);
}
