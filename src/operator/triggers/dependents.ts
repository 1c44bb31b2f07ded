/**
 * Which Projects and Domains a change to a Service or a Project concerns: at most as many as the plan allows, because a
 * tenant may create any number. A Project or Domain that is refused for another reason is requeued when that reason
 * changes.
 */
import {keyOf} from '../../runtime/kube/object.ts';
import {INDEX, type Stores} from '../state/stores.ts';

type Sources = Pick<Stores, 'projects' | 'domains'>;

/** The Projects that name the Service. `key`: "namespace/name", as in the functions below. */
export function projectsOfService({projects}: Sources, key: string): string[] {
  return projects.byIndex(INDEX.service, key).map(keyOf);
}

/** The Domains that name the Project. */
export function domainsOfProject({domains}: Sources, key: string): string[] {
  return domains.byIndex(INDEX.project, key).map(keyOf);
}

/** The Domains whose routes point to the Service. */
export function domainsOfService({projects, domains}: Sources, key: string): string[] {
  const [namespace = '', service] = key.split('/');
  const accepted = domains.byIndex(INDEX.accepted, namespace);
  const usesService = (name: string) => projects.get(`${namespace}/${name}`)?.spec.service.name === service;
  return accepted.filter(({spec}) => usesService(spec.projectRef.name)).map(keyOf);
}
