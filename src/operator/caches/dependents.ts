/**
 * Which Projects and Domains a change to a Service or a Project concerns: only those that have a place in the plan,
 * because a tenant may create any number of others, about which nothing but the plan says anything. Each function looks
 * at all that have a place, so at the start, when every object is requeued anyway, nothing calls them.
 */
import {keyOf} from '../../runtime/kube/object.ts';
import type {Base} from './context.ts';

type Sources = Pick<Base, 'stores' | 'places'>;

/** The Projects that name the Service. `key`: "namespace/name", as in the functions below. */
export function projectsOfService({places}: Sources, key: string): string[] {
  const [namespace = '', service] = key.split('/');
  return places.projects
    .in(namespace)
    .filter(({spec}) => spec.service.name === service)
    .map(keyOf);
}

/** The Domains that name the Project. */
export function domainsOfProject({places}: Sources, key: string): string[] {
  const [namespace = '', project] = key.split('/');
  return places.domains
    .in(namespace)
    .filter(({spec}) => spec.projectRef.name === project)
    .map(keyOf);
}

/** The Domains whose routes point to the Service. A held Domain may name a Project that has no place. */
export function domainsOfService({places, stores}: Sources, key: string): string[] {
  const [namespace = '', service] = key.split('/');
  const usesService = (name: string) => stores.projects.get(`${namespace}/${name}`)?.spec.service.name === service;
  return places.domains
    .in(namespace)
    .filter(({spec}) => usesService(spec.projectRef.name))
    .map(keyOf);
}
