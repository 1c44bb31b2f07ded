/** The operator in a cluster that adopts it: another approver decides, and the operator reports what it would deny. */
import {afterAll, beforeAll, expect, test} from 'vitest';
import {routeName} from '../../../src/operator/kinds/derived-names.ts';
import {CERTIFICATE, CERTIFICATE_REQUEST, type CertificateRequest, SECRET} from '../../../src/operator/kinds/kinds.ts';
import {EVENT} from '../../../src/runtime/kube/events.ts';
import type {Child} from '../../cluster/children.ts';
import {until} from '../../cluster/wait.ts';
import {CLUSTER_ISSUER_NAME} from '../operator/cert-manager.ts';
import {type DomainTenant, newDomainTenant} from '../operator/domain-tenant.ts';
import {installIngressClass, type OperatorWorld, startOperatorWorld, UNHURRIED} from '../operator/operator-world.ts';
import {startWebhook} from './webhook.ts';

let world: OperatorWorld;
let webhook: Child;
let victim: DomainTenant;
let mallory: DomainTenant;

beforeAll(async () => {
  world = await startOperatorWorld({dryRun: true});
  await world.certManager.installCrds();
  webhook = await startWebhook(world.api, world.folder); // records who created a request
  await world.certManager.start();
  await world.certManager.installIssuer();
  await installIngressClass(world.client);
  await world.startOperator('dry-run');
  [victim, mallory] = await Promise.all([newDomainTenant(world, 'victim'), newDomainTenant(world, 'mallory')]);
});
afterAll(async () => {
  await webhook?.kill();
  await world?.stop();
});

/** cert-manager sometimes creates two for one Certificate. */
function requestsOf(namespace: string, prefix: string): CertificateRequest[] {
  const requests = world.history.list(CERTIFICATE_REQUEST, namespace) as CertificateRequest[];
  return requests.filter(({metadata}) => metadata.name.startsWith(prefix));
}

/** What the operator reports about the requests in a namespace, each text once. */
function warnings(namespace: string, what = 'WouldBeDenied'): string[] {
  const events = world.history.list(EVENT).filter(({regarding}) => regarding?.namespace === namespace);
  return [...new Set(events.flatMap(({reason, note}) => (reason === what ? [String(note)] : [])))];
}

const counted = (decision: string, reason: string) =>
  world.operator().metric('nameplate_dry_run_requests', {decision, reason});

test('a host goes live as before, and its request would be approved', async () => {
  const host = victim.host('shop');
  await victim.deployedProject({primary: host});
  await victim.live(host);
  const requests = () => requestsOf(victim.namespace, routeName(victim.namespace, host)).length;
  expect(requests()).toBeGreaterThan(0);
  await until('it is counted', async () => (await counted('Approved', 'HostHeld')) === requests());
  expect(warnings(victim.namespace)).toEqual([]);
});

test('a certificate that Nameplate would deny is issued, and reported', async () => {
  const host = victim.host('shop');
  const metadata = {namespace: mallory.namespace, name: 'steal'};
  const issuerRef = {name: CLUSTER_ISSUER_NAME, kind: 'ClusterIssuer'};
  const spec = {secretName: 'steal', issuerRef, dnsNames: [host]};
  await world.client.apply(CERTIFICATE, {
    apiVersion: 'cert-manager.io/v1',
    kind: 'Certificate',
    metadata,
    spec,
  } as never);
  await until('it is issued', () => world.history.get(SECRET, `${mallory.namespace}/steal`));
  await until('it is reported', () => warnings(mallory.namespace).length > 0);
  expect(warnings(mallory.namespace)).toEqual([
    expect.stringContaining(
      `Nameplate would deny this request, but this is a dry run. This namespace does not hold ${host}.`,
    ),
  ]);
  const requests = () => requestsOf(mallory.namespace, 'steal');
  await until('it is counted', async () => (await counted('Denied', 'HostNotHeld')) === requests().length);
  const decisions = requests().flatMap(({status}) => status?.conditions?.map(({type}) => type) ?? []);
  expect(decisions).toContain('Approved');
  expect(decisions).not.toContain('Denied');
});

test('an approved request that Nameplate would remove stays, and is reported', async () => {
  const host = victim.host('shop');
  const {namespace} = mallory;
  const certificate = {namespace, name: 'open'};
  const spec = {secretName: 'open', issuerRef: UNHURRIED, dnsNames: [host]};
  const identity = {apiVersion: 'cert-manager.io/v1', kind: 'Certificate', metadata: certificate};
  await world.client.apply(CERTIFICATE, {...identity, spec} as never);
  await until('it is reported', () => warnings(namespace, 'WouldBeRemoved').length === 1);
  expect(warnings(namespace, 'WouldBeRemoved')).toEqual([
    expect.stringContaining(
      `Nameplate would remove this approved request, but this is a dry run. This namespace does not hold ${host}.`,
    ),
  ]);
  const open = requestsOf(namespace, 'open');
  expect(open.map(({metadata}) => metadata.deletionTimestamp)).toEqual(open.map(() => undefined));
  await world.client.delete(CERTIFICATE, certificate);
});

test('after a restart, it judges what was decided long ago', async () => {
  await world.operator().stop();
  await world.startOperator('after-restart');
  for (const [decision, reason, {namespace}, prefix] of [
    ['Denied', 'HostNotHeld', mallory, 'steal'],
    ['Approved', 'HostHeld', victim, routeName(victim.namespace, victim.host('shop'))],
  ] as const) {
    const requests = () => requestsOf(namespace, prefix).length;
    await until(`${reason} is counted`, async () => (await counted(decision, reason)) === requests());
  }
});

test('the platform team is told what is not promised meanwhile, and no approver is called foreign', async () => {
  expect(await world.operator().readiness()).toContain('config.certificates.approval.dryRun is true');
  expect(world.history.list(EVENT).filter(({reason}) => reason === 'ApproverIsOn')).toEqual([]);
});

test('the operator wrote to no request and no order, and was refused nothing', async () => {
  const events = await world.audit.events();
  const judged = ['certificaterequests', 'orders', 'challenges'];
  const touched = events.filter(
    ({verb, objectRef}) => judged.includes(objectRef?.resource ?? '') && !['list', 'watch'].includes(verb),
  );
  expect(touched.map(({verb, requestURI}) => `${verb} ${requestURI}`)).toEqual([]);
  const refused = events.filter(({responseStatus}) => responseStatus?.code === 403);
  expect(refused.map(({verb, requestURI}) => `${verb} ${requestURI}`)).toEqual([]);
});
