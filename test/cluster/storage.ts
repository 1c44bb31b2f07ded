import {basename} from 'node:path';

/** A default StorageClass over folders on the node, each for one volume. A claim is bound once a pod uses it. */
export function storageOver(paths: readonly string[]): object {
  const storageClassName = 'standard';
  const isDefault = {'storageclass.kubernetes.io/is-default-class': 'true'};
  const storageClass = {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: {name: storageClassName, annotations: isDefault},
    provisioner: 'kubernetes.io/no-provisioner',
    volumeBindingMode: 'WaitForFirstConsumer',
  };
  const onAnyNode = [{matchExpressions: [{key: 'kubernetes.io/hostname', operator: 'Exists'}]}];
  const volumes = paths.map(path => ({
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: {name: basename(path)},
    spec: {
      storageClassName,
      capacity: {storage: '10Gi'},
      accessModes: ['ReadWriteOnce'],
      local: {path},
      nodeAffinity: {required: {nodeSelectorTerms: onAnyNode}},
    },
  }));
  return {apiVersion: 'v1', kind: 'List', items: [storageClass, ...volumes]};
}
