/**
 * Images from registries, in the place of the programs that take longest to build. NOT RUN so far: no machine that this was
 * written on reaches a registry.
 */
import {imageReference} from '../images.ts';
import type {Edge} from '../programs.ts';
import {answers, docker, isOwn} from './engine.ts';

/** The image of Kubernetes 1.36 in the release notes of the kind that `tools/kind` has. */
export const NODE = 'kindest/node:v1.36.4@sha256:099e049362a1526b2db71494e1947aae99bd16290d7c895f2b7ea312e3cbfaed';
export const KIND = 'v0.33.0';

/** By tag, because the digests of these are not known here. */
const CERT_MANAGER = Object.fromEntries(
  ['controller', 'webhook', 'cainjector', 'acmesolver'].map(name => {
    return [`cert-manager-${name}`, `quay.io/jetstack/cert-manager-${name}:v1.21.2`];
  }),
);
const EDGES: Readonly<Record<Edge, Readonly<Record<string, string>>>> = {
  traefik: {traefik: 'docker.io/library/traefik:v3.6.12'},
  gateway: {'envoy-gateway': 'docker.io/envoyproxy/gateway:v1.9.1'},
};

/** Our name of an image → its published one. */
export function publishedImages(edge: Edge): Readonly<Record<string, string>> {
  return {...CERT_MANAGER, ...EDGES[edge]};
}

/** Whether an engine that we did not start reaches a registry: pulls the node's image to find out. */
export async function pullsNode(log: (line: string) => void): Promise<boolean> {
  if (isOwn() || !(await answers(process.env))) return false;
  log(`[cluster] pulling ${NODE}`);
  return docker('pull', '--quiet', NODE).then(
    () => true,
    (error: Error) => {
      log(`[cluster] building it instead, because no registry answers: ${error.message}`);
      return false;
    },
  );
}

/** Into the node, which has the network of its engine; under the names that our manifests have. */
export async function pullImages(node: string, pulled: Readonly<Record<string, string>>): Promise<void> {
  const pull = async ([name, published]: readonly [string, string]) => {
    const ctr = ['exec', node, 'ctr', '--namespace', 'k8s.io', 'images'];
    await docker(...ctr, 'pull', published);
    await docker(...ctr, 'tag', published, imageReference(name));
  };
  await Promise.all(Object.entries(pulled).map(pull));
}
