/** The informer of @kubernetes/client-node. It has no queue, so its handlers stand in for reconciles. */
import {CoreV1Api, KubeConfig, makeInformer, type V1ConfigMap} from '@kubernetes/client-node';
import {readArguments, Samples} from './samples.ts';

const {kubeconfig, namespace, objects} = readArguments();
const samples = new Samples(objects);
const config = new KubeConfig();
config.loadFromFile(kubeconfig);
const api = config.makeApiClient(CoreV1Api);
const path = `/api/v1/namespaces/${namespace}/configmaps`;
const informer = makeInformer(config, path, () => api.listNamespacedConfigMap({namespace}));
const note = (object: V1ConfigMap): void => samples.note(object.metadata?.name ?? '', object.data?.sent);
informer.on('add', note);
informer.on('update', note);
informer.on('error', error => {
  throw error;
});
await informer.start();
