import {expect, test} from 'vitest';
import {ANNOTATION} from '../../../src/api/names.ts';
import {routeName} from '../../../src/operator/kinds/derived-names.ts';
import {CERTIFICATE, DOMAIN, DOMAIN_CLAIM, INGRESS, SECRET, SERVICE} from '../../../src/operator/kinds/kinds.ts';
import type {ResourceType} from '../../../src/runtime/kube/object.ts';
import {TARGET_DOMAIN} from '../../cluster/state.ts';
import {until} from '../../cluster/wait.ts';
import {type DomainTenant, newDomainTenant, newLiveTenant} from './domain-tenant.ts';
import {INGRESS_ADDRESS, type OperatorWorld} from './operator-world.ts';

/** A record that does not prove the host. `fix`: what is needed besides creating the shown records. */
interface DnsRow {
  readonly reason: string;
  readonly case: string;
  readonly apex?: boolean;
  given(tenant: DomainTenant, host: string): Promise<void>;
  readonly says: readonly string[];
  fix?(tenant: DomainTenant, host: string): Promise<void>;
}

const dnsRows: readonly DnsRow[] = [
  {
    reason: 'RecordMismatch',
    case: 'a CNAME to another target',
    given: (tenant, host) => tenant.world.dns.set(host, 'CNAME', ['elsewhere.test']),
    says: ['CNAME elsewhere.test.', 'Change it to'],
  },
  {
    reason: 'ConflictingRecord',
    case: 'an address instead of the CNAME',
    given: (tenant, host) => tenant.world.dns.set(host, 'A', ['192.0.2.99']),
    says: ['Delete the A record 192.0.2.99'],
    fix: (tenant, host) => tenant.world.dns.set(host, 'A', []),
  },
  {
    reason: 'Propagating',
    case: 'several servers, one of which has the record',
    given: async (tenant, host) => {
      const domain = await tenant.becomes(host, {DNSVerified: 'RecordMissing'});
      const target = domain.status?.dns?.required?.[0]?.value ?? '';
      await tenant.world.dns.set(host, 'CNAME', [target], 'one');
    },
    says: ['is still no record'],
  },
  {
    reason: 'ProofMissing',
    case: 'an apex whose address is right and whose TXT record is missing',
    apex: true,
    given: (tenant, host) => tenant.world.dns.set(host, 'A', [INGRESS_ADDRESS]),
    says: ['_nameplate.', 'TXT "nameplate-proof='],
  },
  {
    reason: 'ProofMissing',
    case: 'an apex with a TXT token that is not its own',
    apex: true,
    given: async (tenant, host) => {
      await tenant.world.dns.set(host, 'A', [INGRESS_ADDRESS]);
      await tenant.world.dns.set(`_nameplate.${host}`, 'TXT', ['nameplate-proof=stale']);
    },
    says: ['only "nameplate-proof=stale"'],
  },
];

export function lifeSuite(world: () => OperatorWorld): void {
  test('from nothing to live: proof, claim, certificate, route, in this order', async () => {
    const tenant = await newDomainTenant(world(), 'order');
    const host = tenant.host('shop');
    world().certManager.approvals().hold(host);
    await tenant.deployedProject({primary: host});
    const waiting = {Claimed: 'Waiting', CertificateReady: 'Waiting', Routed: 'Waiting'};
    await tenant.becomes(host, {state: 'Unverified', DNSVerified: 'RecordMissing', Ready: 'RecordMissing', ...waiting});
    expect(tenant.trace(host), 'nothing is made before the proof').toEqual([]);

    await tenant.createRecords(host);
    await tenant.becomes(host, {state: 'Verified', DNSVerified: 'Verified', Claimed: 'Claimed', Ready: 'Issuing'});
    await tenant.until('a certificate is requested', () => tenant.certificateRequests(host).length > 0);
    expect(tenant.ingress(host), 'nothing is routed before its certificate').toBeUndefined();

    await world().certManager.approvals().approve(host);
    await tenant.becomes(host, {state: 'Live', CertificateReady: 'Issued', Routed: 'Serving', Ready: 'Live'});
    const first = (resource: ResourceType) => tenant.trace(host).find(version => version.resource === resource)?.at;
    const order = [DOMAIN_CLAIM, CERTIFICATE, SECRET, INGRESS].map(first);
    expect(order).not.toContain(undefined);
    expect(order).toEqual([...order].sort((a = 0, b = 0) => a - b));
  });

  test.each(dnsRows)('$reason: $case, until the records are as shown', async row => {
    const tenant = await newDomainTenant(world(), 'dns');
    const host = row.apex ? tenant.zone : tenant.host('shop');
    await tenant.deployedProject({primary: host});
    await row.given(tenant, host);
    await tenant.becomes(host, {state: 'Unverified', DNSVerified: row.reason, Claimed: 'Waiting'}, row.says);
    expect(tenant.trace(host)).toEqual([]);
    await row.fix?.(tenant, host);
    await tenant.live(host);
  });

  test('EndpointSlices are asked for until the first deploy of a project, for its Service, and never watched', async () => {
    const {audit} = world();
    const tenant = await newDomainTenant(world(), 'deploys');
    const host = tenant.host('shop');
    const asked = async () => {
      const all = (await audit.events()).filter(({objectRef}) => objectRef?.resource === 'endpointslices');
      expect(all.filter(({verb, objectRef}) => verb !== 'list' || objectRef?.namespace === undefined)).toEqual([]);
      return all.filter(({objectRef}) => objectRef?.namespace === tenant.namespace).map(({requestURI}) => requestURI);
    };
    await tenant.deploy('shop', {ready: false});
    await tenant.project({primary: host});
    await tenant.becomes(host, {Accepted: 'NoSuccessfulDeploy'});
    await until('it is asked again', async () => (await asked()).length > 1);
    await tenant.deploy();
    await tenant.live(host);
    const before = await asked();
    for (const uri of before)
      expect(decodeURIComponent(uri)).toContain('labelSelector=kubernetes.io/service-name=shop');
    await tenant.deploy('shop', {ready: false});
    await tenant.verify(host, 'after its pods have failed');
    await tenant.projectBecomes('shop', {Deployed: 'Deployed'});
    expect(await asked()).toEqual(before);
  });

  test("shows what to enter in a DNS provider's form", async () => {
    const tenant = await newDomainTenant(world(), 'records');
    await tenant.deployedProject({primary: tenant.zone, aliases: [tenant.host('shop')]});
    const required = async (host: string) => {
      const {status} = await tenant.becomes(host, {DNSVerified: 'RecordMissing'});
      return status?.dns?.required;
    };
    const target = expect.stringMatching(new RegExp(`^[a-z2-7]{20}\\.${TARGET_DOMAIN}$`));
    expect(await required(tenant.host('shop'))).toEqual([
      {type: 'CNAME', name: tenant.host('shop'), label: 'shop', value: target, ttl: 3600},
    ]);
    const value = expect.stringMatching(/^nameplate-proof=[a-z2-7]{32}$/);
    expect(await required(tenant.zone)).toEqual([
      {type: 'ALIAS', name: tenant.zone, label: '@', value: target, ttl: 3600},
      {type: 'TXT', name: `_nameplate.${tenant.zone}`, label: '_nameplate', value, ttl: 3600},
    ]);
  });

  test('agreed drift degrades, but stops no traffic; if servers disagree, nothing happens', async () => {
    const {tenant, host, domain: live} = await newLiveTenant(world(), 'drift');

    await world().dns.set(host, 'CNAME', [], 'one');
    await tenant.verify(host, 'while the servers disagree');
    await tenant.becomes(host, {state: 'Live', DNSVerified: 'Verified', Ready: 'Live'});

    await world().dns.set(host, 'CNAME', [], 'two');
    const drifted = await tenant.becomes(host, {state: 'Degraded', DNSVerified: 'Drifted', Ready: 'Drifted'}, [
      'the host is still served',
    ]);
    expect(drifted.status?.conditions?.find(({type}) => type === 'Ready')?.status).toBe('True');
    expect(drifted.status?.dns?.required).toEqual(live.status?.dns?.required);
    await tenant.live(host);
    expect(tenant.disturbances(host, live)).toEqual([]);
  });

  test('a verify request is echoed; an absent annotation requests nothing and revokes nothing', async () => {
    const {tenant, host} = await newLiveTenant(world(), 'request');
    await tenant.verify(host, '1');
    await tenant.annotate(DOMAIN, host, {[ANNOTATION.verifyRequestedAt]: null});
    await tenant.verify(host, '2');
    const echoed = world()
      .history.versions(DOMAIN, `${tenant.namespace}/${host}`)
      .map(({object}) => object.status?.lastHandledVerifyRequest);
    expect([...new Set(echoed)]).toEqual([undefined, '1', '2']);
  });

  test('a Service or a port that is missing is named, and the route follows when it is there', async () => {
    const tenant = await newDomainTenant(world(), 'backend');
    const host = tenant.host('shop');
    const service = {name: 'web', port: 'api'};
    await tenant.deployedProject({primary: host});
    await tenant.live(host);
    const backend = () => tenant.backend(host);
    await tenant.project({primary: host}, 'shop', service);
    await tenant.becomes(host, {Routed: 'ServiceNotFound', Ready: 'ServiceNotFound'}, ['There is no Service web']);
    await tenant.projectBecomes('shop', {Ready: 'ServiceNotFound'});
    await tenant.deploy('web');
    await tenant.becomes(host, {Routed: 'PortNotFound'}, ['Service web has no port api; it has http (80)']);
    expect(backend(), 'the last good route stays').toMatchObject({
      selector: {app: 'shop'},
      ports: [{name: 'http', port: 80}],
    });
    const ports = [{name: 'api', port: 81}];
    await world().client.patch(SERVICE, {namespace: tenant.namespace, name: 'web'}, {spec: {ports}});
    await tenant.becomesLive(host);
    await tenant.until('the route has moved', () => backend()?.ports?.[0]?.name === 'api');
    expect(backend()).toMatchObject({selector: {app: 'web'}, ports: [{name: 'api', port: 81}]});
    await world().client.patch(SERVICE, {namespace: tenant.namespace, name: 'web'}, {spec: {selector: null}});
    const says = ['Service web has no selector', 'give the Service a selector'];
    await tenant.becomes(host, {Routed: 'ServiceUnsuitable', state: 'Degraded'}, says);
    expect(backend()).toMatchObject({selector: {app: 'web'}});
    const selector = {app: 'moved'};
    await world().client.patch(SERVICE, {namespace: tenant.namespace, name: 'web'}, {spec: {selector}});
    await tenant.becomesLive(host);
    expect(backend()).toMatchObject({selector});
    await tenant.projectBecomes('shop', {Ready: 'Published'});
  });

  test('foreign changes to, and deletions of, a route or certificate are reverted', async () => {
    const {tenant, host} = await newLiveTenant(world(), 'edited');
    const name = routeName(tenant.namespace, host);
    const key = {namespace: tenant.namespace, name};
    const before = {ingress: tenant.ingress(host)?.spec, certificate: tenant.certificate(host)?.spec};

    const {client} = world();
    await client.patch(INGRESS, key, {spec: {rules: [{host: 'evil.example.com'}]}});
    await tenant.seesOwnWrites();
    await tenant.until('the rule is back', () => tenant.ingress(host)?.spec.rules[0]?.host === host);
    await client.patch(INGRESS, key, {metadata: {annotations: {'traefik.ingress.kubernetes.io/router.tls': null}}});
    await tenant.seesOwnWrites();
    const tls = 'traefik.ingress.kubernetes.io/router.tls';
    await tenant.until('the annotation is back', () => tenant.ingress(host)?.metadata.annotations?.[tls]);
    await client.patch(CERTIFICATE, key, {spec: {secretName: 'elsewhere'}});
    await tenant.seesOwnWrites();
    await tenant.until('the Secret name is back', () => tenant.certificate(host)?.spec.secretName === name);
    await client.delete(INGRESS, key);
    await tenant.seesOwnWrites();
    await tenant.until('the Ingress is back', () => tenant.ingress(host));
    expect(tenant.ingress(host)?.spec).toEqual(before.ingress);
    expect(tenant.certificate(host)?.spec).toEqual(before.certificate);
    await tenant.becomesLive(host);
  });
}
