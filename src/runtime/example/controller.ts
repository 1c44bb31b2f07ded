/** Keeps a ConfigMap `team` in each namespace that has the label `example.dev/team`. */
import {applyIfChanged} from '../apply/apply.ts';
import type {Manager} from '../controller/manager.ts';
import {done} from '../controller/outcome.ts';
import {type KubeObject, resourceType} from '../kube/object.ts';

interface ConfigMap extends KubeObject {
  data?: Record<string, string>;
}
const CONFIG_MAP = resourceType<ConfigMap>('v1', 'ConfigMap', 'configmaps');
const NAMESPACE = resourceType('v1', 'Namespace', 'namespaces', 'cluster');

const OURS = {'app.kubernetes.io/managed-by': 'team-controller'};

export function addTeamController(manager: Manager): void {
  const namespaces = manager.cache(NAMESPACE, {metadataOnly: true});
  const configMaps = manager.cache(CONFIG_MAP, {labelSelector: 'app.kubernetes.io/managed-by=team-controller'});
  manager
    .controller({
      name: 'team',
      reconcile: async (key, {client, signal}) => {
        const namespace = namespaces.get(key);
        if (!namespace || namespace.metadata.deletionTimestamp) return done(); // what was in it is deleted too
        const team = namespace.metadata.labels?.['example.dev/team'];
        if (team === undefined) {
          if (configMaps.get(`${key}/team`)) await client.delete(CONFIG_MAP, {namespace: key, name: 'team'}, {signal});
          return done();
        }
        const metadata = {name: 'team', namespace: key, labels: OURS};
        const wanted = {apiVersion: 'v1', kind: 'ConfigMap', metadata, data: {team}};
        const options = {hashAnnotation: 'example.dev/applied-hash', signal};
        const {changed} = await applyIfChanged(client, configMaps, CONFIG_MAP, wanted, options);
        if (changed) manager.events.event(namespace, 'Normal', 'TeamTold', 'Apply', `The team is ${team}.`);
        return done();
      },
    })
    .watch(namespaces, ({object}) => [object.metadata.name])
    .watch(configMaps, ({object}) => [object.metadata.namespace ?? '']);
}
