/**
 * Which Projects have a place in the plan of their account: the oldest, and those that are published already. Only
 * these Projects are published and get new Domains. No question about them costs more if there are more Projects,
 * because a tenant may create any number.
 */
import {LABEL} from '../../api/names.ts';
import {type DeepReadonly, type KubeObject, keyOf} from '../../runtime/kube/object.ts';
import {accountOf} from '../model/account.ts';
import type {OperatorConfig} from '../model/config.ts';
import type {CachedProject, Domain, Project} from '../model/kinds.ts';
import {isManaged, listedHost} from '../model/project-hosts.ts';
import {AgeRanks} from './age-ranks.ts';
import {INDEX, inNamespace, type Stores} from './stores.ts';

export interface Places {
  has(project: DeepReadonly<Project>): boolean;
  /** The Projects of a namespace that have a place. */
  in(namespace: string): readonly DeepReadonly<CachedProject>[];
  /**
   * The Projects that decide about the Domain of a host: they list it and have a place, or they own the Domain and still
   * list it. `key`: "namespace/host".
   */
  listing(key: string): readonly DeepReadonly<CachedProject>[];
  /** Whether the Project owns the Domain: it never loses the Domain by losing its place. */
  owns(project: DeepReadonly<Project>, domain: DeepReadonly<Domain> | undefined): boolean;
}

/** Call it before any controller subscribes, so that it is up to date when the controllers are called. */
export function createPlaces({stores, config}: {readonly stores: Stores; readonly config: OperatorConfig}): Places {
  const {projects, projectAges, namespaces, domains} = stores;
  const published = publishedAges(stores);

  /** The account's namespaces, and how many of its Projects the plan of the namespace publishes. */
  function limitIn(namespace: string): {own: readonly string[]; max: number} | undefined {
    const object = namespaces.get(namespace);
    if (!object) return undefined;
    const {id, plan} = accountOf(object, config);
    const own = namespaces.byIndex(INDEX.account, id).map(({metadata}) => metadata.name);
    return projectAges.count(own) > plan.maxProjects ? {own, max: plan.maxProjects} : undefined;
  }

  function has(project: DeepReadonly<Project>): boolean {
    const limit = limitIn(project.metadata.namespace ?? '');
    if (!limit || isPublished(stores, keyOf(project))) return true;
    const older = (ages: Pick<AgeRanks, 'countOlder'>) =>
      limit.own.reduce((sum, namespace) => sum + ages.countOlder(namespace, project), 0);
    const publishedLater = published.count(limit.own) - older(published);
    return older(projectAges) + publishedLater < limit.max;
  }

  function owns({metadata}: DeepReadonly<Project>, domain: DeepReadonly<Domain> | undefined): boolean {
    if (!domain || !isManaged(domain)) return false;
    const owners = domain.metadata.ownerReferences ?? [];
    // After a restore, objects have other UIDs, so the Project that the Domain names counts, too.
    return owners.some(({uid}) => uid === metadata.uid) || domain.spec.projectRef.name === metadata.name;
  }

  return {
    has,
    owns,
    in: namespace => {
      const limit = limitIn(namespace);
      if (!limit) return projects.byIndex(INDEX.namespace, namespace);
      const few = [projectAges.oldest([namespace], limit.max), published.oldest([namespace], Number.POSITIVE_INFINITY)];
      return [...new Set(few.flat())].flatMap(key => projects.get(key) ?? []).filter(has);
    },
    listing: key => {
      const [namespace = '', host = ''] = key.split('/');
      const domain = domains.get(key);
      const owners = [...(domain?.metadata.ownerReferences ?? []), ...(domain ? [domain.spec.projectRef] : [])];
      const owning = owners.flatMap(({name}) => projects.get(`${namespace}/${name}`) ?? []);
      const listing = owning.filter(project => owns(project, domain) && listedHost(project, host));
      return [...new Set([...projects.byIndex(INDEX.host, key).filter(has), ...listing])];
    },
  };
}

function isPublished({routes}: Stores, key: string): boolean {
  return routes.some(({store}) => store.byIndex(INDEX.defaultHost, key).length > 0);
}

/**
 * The ages of the Projects with a route, which only the operator creates: its objects are found by their names, too.
 */
function publishedAges(stores: Stores): AgeRanks {
  const {projects, routes} = stores;
  const ages = new AgeRanks();
  const counted = new Map<string, DeepReadonly<KubeObject>>();
  const update = (key: string) => {
    const [was, is] = [counted.get(key), isPublished(stores, key) ? projects.get(key) : undefined];
    if (was && is && is.metadata.creationTimestamp === was.metadata.creationTimestamp) ages.replace(is);
    else {
      if (was) ages.remove(was);
      if (is) ages.add(is);
    }
    if (is) counted.set(key, is);
    else counted.delete(key);
  };
  projects.subscribe(({object}) => update(keyOf(object)));
  for (const {store} of routes) {
    store.subscribe(({object, old}) => {
      for (const version of [object, old]) {
        const name = version?.metadata.labels?.[LABEL.project];
        if (version && name !== undefined) update(inNamespace(version, name));
      }
    });
  }
  return ages;
}
