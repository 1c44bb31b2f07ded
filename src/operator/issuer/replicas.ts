/** The ready replicas of one of our programs that answer CAs. */
import type {KubeClient} from '../../runtime/kube/client.ts';
import {ENDPOINT_SLICE} from '../kinds/kinds.ts';

const MAX_REPLICAS = 50;

export interface ReplicaSettings {
  /** Of the Service and its EndpointSlices. */
  readonly namespace: string;
  readonly service: string;
  /** "host:port" of each replica, instead of those of the Service. */
  readonly addresses: readonly string[];
}

/** The API server, within one reconcile. */
export interface Api {
  readonly client: Pick<KubeClient, 'list'>;
  readonly signal: AbortSignal;
}

/** As "host:port". `portName`: of the port of the Service. */
export async function readyReplicas(
  {client, signal}: Api,
  {namespace, service, addresses}: ReplicaSettings,
  portName: string,
): Promise<string[]> {
  if (addresses.length > 0) return [...addresses];
  const found: string[] = [];
  const labelSelector = `kubernetes.io/service-name=${service}`;
  for await (const {items} of client.list(ENDPOINT_SLICE, {namespace, labelSelector, signal})) {
    for (const {endpoints = [], ports = []} of items) {
      const {port} = ports.find(({name}) => name === portName) ?? {};
      const ready = endpoints.filter(({conditions}) => conditions?.ready !== false);
      for (const {addresses: [address] = []} of ready) {
        if (address !== undefined && port !== undefined) {
          found.push(address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`);
        }
      }
    }
  }
  return found.slice(0, MAX_REPLICAS);
}
