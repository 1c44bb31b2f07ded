/**
 * Which Projects have a place in the plan of their account: the oldest, and those that are published already. Only
 * these Projects are published and have Domains. Every question about them costs at most what the plan allows, because
 * a tenant may create any number of Projects.
 */
import {LABEL} from '../../api/names.ts';
import {type DeepReadonly, keyOf} from '../../runtime/kube/object.ts';
import {accountOf, holderOf} from '../model/account.ts';
import type {CachedProject, Project} from '../model/kinds.ts';
import {isManaged, listedHost} from '../model/project-hosts.ts';
import type {Operator} from './context.ts';
import {INDEX, type Stores} from './stores.ts';

export interface Places {
  has(project: DeepReadonly<Project>): boolean;
  /** The Projects of a namespace that have a place. */
  in(namespace: string): readonly DeepReadonly<CachedProject>[];
  /** The Projects that may have a Domain for the host: they list it and have a place. `key`: "namespace/host". */
  listing(key: string): readonly DeepReadonly<CachedProject>[];
}

export function createPlaces({stores, config}: Pick<Operator, 'stores' | 'config'>): Places {
  const {projects, projectAges, namespaces, claims, domains} = stores;

  /** The keys of the account's Projects that have a place in the plan of the namespace; undefined: all have one. */
  function limitedTo(namespace: string): Set<string> | undefined {
    const object = namespaces.get(namespace);
    if (!object) return undefined;
    const {id, plan} = accountOf(object, config);
    const own = namespaces.byIndex(INDEX.account, id).map(({metadata}) => metadata.name);
    if (projectAges.count(own) <= plan.maxProjects) return undefined;
    const published = publishedIn(stores, own);
    const places = new Set(published);
    let publishedLater = published.size;
    for (const [older, key] of projectAges.oldest(own, plan.maxProjects).entries()) {
      if (published.has(key)) publishedLater--;
      if (older + publishedLater < plan.maxProjects) places.add(key);
    }
    return places;
  }

  function inNamespace(namespace: string, keys: ReadonlySet<string>): readonly DeepReadonly<CachedProject>[] {
    return [...keys].flatMap(key => (key.startsWith(`${namespace}/`) ? (projects.get(key) ?? []) : []));
  }

  /** The key of the Project for which the namespace holds the host: no plan takes a held host down. */
  function holding(namespace: string, host: string): string[] {
    const [object, domain] = [namespaces.get(namespace), domains.get(`${namespace}/${host}`)];
    const isHeld = object && holderOf(claims.get(host), accountOf(object, config), namespace) === 'us';
    return isHeld && domain && isManaged(domain) ? [`${namespace}/${domain.spec.projectRef.name}`] : [];
  }

  return {
    has: project => limitedTo(project.metadata.namespace ?? '')?.has(keyOf(project)) ?? true,
    in: namespace => {
      const keys = limitedTo(namespace);
      return keys ? inNamespace(namespace, keys) : projects.byIndex(INDEX.namespace, namespace);
    },
    listing: key => {
      const [namespace = '', host = ''] = key.split('/');
      const keys = limitedTo(namespace);
      if (!keys) return projects.byIndex(INDEX.host, key);
      for (const held of holding(namespace, host)) keys.add(held);
      return inNamespace(namespace, keys).filter(project => listedHost(project, host));
    },
  };
}

/**
 * The keys of the Projects with a route, which only the operator creates: its objects are found by their names, too.
 */
function publishedIn({projects, routes}: Stores, namespaces: readonly string[]): Set<string> {
  const keys = namespaces.flatMap(namespace =>
    routes.flatMap(({store}) =>
      store
        .byIndex(INDEX.defaultHost, namespace)
        .map(({metadata}) => `${namespace}/${metadata.labels?.[LABEL.project]}`),
    ),
  );
  return new Set(keys.filter(key => projects.get(key)));
}
