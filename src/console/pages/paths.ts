/** The addresses of pages. Names are checked before they are in a path, and encoded all the same. */
import type {Place} from '../projects/read.ts';

export function namespacePath(namespace: string): string {
  return `/namespaces/${encodeURIComponent(namespace)}`;
}

export function projectPath({namespace, project}: Place): string {
  return `${namespacePath(namespace)}/projects/${encodeURIComponent(project)}`;
}

export function hostPath(place: Place, host: string): string {
  return `${projectPath(place)}?${new URLSearchParams({host})}`;
}

/** The id of a host's element. */
export function hostId(host: string): string {
  return `host-${host}`;
}
