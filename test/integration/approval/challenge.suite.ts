/** Challenges that outlive their request. */
import {expect, test} from 'vitest';
import {timestamp} from '../../../src/api/conditions.ts';
import {
  CERTIFICATE,
  CERTIFICATE_REQUEST,
  type CertificateRequest,
  CHALLENGE,
  ORDER,
} from '../../../src/operator/model/kinds.ts';
import type {KubeClient} from '../../../src/runtime/kube/client.ts';
import {isNotFound} from '../../../src/runtime/kube/errors.ts';
import type {KubeObject} from '../../../src/runtime/kube/object.ts';
import {until} from '../../cluster/wait.ts';
import {type DomainTenant, newDomainTenant, newLiveTenant} from '../operator/domain-tenant.ts';
import {type OperatorWorld, UNHURRIED} from '../operator/operator-world.ts';
import {challengeFor, createChallenge, ISSUER} from './challenge.ts';
import {signingRequest} from './signing-request.ts';

const EXEMPT = 'kube-system';
/** A challenge fails after ten seconds, and cert-manager retries with a backoff. */
const PATIENCE = {timeoutMs: 90_000};

export function challengeSuite(world: () => OperatorWorld): void {
  async function startImpatient(name: string): Promise<void> {
    const certificates = {...(world().config.certificates as object), challenges: {timeoutSeconds: 10}};
    await world().startOperator(name, {certificates});
  }

  test('a challenge and its Order are withdrawn after their request failed, even if the operator crashed meanwhile', async () => {
    const {client} = world();
    const {namespace} = await newDomainTenant(world(), 'outlived');
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
    await until('it is withdrawn', deleted);
    expect(await client.get(ORDER, key), 'cert-manager would replace the challenge').toBeUndefined();
    await client.patch(CHALLENGE, key, {metadata: {finalizers: null}}); // like cert-manager after its cleanup
  });

  test('a request whose challenge waits behind another challenge does not fail until it has had its time', async () => {
    const {client} = world();
    await world().operator().stop();
    await startImpatient('impatient');
    const tenant = await newDomainTenant(world(), 'queued');
    const hosts = {queued: tenant.host('queued'), first: tenant.host('first')};
    await tenant.deployedProject({aliases: Object.values(hosts)});
    await Promise.all(Object.values(hosts).map(host => tenant.live(host)));
    // cert-manager processes one challenge per host at a time. This one is in a namespace that need not hold the host.
    const blocker = {namespace: EXEMPT, name: 'blocker'};
    await createChallenge(client, blocker, hosts.queued);
    await isProcessed(client, blocker);
    for (const [name, host] of Object.entries(hosts)) {
      await client.create<KubeObject>(CERTIFICATE, {
        apiVersion: 'cert-manager.io/v1',
        kind: 'Certificate',
        metadata: {namespace: tenant.namespace, name},
        ...{spec: {secretName: name, dnsNames: [host], issuerRef: UNHURRIED}},
      });
      await until(`the request for ${host} is approved`, () => conditions(tenant, name).includes('Approved True'));
      const second = timestamp(Date.now());
      await createChallenge(client, {namespace: tenant.namespace, name}, host);
      await until('the next approval has a later time', () => timestamp(Date.now()) !== second);
    }
    // It was approved last, so the waiting one is overdue by now, too.
    await until('the first has failed', () => conditions(tenant, 'first').includes('Ready Failed'), PATIENCE);
    expect(conditions(tenant, 'queued')).not.toContain('Ready Failed');
    await client.delete(CHALLENGE, blocker);
    await client.patch(CHALLENGE, blocker, {metadata: {finalizers: null}}).catch(unlessGone);
    const hasFailed = () => conditions(tenant, 'queued').includes('Ready Failed');
    await until('the one that waited has failed', hasFailed, PATIENCE);
  });

  test.each([
    ['never answers', 'unanswered'],
    ['does not end the order once the challenge is solved', 'unended'],
  ])('a request whose ACME server %s fails in time, and its Order is deleted', async (_, label) => {
    const {client} = world();
    const {tenant, host} = await newLiveTenant(world(), label);
    const key = {namespace: tenant.namespace, name: label};
    const isSolved = label === 'unended';
    await client.create<KubeObject>(CERTIFICATE, {
      apiVersion: 'cert-manager.io/v1',
      kind: 'Certificate',
      metadata: key,
      ...{spec: {secretName: key.name, dnsNames: [host], issuerRef: UNHURRIED}},
    });
    await until('the request is approved', () => conditions(tenant, key.name).includes('Approved True'));
    const [request] = requestsOf(tenant, key.name);
    if (!request) throw new Error('there is no request');
    const {name, uid = ''} = request.metadata;
    const ownerReferences = [{apiVersion: 'cert-manager.io/v1', kind: CERTIFICATE_REQUEST.kind, name, uid}];
    const createOrder = () =>
      client.create<KubeObject>(ORDER, {
        apiVersion: 'acme.cert-manager.io/v1',
        kind: 'Order',
        metadata: {...key, ownerReferences},
        ...{spec: {request: request.spec.request, issuerRef: UNHURRIED, dnsNames: [host]}},
      });
    await createOrder();
    if (isSolved) {
      await createChallenge(client, key, host);
      await isProcessed(client, key);
      await client.patch(CHALLENGE, key, {status: {state: 'valid'}}, {subresource: 'status'});
    }
    await until('the request has failed', () => conditions(tenant, key.name).includes('Ready Failed'), PATIENCE);
    await until('the Order is deleted', async () => (await client.get(ORDER, key)) === undefined);

    await world().operator().stop();
    await createOrder(); // as if the operator had died between the two
    await startImpatient('successor');
    await until('its successor deletes the Order', async () => (await client.get(ORDER, key)) === undefined);
  });
}

async function isProcessed(client: KubeClient, key: {namespace: string; name: string}): Promise<void> {
  await until(
    'cert-manager processes the challenge',
    async () => (await client.get(CHALLENGE, key))?.status?.processing,
  );
}

/** Conditions of a Certificate's requests, such as "Approved True" and "Ready Failed". */
function conditions(tenant: DomainTenant, certificate: string): string[] {
  const all = requestsOf(tenant, certificate).flatMap(({status}) => status?.conditions ?? []);
  return all.map(({type, status, reason}) => `${type} ${type === 'Ready' ? reason : status}`);
}

function requestsOf({namespace, world: {history}}: DomainTenant, certificate: string): CertificateRequest[] {
  const requests = history.list(CERTIFICATE_REQUEST, namespace) as CertificateRequest[];
  return requests.filter(({metadata}) => metadata.name.startsWith(`${certificate}-`));
}

function unlessGone(error: unknown): void {
  if (!isNotFound(error)) throw error;
}

function controlledBy({apiVersion, kind, metadata}: KubeObject) {
  const {name, uid = ''} = metadata;
  return {apiVersion, kind, name, uid, controller: true};
}
