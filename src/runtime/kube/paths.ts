import type {Selector} from './calls.ts';
import type {ObjectKey, ResourceType} from './object.ts';

/** The URL path of a kind's collection: "/apis/group/version/namespaces/ns/plural". */
export function collectionPath(resource: ResourceType, namespace?: string): string {
  const root = resource.group ? `/apis/${resource.group}/${resource.version}` : `/api/${resource.version}`;
  if (!resource.namespaced || !namespace) return `${root}/${resource.plural}`;
  return `${root}/namespaces/${encodeURIComponent(namespace)}/${resource.plural}`;
}

export function objectPath(resource: ResourceType, key: ObjectKey, subresource?: string): string {
  if (resource.namespaced && !key.namespace) throw new Error(`${resource.kind} ${key.name}: a namespace is required`);
  if (!key.name) throw new Error(`${resource.kind}: a name is required`);
  const path = `${collectionPath(resource, key.namespace)}/${encodeURIComponent(key.name)}`;
  return subresource ? `${path}/${subresource}` : path;
}

/** "?a=b&c=d" from the defined values, or "" if there are none. */
export function queryString(parameters: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(parameters).filter((pair): pair is [string, string] => pair[1] !== undefined);
  return given.length === 0 ? '' : `?${new URLSearchParams(given)}`;
}

export function selectorParameters(selector: Selector): Record<string, string | undefined> {
  return {labelSelector: selector.labelSelector, fieldSelector: selector.fieldSelector};
}
