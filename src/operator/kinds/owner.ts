import type {DeepReadonly, KubeObject, OwnerReference} from '../../runtime/kube/object.ts';

/**
 * Owner references clean up if the operator is gone. None blocks the owner's deletion: that would require the right to
 * update finalizers, and a namespace must never hang because the operator is gone.
 */
export function ownerOf({apiVersion, kind, metadata}: DeepReadonly<KubeObject>): OwnerReference {
  if (!metadata.uid) throw new Error(`${kind} ${metadata.name} has no uid: it did not come from the API server`);
  return {apiVersion, kind, name: metadata.name, uid: metadata.uid};
}
