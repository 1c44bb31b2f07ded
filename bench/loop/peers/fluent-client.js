// The watch of kubernetes-fluent-client. It has neither a cache for its users nor a queue, so its callback stands in
// for a reconcile. This is JavaScript because the package is installed next to this file only when the benchmark runs.
import {readArguments, Samples} from './samples.ts';

const {kubeconfig, namespace, objects} = readArguments();
process.env.KUBECONFIG = kubeconfig;
const {K8s, kind} = await import('kubernetes-fluent-client');
const samples = new Samples(objects);
const watcher = K8s(kind.ConfigMap)
  .InNamespace(namespace)
  .Watch(object => samples.note(object.metadata?.name ?? '', object.data?.sent));
await watcher.start();
