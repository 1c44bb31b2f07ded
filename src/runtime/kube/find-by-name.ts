import type {ListOptions} from './calls.ts';
import type {KubeClient} from './client.ts';
import type {KubeObject, ObjectKey, ResourceType} from './object.ts';

/**
 * Undefined if the object does not exist. A list: it fails if the kind is not installed, and a program that may list a
 * kind for its cache does not need the right to get an object, too.
 */
export async function findByName<T extends KubeObject>(
  client: KubeClient,
  resource: ResourceType<T>,
  {namespace, name}: ObjectKey,
  options: ListOptions,
): Promise<T | undefined> {
  const selector = {fieldSelector: `metadata.name=${name}`, namespace};
  for await (const {items} of client.list(resource, {...options, ...selector})) if (items[0]) return items[0];
  return undefined;
}
