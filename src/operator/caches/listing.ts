/** Which Projects decide about the Domain of a host. */
import {hostNamed} from '../../api/host-names.ts';
import type {DeepReadonly} from '../../runtime/kube/object.ts';
import type {CachedProject, Domain, Project} from '../kinds/kinds.ts';
import {isManaged, listedHost} from '../kinds/project-hosts.ts';
import type {Base} from './context.ts';
import type {Placing} from './places.ts';
import {INDEX} from './stores.ts';

/** They list it and have a place in the plan, or they own the Domain and still list it. `key`: "namespace/host". */
export function listing(
  {stores, places}: Pick<Base, 'stores'> & {readonly places: Placing<'projects'>},
  key: string,
): readonly DeepReadonly<CachedProject>[] {
  const {projects, domains} = stores;
  const [namespace = '', name = ''] = key.split('/');
  const host = hostNamed(name);
  const domain = domains.get(key);
  const owners = [...(domain?.metadata.ownerReferences ?? []), ...(domain ? [domain.spec.projectRef] : [])];
  const owning = owners.flatMap(({name}) => projects.get(`${namespace}/${name}`) ?? []);
  const listed = owning.filter(project => owns(project, domain) && listedHost(project, host));
  const placed = projects.byIndex(INDEX.host, key).filter(project => places.projects.has(project));
  return [...new Set([...placed, ...listed])];
}

/** Whether the Project owns the Domain: it never loses the Domain by losing its place. */
export function owns({metadata}: DeepReadonly<Project>, domain: DeepReadonly<Domain> | undefined): boolean {
  if (!domain || !isManaged(domain)) return false;
  const owners = domain.metadata.ownerReferences ?? [];
  // After a restore, objects have other UIDs, so the Project that the Domain names counts, too.
  return owners.some(({uid}) => uid === metadata.uid) || domain.spec.projectRef.name === metadata.name;
}
