/** What others write to our objects. */
import type {KubeObject, ObjectKey, ResourceType} from '../../../src/runtime/kube/object.ts';
import type {DomainTenant} from './domain-tenant.ts';

/** What others may add to any object. */
export const THEIRS = {
  labels: {'example.com/team': 'shop'},
  annotations: {'example.com/ticket': '17'},
  finalizers: ['example.com/keep'],
};

/** Edits one of our objects and adds THEIRS. Returns the object once the operator has reverted the edit. */
export async function revertedEdit(
  tenant: DomainTenant,
  kind: ResourceType<KubeObject>,
  key: ObjectKey,
  edit: object,
): Promise<KubeObject> {
  const {client} = tenant.world;
  const before = await client.get(kind, key);
  const {resourceVersion = ''} = await client
    .patch(kind, key, {...edit, metadata: THEIRS})
    .then(({metadata}) => metadata);
  const isReverted = ({spec}: KubeObject & {spec?: unknown}) =>
    JSON.stringify(spec) === JSON.stringify((before as {spec?: unknown} | undefined)?.spec);
  const found = await tenant.until(`the edit of ${kind.kind} ${key.name} is reverted`, async () => {
    const now = await client.get(kind, key);
    return now && now.metadata.resourceVersion !== resourceVersion && isReverted(now) ? now : undefined;
  });
  if (!found) throw new Error(`${kind.kind} ${key.name} is gone`);
  await client.patch(kind, key, {metadata: {finalizers: null}});
  return found;
}
