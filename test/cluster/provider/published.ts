/**
 * Images from registries, instead of the programs that take longest to build. NOT RUN so far: no registry could be
 * reached.
 */
import {imageReference} from '../images.ts';
import type {Edge} from '../programs.ts';
import {answers, docker, isOwn} from './engine.ts';

/** The image of Kubernetes 1.36, as in the release notes of the kind version in `test/cluster/programs/kind`. */
export const NODE = 'kindest/node:v1.36.4@sha256:099e049362a1526b2db71494e1947aae99bd16290d7c895f2b7ea312e3cbfaed';
export const KIND = 'v0.33.0';

/** The digests agree with those in at least two public repositories that pin the same tag. No registry was queried. */
const CERT_MANAGER = Object.fromEntries(
  Object.entries({
    controller: '70f532fd9cfde0b09d55687200942399d89838bc2d5d5b45152eb799a15912b8',
    webhook: 'a60e2dac46dbb8a7f3df95c54ce941012f54c2fe022f0ee55aaa1ab40ed957ae',
    cainjector: 'c85268c64f2e0e76684bf5fe8906caff34b82523561c6affe0fae3546bd87562',
    acmesolver: '699b40d622211ab7accad8a21b04c5fbaa1841ef7a12621e8de492dbe27b2503',
  }).map(([name, digest]) => {
    return [`cert-manager-${name}`, `quay.io/jetstack/cert-manager-${name}:v1.21.2@sha256:${digest}`];
  }),
);
const TRAEFIK = 'v3.6.12@sha256:171c9c3565b29f6c133f1c1b43c5d4e5853415198e9e1078c001f8702ff66aec';
const ENVOY_GATEWAY = 'v1.9.1@sha256:0049bcb384c591c6a6dd043fe5c9929ef6e74f230e12dd678d2d3701df9b301e';
const EDGES: Readonly<Record<Edge, Readonly<Record<string, string>>>> = {
  traefik: {traefik: `docker.io/library/traefik:${TRAEFIK}`},
  gateway: {'envoy-gateway': `docker.io/envoyproxy/gateway:${ENVOY_GATEWAY}`},
};

/** Our name of an image → its published one. */
export function publishedImages(edge: Edge): Readonly<Record<string, string>> {
  return {...CERT_MANAGER, ...EDGES[edge]};
}

/** Pulls the node's image to find out whether an engine that we did not start can reach a registry. */
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

/** Pulls images into the node, which has its engine's network, and gives them the names in our manifests. */
export async function pullImages(node: string, pulled: Readonly<Record<string, string>>): Promise<void> {
  const pull = async ([name, published]: readonly [string, string]) => {
    const ctr = ['exec', node, 'ctr', '--namespace', 'k8s.io', 'images'];
    await docker(...ctr, 'pull', published);
    await docker(...ctr, 'tag', published, imageReference(name));
  };
  await Promise.all(Object.entries(pulled).map(pull));
}
