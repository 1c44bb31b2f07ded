/** Challenges without an Order, which cert-manager processes like any others. */
import {CHALLENGE} from '../../../src/operator/model/kinds.ts';
import type {KubeClient} from '../../../src/runtime/kube/client.ts';
import type {KubeObject} from '../../../src/runtime/kube/object.ts';

/** Nobody issues for it, and only the test decides on its requests. */
export const ISSUER = {name: 'none', kind: 'Issuer', group: 'ca.test'};

export async function createChallenge(
  client: KubeClient,
  key: {readonly namespace: string; readonly name: string},
  host: string,
): Promise<void> {
  const spec = challengeFor(host);
  const object = {apiVersion: 'acme.cert-manager.io/v1', kind: 'Challenge', metadata: key, ...{spec}};
  await client.create<KubeObject>(CHALLENGE, object);
}

export function challengeFor(host: string) {
  const url = 'https://ca.test/1';
  const solver = {http01: {ingress: {}}}; // without this, cert-manager crashes with a nil pointer
  return {url, authorizationURL: url, dnsName: host, issuerRef: ISSUER, key: 'a', token: 'a', type: 'HTTP-01', solver};
}
