/** The operator as the approver of certificate requests. cert-manager's own approver is disabled. */
import {setTimeout as pause} from 'node:timers/promises';
import {isDeepStrictEqual} from 'node:util';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {ANNOTATION, LABEL} from '../../../src/api/names.ts';
import {routeName} from '../../../src/operator/kinds/derived-names.ts';
import {
  CERTIFICATE,
  CERTIFICATE_REQUEST,
  type CertificateRequest,
  INGRESS_CLASS,
  ISSUER,
  NAMESPACE,
  SECRET,
} from '../../../src/operator/kinds/kinds.ts';
import {EVENT} from '../../../src/runtime/kube/events.ts';
import type {Child} from '../../cluster/children.ts';
import {until} from '../../cluster/wait.ts';
import {RELEASE} from '../../support/install.ts';
import {claimed} from '../operator/by-hand.ts';
import {CLUSTER_ISSUER_NAME} from '../operator/cert-manager.ts';
import {type DomainTenant, newDomainTenant, newLiveTenant} from '../operator/domain-tenant.ts';
import {INGRESS_CLASS_NAME, type OperatorWorld, startOperatorWorld, UNHURRIED} from '../operator/operator-world.ts';
import {DENIAL, denyWith} from '../operator/refusing-webhook.ts';
import {THEIRS} from '../operator/theirs.ts';
import {signingRequest} from './signing-request.ts';
import {startWebhook} from './webhook.ts';

const ROUNDS = 40;

let world: OperatorWorld;
let webhook: Child;
let victim: DomainTenant;
let mallory: DomainTenant;

beforeAll(async () => {
  world = await startOperatorWorld({operatorApproves: true});
  await world.certManager.installCrds();
  webhook = await startWebhook(world.api, world.folder);
  await world.certManager.start();
  const metadata = {name: INGRESS_CLASS_NAME};
  const spec = {controller: 'traefik.io/ingress-controller'};
  await world.client.apply(INGRESS_CLASS, {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'IngressClass',
    metadata,
    ...{spec},
  });
  await world.startOperator('approver');
  await world.certManager.installIssuer(); // with its own certificate, in an exempt namespace
  [victim, mallory] = await Promise.all([newDomainTenant(world, 'victim'), newDomainTenant(world, 'mallory')]);
});
afterAll(async () => {
  await webhook?.kill();
  await world?.stop();
});

const issuerRef = {name: CLUSTER_ISSUER_NAME, kind: 'ClusterIssuer', group: 'cert-manager.io'};

async function makeCertificate(tenant: DomainTenant, name: string, spec: Record<string, unknown>): Promise<void> {
  const metadata = {namespace: tenant.namespace, name};
  const intent = {
    apiVersion: 'cert-manager.io/v1',
    kind: 'Certificate',
    metadata,
    spec: {secretName: name, issuerRef, ...spec},
  };
  await world.client.apply(CERTIFICATE, intent as never);
}

async function makeRequest(
  name: string,
  request: string,
  annotations: Record<string, string> = {},
  issuer: object = issuerRef,
  ownerReferences: object[] = [],
): Promise<void> {
  const metadata = {namespace: mallory.namespace, name, annotations, ownerReferences};
  const spec = {issuerRef: issuer, request, usages: ['server auth']};
  const object = {apiVersion: 'cert-manager.io/v1', kind: 'CertificateRequest', metadata, spec};
  await world.client.create(CERTIFICATE_REQUEST, object as never);
}

/** A host that mallory has proved. */
async function liveHost(label: string): Promise<string> {
  const host = mallory.host(label);
  await mallory.deployedProject({primary: host}, label);
  await mallory.live(host);
  return host;
}

/** The decision on the first request whose name begins with `prefix`. */
function decided(tenant: DomainTenant, prefix: string): Promise<{type: string; reason?: string; message?: string}> {
  const decision = () => {
    const requests = world.history.list(CERTIFICATE_REQUEST) as CertificateRequest[];
    const found = requests.find(
      ({metadata}) => metadata.namespace === tenant.namespace && metadata.name.startsWith(prefix),
    );
    return found?.status?.conditions?.find(({type}) => type === 'Approved' || type === 'Denied');
  };
  return until(`the request of ${prefix} is decided`, decision);
}

test('a host that its namespace has proved gets its certificate', async () => {
  const host = victim.host('shop');
  await victim.deployedProject({primary: host});
  await victim.live(host);
  const approval = await decided(victim, routeName(victim.namespace, host));
  expect(approval).toMatchObject({type: 'Approved', reason: 'HostHeld', message: `This namespace holds ${host}.`});
});

test('what others add to a request survives our decision', async () => {
  const request = await signingRequest({names: [`DNS:${await liveHost('annotated')}`]});
  const key = {namespace: mallory.namespace, name: 'annotated'};
  const spec = {issuerRef, request, usages: ['server auth']};
  const object = {apiVersion: 'cert-manager.io/v1', kind: 'CertificateRequest', metadata: {...THEIRS, ...key}, spec};
  await world.client.create(CERTIFICATE_REQUEST, object as never);
  expect(await decided(mallory, key.name)).toMatchObject({type: 'Approved', reason: 'HostHeld'});
  const decidedRequest = world.history.get(CERTIFICATE_REQUEST, `${key.namespace}/${key.name}`);
  expect(decidedRequest?.metadata).toMatchObject(THEIRS);
  await world.client.patch(CERTIFICATE_REQUEST, key, {metadata: {finalizers: null}});
});

test('a decision that is refused: each request says so, and the host continues once it is allowed', async () => {
  const tenant = await newDomainTenant(world, 'undecided');
  const {namespace} = tenant;
  const host = tenant.host('shop');
  const refused = {namespace, apiGroup: 'cert-manager.io', resource: 'certificaterequests/status'};
  const allow = await denyWith(503, world, refused); // no 403, which the last test would find
  try {
    await tenant.deployedProject({primary: host});
    await tenant.createRecords(host);
    await claimed(tenant, host);
    await makeCertificate(tenant, 'own', {dnsNames: [host], issuerRef: UNHURRIED});
    for (const prefix of [routeName(namespace, host), 'own']) {
      const found = () =>
        world.history
          .list(EVENT, namespace)
          .find(({reason, regarding}) => reason === 'DecisionRefused' && regarding?.name?.startsWith(prefix));
      const event = await until(`the request of ${prefix} has an Event`, found);
      expect(event.note).toContain(DENIAL);
    }
  } finally {
    await allow();
  }
  await tenant.live(host);
  expect(await decided(tenant, 'own')).toMatchObject({type: 'Approved', reason: 'HostHeld'});
});

/** Requests to an issuer kind that does not exist, and to one for whose signers the operator has no right. */
const LEFT_ALONE = [
  {name: 'unknown-group', issuer: {name: 'any', kind: 'Issuer', group: 'unknown.test'}},
  {name: 'no-issuer', issuer: {name: 'any', kind: 'Ingress', group: 'networking.k8s.io'}},
];

describe.concurrent('not approved', () => {
  const says = (host: string) => ({
    type: 'Denied',
    reason: 'HostNotHeld',
    message: expect.stringContaining(`This namespace does not hold ${host}. List it in spec.domains of a Project`),
  });

  // attack: foreign-certificate
  test("a Certificate for another tenant's host", async () => {
    const host = victim.host('shop');
    await makeCertificate(mallory, 'steal', {dnsNames: [host]});
    expect(await decided(mallory, 'steal')).toMatchObject(says(host));
    expect(world.history.get(SECRET, `${mallory.namespace}/steal`)).toBeUndefined();
  });

  // attack: foreign-certificate
  test('a Certificate for a host that nobody has proved', async () => {
    await makeCertificate(mallory, 'early', {dnsNames: ['unproved.example.com']});
    expect(await decided(mallory, 'early')).toMatchObject(says('unproved.example.com'));
  });

  test.each([
    {name: 'two', spec: {dnsNames: ['a.example.com', 'b.example.com']}},
    {name: 'wide', spec: {dnsNames: ['*.example.com', 'example.com']}},
    {name: 'address', spec: {dnsNames: ['a.example.com'], ipAddresses: ['192.0.2.1']}},
    {name: 'authority', spec: {dnsNames: ['a.example.com'], isCA: true}},
    {name: 'client', spec: {dnsNames: ['a.example.com'], usages: ['client auth']}},
    {name: 'nameless', spec: {uris: ['spiffe://example.com/a']}},
    {name: 'person', spec: {dnsNames: ['a.example.com'], commonName: 'system:admin'}},
  ])('a Certificate for more than one host, or for more than a server: $name', async ({name, spec}) => {
    await makeCertificate(mallory, name, spec);
    expect(await decided(mallory, name)).toMatchObject({type: 'Denied', reason: 'NotOneHost'});
  });

  // attack: signing-request
  test('a Certificate for its own host whose subject has an organization, or anything besides a common name', async () => {
    const own = await liveHost('organized');
    await makeCertificate(mallory, 'masters', {dnsNames: [own], subject: {organizations: ['system:masters']}});
    await makeCertificate(mallory, 'literal', {dnsNames: [own], literalSubject: `CN=${own},UID=root`});
    expect(await decided(mallory, 'masters')).toMatchObject({
      type: 'Denied',
      reason: 'SubjectNotAllowed',
      message: expect.stringContaining('The subject of this request has the attribute O. '),
    });
    expect(await decided(mallory, 'literal')).toMatchObject({type: 'Denied', reason: 'SubjectNotAllowed'});
  });

  // attack: signing-request
  test('a request for a name that cannot be a host and would form another path of the API', async () => {
    await makeRequest('dots', await signingRequest({names: ['DNS:..']}));
    expect(await decided(mallory, 'dots')).toMatchObject({type: 'Denied', reason: 'NotOneHost'});
  });

  test("a Certificate for its default host, where the ingress's own certificate serves that", async () => {
    await mallory.deployedProject(undefined, 'bare');
    const {status} = await mallory.projectBecomes('bare', {Ready: 'Published'});
    await makeCertificate(mallory, 'default-host', {dnsNames: [status?.defaultHost]});
    expect(await decided(mallory, 'default-host')).toMatchObject(says(status?.defaultHost ?? ''));
  });

  // attack: foreign-certificate
  test('a self-made request whose annotations name a different Certificate than its content', async () => {
    const own = await liveHost('own');
    const request = await signingRequest({commonName: own, names: [`DNS:${victim.host('shop')}`]});
    await makeRequest('by-hand', request, {'cert-manager.io/certificate-name': routeName(mallory.namespace, own)});
    expect(await decided(mallory, 'by-hand')).toMatchObject({type: 'Denied', reason: 'NotOneHost'});
  });

  // attack: foreign-certificate
  test("a request that looks like one for its own host, but that cert-manager reads as one for another tenant's host", async () => {
    const hosts = [await liveHost('shown'), victim.host('shop')];
    const [shown, meant] = await Promise.all(
      hosts.map(async host => Buffer.from(await signingRequest({names: [`DNS:${host}`]}), 'base64')),
    );
    const request = Buffer.concat([Buffer.from('x'), shown ?? Buffer.of(), meant ?? Buffer.of()]).toString('base64');
    await makeRequest('two-faced', request);
    expect(await decided(mallory, 'two-faced')).toMatchObject({type: 'Denied', reason: 'NotOneHost'});
  });

  // attack: foreign-certificate
  test.each(LEFT_ALONE)('a request on which cert-manager allows no decision is left alone: $name', async row => {
    const {name, issuer} = row;
    const request = await signingRequest({names: [`DNS:${victim.host('shop')}`]});
    await makeRequest(name, request, {}, issuer);
    await makeRequest(`after-${name}`, request);
    expect(await decided(mallory, `after-${name}`)).toMatchObject({type: 'Denied'});
    expect(world.history.get(CERTIFICATE_REQUEST, `${mallory.namespace}/${name}`)?.status?.conditions ?? []).toEqual(
      [],
    );
  });

  // attack: foreign-certificate
  test('a request that takes the name of one that is just being approved', async () => {
    const own = await liveHost('bait');
    const [bait, hook] = await Promise.all(
      [own, victim.host('shop')].map(host => signingRequest({names: [`DNS:${host}`]})),
    );
    for (let index = 0; index < ROUNDS; index++) {
      const key = {namespace: mallory.namespace, name: `hook-${index}`};
      await makeRequest(key.name, bait ?? '');
      await pause(index % 10); // about as long as a decision takes
      await world.client.delete(CERTIFICATE_REQUEST, key);
      await makeRequest(key.name, hook ?? '');
    }
    const hooks = () =>
      (world.history.list(CERTIFICATE_REQUEST) as CertificateRequest[]).filter(
        ({metadata, spec}) => metadata.name.startsWith('hook-') && spec.request === hook,
      );
    const typesOf = ({status}: CertificateRequest) => status?.conditions?.map(({type}) => type) ?? [];
    await until('all are decided', () => hooks().length === ROUNDS && hooks().every(each => typesOf(each).length > 0));
    const caught = hooks().filter(each => typesOf(each).includes('Approved'));
    expect(caught.map(({metadata}) => metadata.name)).toEqual([]);
  });
});

// attack: foreign-certificate
test('when a claim moves, the right to certificates moves with it', async () => {
  const host = mallory.host('moved');
  await mallory.deployedProject({primary: host}, 'moved');
  await mallory.live(host);
  await victim.deployedProject({primary: host}, 'moved');
  await victim.live(host);
  await makeCertificate(mallory, 'former', {dnsNames: [host]});
  expect(await decided(mallory, 'former')).toMatchObject({type: 'Denied', reason: 'HostNotHeld'});
});

// attack: stale-order
test('an approval is withdrawn when the claim moves, and a denial stays', async () => {
  const host = await liveHost('withdrawn');
  await makeCertificate(mallory, 'pending', {dnsNames: [host], issuerRef: UNHURRIED});
  expect(await decided(mallory, 'pending')).toMatchObject({type: 'Approved', reason: 'HostHeld'});
  await victim.deployedProject({primary: host}, 'withdrawn');
  await victim.live(host);
  expect(await decisions(mallory, 'pending')).toEqual(['Denied HostNotHeld']); // cert-manager has requested it again
});

test('an approval is withdrawn when the platform gives the namespace to another account', async () => {
  const {tenant, host} = await newLiveTenant(world, 'sold');
  await makeCertificate(tenant, 'pending', {dnsNames: [host], issuerRef: UNHURRIED});
  expect(await decided(tenant, 'pending')).toMatchObject({type: 'Approved', reason: 'HostHeld'});
  await tenant.label({[LABEL.account]: 'buyer'});
  expect(await decisions(tenant, 'pending')).toEqual(['Denied HostNotHeld']);
});

test('a pause holds back approvals, but neither denials nor withdrawals', async () => {
  const {tenant, host} = await newLiveTenant(world, 'paused');
  await makeCertificate(tenant, 'before', {dnsNames: [host], issuerRef: UNHURRIED});
  expect(await decided(tenant, 'before')).toMatchObject({type: 'Approved'});
  const annotate = async (value: string | null) => {
    const metadata = {annotations: {[ANNOTATION.paused]: value}};
    await world.client.patch(NAMESPACE, {name: tenant.namespace}, {metadata});
    const paused = () => world.operator().metric('nameplate_paused', {kind: 'Namespace'});
    await until('the operator has seen it', async () => (await paused()) === (value === null ? 0 : 1));
  };
  const undecided = () =>
    (world.history.list(CERTIFICATE_REQUEST, tenant.namespace) as CertificateRequest[])
      .filter(({status}) => !status?.conditions?.some(({type}) => type === 'Approved' || type === 'Denied'))
      .map(({metadata}) => metadata.name.replace(/-\d+$/, ''))
      .sort();
  const waiting = ['during', routeName(tenant.namespace, host)];
  await annotate('true');
  await makeCertificate(tenant, 'during', {dnsNames: [host], issuerRef: UNHURRIED});
  await tenant.renew(host);
  await until('both are requested', () => isDeepStrictEqual(undecided(), waiting));
  await makeCertificate(tenant, 'foreign', {dnsNames: [victim.host('shop')]});
  expect(await decided(tenant, 'foreign')).toMatchObject({type: 'Denied', reason: 'HostNotHeld'});
  expect(undecided()).toEqual(waiting); // for longer than a decision takes

  await annotate(null);
  await until('the pause has ended', () => undecided().length === 0);
  expect(await decided(tenant, 'during')).toMatchObject({type: 'Approved'});
  await annotate('true');
  await tenant.label({[LABEL.account]: 'acquirer'});
  expect(await decisions(tenant, 'before')).toEqual(['Denied HostNotHeld']);
  await annotate(null); // for later tests
});

test("another user's approval is withdrawn", async () => {
  const host = victim.host('approved');
  await world.operator().stop(); // it would deny the request before another user can approve it
  await makeCertificate(mallory, 'by-others', {dnsNames: [host], issuerRef: UNHURRIED});
  const name = await until('it is requested', () => {
    const requests: CertificateRequest[] = world.history.list(CERTIFICATE_REQUEST, mallory.namespace);
    return requests.find(({metadata}) => metadata.name.startsWith('by-others'))?.metadata.name;
  });
  const lastTransitionTime = new Date().toISOString();
  const approved = {type: 'Approved', status: 'True', reason: 'Other', message: 'by a policy', lastTransitionTime};
  const key = {namespace: mallory.namespace, name};
  await world.client.patch(CERTIFICATE_REQUEST, key, {status: {conditions: [approved]}}, {subresource: 'status'});
  await world.startOperator('withdrawing');
  expect(await decisions(mallory, 'by-others')).toEqual(['Denied HostNotHeld']); // cert-manager has requested it again
});

test('a certificate that cert-manager cannot renew is reported with its expiry, until it has another issuer', async () => {
  const dnsNames = [await liveHost('legacy')];
  const key = `${mallory.namespace}/legacy`;
  await makeCertificate(mallory, 'legacy', {dnsNames});
  const notAfter = await until('it is issued', () => world.history.get(CERTIFICATE, key)?.status?.notAfter);
  const counts = (count: number) => async () =>
    (await world.operator().metric('nameplate_certificates_not_renewable')) === count;
  await until('it can be renewed', counts(0));
  expect(await world.operator().readiness()).not.toContain('cannot renew');
  const metadata = {namespace: mallory.namespace, name: 'acme'};
  const acme = {server: 'https://acme.example/directory', privateKeySecretRef: {name: 'account'}};
  const spec = {acme: {...acme, solvers: [{http01: {ingress: {}}}]}};
  await world.client.apply(ISSUER, {apiVersion: 'cert-manager.io/v1', kind: 'Issuer', metadata, spec});
  await makeCertificate(mallory, 'legacy', {dnsNames, issuerRef: {name: 'acme', kind: 'Issuer'}});
  await until('it cannot be renewed', counts(1));
  expect(await world.operator().readiness()).toContain(
    `cert-manager cannot renew 1 certificate in tenants' namespaces, because it may not solve challenges there; the next to expire is ${key}, at ${notAfter}.`,
  );
  await makeCertificate(mallory, 'legacy', {dnsNames});
  await until('it can be renewed again', counts(0));
});

/** The decisions on the existing requests. */
async function decisions(tenant: DomainTenant, prefix: string): Promise<string[]> {
  const isOf = ({metadata}: CertificateRequest) =>
    metadata.namespace === tenant.namespace && metadata.name.startsWith(prefix);
  const shown = () =>
    (world.history.list(CERTIFICATE_REQUEST) as CertificateRequest[]).filter(isOf).map(({status}) => {
      const found = status?.conditions?.find(({type}) => type === 'Approved' || type === 'Denied');
      return found && `${found.type} ${found.reason}`;
    });
  const allDenied = () => shown().length > 0 && shown().every(text => text?.startsWith('Denied'));
  await until(`${prefix}: all requests are denied`, allDenied);
  return shown().map(text => text ?? '');
}

test('a default host with its own certificate is approved', async () => {
  await world.operator().stop();
  await world.startOperator('own-certificates', {defaultHost: {tls: 'certificate'}});
  const tenant = await newDomainTenant(world, 'default');
  await tenant.deployedProject();
  const {status} = await tenant.projectBecomes('shop', {Ready: 'Published'});
  expect(await decided(tenant, routeName(tenant.namespace, status?.defaultHost ?? ''))).toMatchObject({
    type: 'Approved',
  });
});

describe('by default', () => {
  const host = () => mallory.host('own');

  beforeAll(async () => {
    await makeCertificate(mallory, 'before', {dnsNames: [host()], issuerRef: UNHURRIED});
    await decided(mallory, 'before');
    await world.operator().stop();
    const certificates = {...(world.config.certificates as object), approval: {enabled: true}};
    await world.startOperator('default', {certificates});
  });

  // attack: foreign-certificate
  test('only the operator’s own requests are approved', async () => {
    await makeCertificate(mallory, 'second', {dnsNames: [host()]});
    expect(await decided(mallory, 'second')).toMatchObject({type: 'Denied', reason: 'NotManaged'});
    const own = await liveHost('managed');
    expect(await decided(mallory, routeName(mallory.namespace, own))).toMatchObject({type: 'Approved'});
  });

  // attack: foreign-certificate
  test('a request that names the operator’s Certificate as its owner, but is not from cert-manager', async () => {
    const {uid = ''} = mallory.certificate(host())?.metadata ?? {};
    const name = routeName(mallory.namespace, host());
    const owner = {apiVersion: 'cert-manager.io/v1', kind: 'Certificate', name, uid, controller: true};
    await makeRequest('impostor', await signingRequest({names: [`DNS:${host()}`]}), {}, issuerRef, [owner]);
    expect(await decided(mallory, 'impostor')).toMatchObject({type: 'Denied', reason: 'NotFromCertManager'});
  });

  // attack: stale-order
  test('a request that an earlier configuration approved is withdrawn if it is still in progress', async () => {
    expect(await decisions(mallory, 'before')).toEqual(['Denied NotManaged']);
  });
});

// attack: foreign-certificate
test('names of Services in its own namespace, from an issuer that the platform lists', async () => {
  await world.operator().stop();
  const clusterDomain = 'tenants.example.net';
  const approval = {enabled: true, tenantCertificates: {services: [{name: CLUSTER_ISSUER_NAME}], clusterDomain}};
  await world.startOperator('services', {certificates: {...(world.config.certificates as object), approval}});
  const zone = `${mallory.namespace}.svc`;
  const usages = ['digital signature', 'server auth', 'client auth'];
  await makeCertificate(mallory, 'mesh', {dnsNames: [`shop.${zone}`, `shop.${zone}.${clusterDomain}`], usages});
  await makeCertificate(mallory, 'elsewhere', {dnsNames: [`shop.${zone}.cluster.local`], usages});
  await makeCertificate(mallory, 'theirs', {dnsNames: [`shop.${victim.namespace}.svc`], usages: ['server auth']});
  await makeCertificate(mallory, 'deep', {dnsNames: [`a.b.c.${zone}`], usages: ['server auth']});
  expect(await decided(mallory, 'mesh')).toMatchObject({type: 'Approved', reason: 'OwnServices'});
  expect(await decided(mallory, 'theirs')).toMatchObject({type: 'Denied', reason: 'HostNotHeld'});
  expect(await decided(mallory, 'elsewhere')).toMatchObject({type: 'Denied'});
  expect(await decided(mallory, 'deep')).toMatchObject({type: 'Denied', reason: 'HostNotHeld'});
  const subject = {organizations: ['system:masters']};
  await makeCertificate(mallory, 'masters-mesh', {dnsNames: [`shop.${zone}`], usages, subject});
  expect(await decided(mallory, 'masters-mesh')).toMatchObject({type: 'Denied', reason: 'SubjectNotAllowed'});
});

// attack: tenant-issuer
test('an Issuer in the namespace is judged when a request uses it, however it was created', async () => {
  await world.operator().stop();
  const approval = {enabled: true, tenantCertificates: {hosts: [{name: 'rogue', kind: 'Issuer'}]}};
  await world.startOperator('issuers', {certificates: {...(world.config.certificates as object), approval}});
  const acme = {server: 'https://acme.mallory.example/directory', privateKeySecretRef: {name: 'account'}};
  const metadata = {namespace: mallory.namespace, name: 'rogue'};
  const rogue = {apiVersion: 'cert-manager.io/v1', kind: 'Issuer', metadata, spec: {acme: {...acme, solvers: []}}};
  await world.client.apply(ISSUER, rogue);
  await makeCertificate(mallory, 'relay', {
    dnsNames: [mallory.host('own')],
    issuerRef: {name: 'rogue', kind: 'Issuer'},
  });
  expect(await decided(mallory, 'relay')).toMatchObject({
    type: 'Denied',
    reason: 'IssuerNotAllowed',
    message: expect.stringContaining('Issuer rogue solves challenges in this namespace'),
  });
});

test('a request for the platform’s issuer is approved once its namespace has that Issuer', async () => {
  await world.operator().stop();
  const late = {name: 'late', kind: 'Issuer', group: 'cert-manager.io'};
  const approval = {enabled: true, tenantCertificates: {hosts: [late]}};
  const certificates = {...(world.config.certificates as object), issuerRef: late, formerIssuerRefs: [issuerRef]};
  await world.startOperator('late-issuer', {certificates: {...certificates, approval}});
  const operator = world.operator();
  const judged = () => operator.metric('controller_runtime_reconcile_total', {controller: 'certificate-request'});
  await until('it has judged all others', async () => (await operator.metric('workqueue_depth')) === 0);
  const before = await judged();
  await makeRequest('late', await signingRequest({names: [`DNS:${mallory.host('own')}`]}), {}, late);
  // Looked at every second, because a denial waits for the caches.
  await until('it has been looked at', async () => (await judged()) >= before + 3, {intervalMs: 20});
  const metadata = {namespace: mallory.namespace, name: late.name};
  const issuer = {apiVersion: 'cert-manager.io/v1', kind: 'Issuer', metadata, spec: {selfSigned: {}}};
  await world.client.apply(ISSUER, issuer as never);
  expect(await decided(mallory, 'late')).toMatchObject({type: 'Approved', reason: 'HostHeld'});
});

// attack: foreign-certificate
test("if cert-manager's built-in approver is enabled, only the platform team is notified", async () => {
  const told = async () => ({
    ready: (await world.operator().readiness()).includes("ok, but cert-manager's built-in approver is enabled"),
    approvals: (await world.operator().metric('nameplate_foreign_approvals_total')) > 0,
    log: (await world.operator().log()).some(({message}) =>
      `${message}`.startsWith("cert-manager's built-in approver"),
    ),
    events: world.history
      .list(EVENT)
      .flatMap(({reason, metadata}) => (reason === 'ApproverIsOn' ? metadata.namespace : [])),
  });
  expect(await told()).toEqual({ready: false, approvals: false, log: false, events: []});
  await world.certManager.approveItself();
  const request = await signingRequest({names: [`DNS:${victim.host('shop')}`]});
  let requests = 0;
  const approved = async () => {
    const name = `${++requests}-by-approver`;
    await makeRequest(name, request);
    const decision = await decided(mallory, name);
    return decision.type === 'Approved' ? decision : undefined;
  };
  // Until the approver runs, the operator denies each request, ten seconds after its creation.
  const decision = await until('the approver approves a request', approved);
  expect(decision).toMatchObject({reason: 'cert-manager.io'});
  const want = {ready: true, approvals: true, log: true, events: [RELEASE.namespace]};
  await until('it is reported', async () => isDeepStrictEqual(await told(), want)).catch(async () => {
    expect(await told()).toEqual(want);
  });
});

test('no decision was attempted on a request that only others may decide', async () => {
  const names = new Set<string | undefined>(LEFT_ALONE.map(({name}) => name));
  const tried = (await world.audit.events()).filter(({objectRef}) => names.has(objectRef?.name));
  expect(tried.map(({verb, requestURI}) => `${verb} ${requestURI}`)).toEqual([]);
});

test('the operator was refused nothing', async () => {
  const refused = (await world.audit.events()).filter(({responseStatus}) => responseStatus?.code === 403);
  expect([...new Set(refused.map(({verb, requestURI}) => `${verb} ${requestURI}`))]).toEqual([]);
});
