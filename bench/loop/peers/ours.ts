import {pino} from 'pino';
import {Registry} from 'prom-client';
import {createManager} from '../../../src/runtime/controller/manager.ts';
import {done} from '../../../src/runtime/controller/outcome.ts';
import {createKubeClient} from '../../../src/runtime/kube/http-client.ts';
import {type KubeObject, keyOf, type ResourceType} from '../../../src/runtime/kube/object.ts';
import {systemClock} from '../../../src/time/clock.ts';
import {readArguments, Samples} from './samples.ts';

interface ConfigMap extends KubeObject {
  data?: Record<string, string>;
}
const CONFIG_MAP: ResourceType<ConfigMap> = {
  group: '',
  version: 'v1',
  plural: 'configmaps',
  kind: 'ConfigMap',
  namespaced: true,
};

const {kubeconfig, namespace, objects} = readArguments();
const samples = new Samples(objects);
const common = {logger: pino({level: 'silent'}), registry: new Registry()};
const client = createKubeClient({...common, kubeconfig, userAgent: 'bench', fieldManager: 'bench'});
const manager = createManager({
  ...common,
  client,
  clock: systemClock,
  identity: 'bench',
  reportingController: 'bench.dev/ours',
});
const store = manager.cache(CONFIG_MAP, {namespace});
manager
  .controller({
    name: 'bench',
    reconcile: async key => {
      const object = store.get(key);
      if (object) samples.note(object.metadata.name, object.data?.sent);
      return done();
    },
  })
  .watch(store, ({object}) => [keyOf(object as ConfigMap)]);
await manager.start(new AbortController().signal);
