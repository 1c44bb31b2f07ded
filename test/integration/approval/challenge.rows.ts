/** Challenges that outlive their request. */
import {expect, test} from 'vitest';
import {CERTIFICATE_REQUEST, CHALLENGE, ORDER} from '../../../src/operator/resources.ts';
import type {KubeObject} from '../../../src/runtime/kube/object.ts';
import {newTenant} from '../operator/tenant.ts';
import type {World} from '../operator/world.ts';
import {signingRequest} from './signing-request.ts';

/** Nobody issues for it, and nobody but the test decides on it. */
const ISSUER = {name: 'none', kind: 'Issuer', group: 'ca.test'};

export function challengeRows(world: () => World): void {
  test('a challenge and its Order are withdrawn after their request failed, even if the operator crashed meanwhile', async () => {
    const {client} = world();
    const {namespace} = await newTenant(world(), 'outlived');
    const [host, key] = ['shop.outlived.test', {namespace, name: 'late'}];
    const request = await client.create<KubeObject>(CERTIFICATE_REQUEST, {
      apiVersion: 'cert-manager.io/v1',
      kind: 'CertificateRequest',
      metadata: key,
      ...{spec: {request: await signingRequest({names: [`DNS:${host}`]}), issuerRef: ISSUER}},
    });
    const lastTransitionTime = new Date().toISOString();
    const failed = {type: 'Ready', status: 'False', reason: 'Failed', message: '', lastTransitionTime};
    await client.patch(CERTIFICATE_REQUEST, key, {status: {conditions: [failed]}}, {subresource: 'status'});
    const order = await client.create<KubeObject>(ORDER, {
      apiVersion: 'acme.cert-manager.io/v1',
      kind: 'Order',
      metadata: {...key, ownerReferences: [controlledBy(request)]},
      ...{spec: {request: (request as {spec?: {request?: string}}).spec?.request, issuerRef: ISSUER, dnsNames: [host]}},
    });
    const metadata = {...key, finalizers: ['test.nameplate.dev/cleanup'], ownerReferences: [controlledBy(order)]};
    await client.create<KubeObject>(CHALLENGE, {
      apiVersion: 'acme.cert-manager.io/v1',
      kind: 'Challenge',
      metadata,
      ...{spec: challengeFor(host)},
    });
    const deleted = async () => (await client.get(CHALLENGE, key))?.metadata.deletionTimestamp;
    await expect.poll(deleted, {timeout: 20_000}).toBeDefined();
    expect(await client.get(ORDER, key), 'cert-manager would replace the challenge').toBeUndefined();
    await client.patch(CHALLENGE, key, {metadata: {finalizers: null}}); // as cert-manager once it has cleaned up
  });
}

function challengeFor(host: string) {
  const url = 'https://ca.test/1';
  const solver = {http01: {ingress: {}}}; // without it, cert-manager dies of a nil pointer
  return {url, authorizationURL: url, dnsName: host, issuerRef: ISSUER, key: 'a', token: 'a', type: 'HTTP-01', solver};
}

function controlledBy({apiVersion, kind, metadata}: KubeObject) {
  const {name, uid = ''} = metadata;
  return {apiVersion, kind, name, uid, controller: true};
}
