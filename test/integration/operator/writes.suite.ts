/** What others add to our objects survives our changes. */
import {expect, test} from 'vitest';
import {findCondition} from '../../../src/api/conditions.ts';
import {ANNOTATION, API_VERSION, LABEL} from '../../../src/api/names.ts';
import {API_KEY, type APIKey, KEY_CLAIM} from '../../../src/apikey/apikey.ts';
import type {DomainConditionType} from '../../../src/operator/domain/reasons.ts';
import {MIDDLEWARE} from '../../../src/operator/edge/traefik.ts';
import {routeName} from '../../../src/operator/kinds/derived-names.ts';
import * as kinds from '../../../src/operator/kinds/kinds.ts';
import {EVENT} from '../../../src/runtime/kube/events.ts';
import {LEASE} from '../../../src/runtime/kube/leader-election.ts';
import type {KubeObject, ResourceType} from '../../../src/runtime/kube/object.ts';
import {until} from '../../cluster/wait.ts';
import {PORT} from '../../support/objects.ts';
import {type DomainTenant, newDomainTenant, newLiveTenant} from './domain-tenant.ts';
import type {OperatorWorld} from './operator-world.ts';
import {revertedEdit, THEIRS} from './theirs.ts';

interface Ours {
  readonly kind: ResourceType<KubeObject>;
  /** Only a redirect has it. */
  readonly ofRedirect?: true;
  /** Somebody else's change, which the operator reverts. */
  readonly edit: Record<string, unknown>;
  nameOf(tenant: DomainTenant, host: string): string;
}

const ingressEdit = {spec: {rules: [{host: 'theirs.example.com'}]}};
const OURS: Ours[] = [
  {
    kind: kinds.SERVICE,
    edit: {spec: {selector: {app: 'theirs', more: 'too'}}},
    nameOf: (tenant, host) => tenant.ingress(host)?.spec.rules[0]?.http?.paths[0]?.backend.service.name ?? 'no backend',
  },
  {kind: MIDDLEWARE, ofRedirect: true, edit: {spec: {redirectRegex: {permanent: false}}}, nameOf: named('-https')},
  {kind: kinds.INGRESS, edit: ingressEdit, nameOf: named('')},
  {kind: kinds.INGRESS, ofRedirect: true, edit: ingressEdit, nameOf: named('-http')},
  {kind: kinds.CERTIFICATE, edit: {spec: {privateKey: {size: 384}}}, nameOf: named('')},
];

function named(suffix: string): Ours['nameOf'] {
  return ({namespace}, host) => `${routeName(namespace, host)}${suffix}`;
}

const ENTRY_POINT = 'traefik.ingress.kubernetes.io/router.entrypoints';

export function writesSuite(world: () => OperatorWorld): void {
  /** A live host and one that redirects to it. */
  async function withRedirect(name: string) {
    const tenant = await newDomainTenant(world(), name);
    const [host, redirect] = [tenant.host('shop'), tenant.host('old')];
    await tenant.deployedProject({primary: host, redirects: [{from: redirect}]});
    await Promise.all([host, redirect].map(each => tenant.live(each)));
    return {tenant, host, redirect};
  }

  test('what others add to our objects survives our changes', async () => {
    const {tenant, host, redirect} = await withRedirect('writes');
    for (const {kind, ofRedirect, nameOf, edit} of OURS) {
      const key = {namespace: tenant.namespace, name: nameOf(tenant, ofRedirect ? redirect : host)};
      expect((await revertedEdit(tenant, kind, key, edit)).metadata, `${kind.kind} ${key.name}`).toMatchObject(THEIRS);
    }
  });

  test('all hosts of a project, its default host included, have one Service', async () => {
    const tenant = await newDomainTenant(world(), 'writes-shared');
    const hosts = ['shop', 'www'].map(label => tenant.host(label));
    await tenant.deployedProject({aliases: hosts});
    await Promise.all(hosts.map(host => tenant.live(host)));
    await tenant.projectBecomes('shop', {Ready: 'Published'});
    const services = world().history.list(kinds.SERVICE, tenant.namespace);
    const ours = services.filter(({metadata: {labels}}) => labels?.[LABEL.managedBy] === 'nameplate');
    expect(ours).toHaveLength(1);
  });

  test('the Service of a former port is deleted a minute after the last route has moved, and no moment has no backend', async () => {
    const {tenant, host} = await newLiveTenant(world(), 'writes-port');
    const {namespace} = tenant;
    const backendOf = (name: string) =>
      tenant.get(kinds.INGRESS, name)?.spec.rules[0]?.http?.paths[0]?.backend.service.name ?? '';
    const former = backendOf(routeName(namespace, host));
    const key = {namespace, name: 'shop'};
    await world().client.patch(kinds.SERVICE, key, {spec: {ports: [{name: PORT.name, port: 8080}]}});
    await tenant.until('the route has moved', () => backendOf(routeName(namespace, host)) !== former);
    await until('the former Service is gone', () => !tenant.get(kinds.SERVICE, former));
    const moves = world().history.versions(kinds.INGRESS, `${namespace}/${routeName(namespace, host)}`);
    const services = world()
      .history.versions(kinds.SERVICE)
      .filter(({key: name}) => name.startsWith(`${namespace}/`));
    for (const {at, object} of moves) {
      const name = object.spec.rules[0]?.http?.paths[0]?.backend.service.name;
      const before = services.findLast(version => version.at < at && version.object.metadata.name === name);
      expect(before?.type, `${name} at ${at}`).not.toBe('DELETED');
      expect(before, `${name} at ${at}`).toBeDefined();
    }
  });

  test('what others add to a Domain, a claim, and a record of hosts survives our changes', async () => {
    const {client} = world();
    const tenant = await newDomainTenant(world(), 'writes-records');
    const [host, target] = [tenant.host('shop'), tenant.host('www')];
    await tenant.deployedProject({primary: target, aliases: [host]});
    await Promise.all([tenant.live(host), tenant.live(target)]);
    const {namespace} = tenant;
    const domain = {namespace, name: host};
    await client.patch(kinds.DOMAIN, domain, {metadata: THEIRS});
    await client.patch(kinds.DOMAIN_CLAIM, {name: host}, {metadata: THEIRS});
    await tenant.project({primary: target, redirects: [{from: host}]});
    await tenant.until('it redirects', () => tenant.domain(host)?.spec.redirect);
    expect(tenant.domain(host)?.metadata).toMatchObject(THEIRS);
    await tenant.becomes(host, {Routed: 'Redirecting'});
    expect(tenant.domain(host)?.metadata).toMatchObject(THEIRS);
    await client.patch(kinds.DOMAIN, domain, {metadata: {finalizers: null}});
    await tenant.project({primary: target});
    const claim = await tenant.until('the claim is released', () => {
      const found = tenant.claim(host);
      return found?.spec.releasedAt ? found : undefined;
    });
    expect(claim.metadata).toMatchObject(THEIRS);
    await client.patch(kinds.DOMAIN_CLAIM, {name: host}, {metadata: {finalizers: null}});
  });

  test('what others add to a kept Secret and to the record of a key survives our changes', async () => {
    const {client, history} = world();
    const {tenant, host} = await newLiveTenant(world(), 'writes-kept');
    const {namespace} = tenant;
    const name = routeName(namespace, host);
    await client.patch(kinds.SECRET, {namespace, name}, {metadata: THEIRS});
    const key = {namespace, name: 'shop'};
    const apiKey: APIKey = {apiVersion: API_VERSION, kind: 'APIKey', metadata: key, spec: {scopes: ['messages:write']}};
    await client.apply(API_KEY, apiKey);
    const found = await until('the key is recorded', async () => {
      const {status} = (await client.get(API_KEY, key)) ?? {};
      return status?.sha256 === undefined ? undefined : await client.get(KEY_CLAIM, {name: status.sha256});
    });
    const record = {name: found?.metadata.name ?? ''};
    await client.patch(KEY_CLAIM, record, {metadata: THEIRS});

    await client.delete(API_KEY, key);
    await tenant.project();
    const secret = () => history.get(kinds.SECRET, `${namespace}/${name}`);
    await tenant.until('the Secret is kept', () => secret()?.metadata.annotations?.[ANNOTATION.retainedSince]);
    expect(secret()?.metadata).toMatchObject(THEIRS);
    const released = await until('the record is released', async () => {
      const now = await client.get(KEY_CLAIM, record);
      return now?.spec.releasedAt === undefined ? undefined : now;
    });
    expect(released?.metadata).toMatchObject(THEIRS);
    await client.patch(kinds.SECRET, {namespace, name}, {metadata: {finalizers: null}});
    await client.patch(KEY_CLAIM, record, {metadata: {finalizers: null}});
  });

  test('what others add to a Project, an APIKey, and the Lease survives our changes', async () => {
    const {client, config} = world();
    const tenant = await newDomainTenant(world(), 'writes-inputs');
    const key = {namespace: tenant.namespace, name: 'shop'};
    await tenant.project();
    await tenant.projectBecomes('shop', {Ready: 'ServiceNotFound'});
    await client.patch(kinds.PROJECT, key, {metadata: THEIRS});
    const metadata = {...THEIRS, ...key};
    await client.apply(API_KEY, {
      apiVersion: API_VERSION,
      kind: 'APIKey',
      metadata,
      spec: {scopes: ['messages:write']},
    });
    await tenant.deploy();
    const project = await tenant.projectBecomes('shop', {Ready: 'Published', Deployed: 'Deployed'});
    expect(project.metadata).toMatchObject(THEIRS);
    expect(project.metadata.annotations?.[ANNOTATION.firstDeployedAt]).toBeDefined();
    const apiKey = await until('the key is issued', async () => {
      const found = await client.get(API_KEY, key);
      return found?.status?.sha256 === undefined ? undefined : found;
    });
    expect(apiKey?.metadata).toMatchObject(THEIRS);
    await client.patch(kinds.PROJECT, key, {metadata: {finalizers: null}});
    await client.patch(API_KEY, key, {metadata: {finalizers: null}});

    const {leaseName: name, namespace} = (config.controller as {leaderElection: Record<string, string>}).leaderElection;
    const leaseKey = {namespace: namespace ?? '', name: name ?? ''};
    const before = await client.patch(LEASE, leaseKey, {metadata: THEIRS});
    const renewed = await until('the Lease is renewed', async () => {
      const found = await client.get(LEASE, leaseKey);
      return found?.spec?.renewTime === before.spec?.renewTime ? undefined : found;
    });
    expect(renewed?.metadata).toMatchObject(THEIRS);
    await client.patch(LEASE, leaseKey, {metadata: {finalizers: null}});
  });

  /** Changes an object each time Nameplate has corrected it, until `isTold`. */
  async function fight(
    tenant: DomainTenant,
    isTheirs: () => boolean,
    change: () => Promise<unknown>,
    isTold: () => unknown,
  ) {
    let fights = true;
    const fighting = (async () => {
      while (fights) {
        await until('Nameplate has corrected it', () => !fights || !isTheirs(), {intervalMs: 20});
        if (fights) await change();
        await tenant.seesOwnWrites();
      }
    })();
    try {
      await tenant.until('Nameplate says so', isTold);
    } finally {
      fights = false;
      await fighting;
    }
    await tenant.until('once that program stops, the object is as it should be', () => !isTheirs());
  }

  test('a route that another program keeps changing is corrected less and less often, and the Domain says so', async () => {
    const {tenant, host} = await newLiveTenant(world(), 'contested');
    const isTheirs = () => tenant.ingress(host)?.metadata.annotations?.[ENTRY_POINT] === 'theirs';
    const {name = ''} = tenant.ingress(host)?.metadata ?? {};
    const change = () => tenant.annotate(kinds.INGRESS, name, {[ENTRY_POINT]: 'theirs'});
    await fight(tenant, isTheirs, change, () => isSaid(tenant, host, 'Routed', `deleting Ingress ${name}`));
    await tenant.becomesLive(host);
  });

  test('so is a Certificate', async () => {
    const {tenant, host} = await newLiveTenant(world(), 'contested-certificate');
    const {namespace} = tenant;
    const key = {namespace, name: routeName(namespace, host)};
    const theirs = {[LABEL.host]: 'theirs'};
    const isTheirs = () => tenant.certificate(host)?.metadata.labels?.[LABEL.host] === 'theirs';
    const change = () => world().client.patch(kinds.CERTIFICATE, key, {metadata: {labels: theirs}});
    await fight(tenant, isTheirs, change, () =>
      isSaid(tenant, host, 'CertificateReady', `deleting Certificate ${key.name}`),
    );
    await tenant.becomesLive(host);
  });

  test('so is a Domain that Projects manage', async () => {
    const {tenant, host} = await newLiveTenant(world(), 'contested-domain');
    const isTheirs = () => tenant.domain(host)?.spec.redirect !== undefined;
    const redirect = {to: tenant.host('theirs')};
    const change = () =>
      world().client.patch(kinds.DOMAIN, {namespace: tenant.namespace, name: host}, {spec: {redirect}});
    const events = () =>
      world()
        .history.list(EVENT)
        .filter(({regarding}) => regarding?.namespace === tenant.namespace);
    await fight(tenant, isTheirs, change, () => events().some(({reason}) => reason === 'Contested'));
    await tenant.becomesLive(host);
  });
}

function isSaid(tenant: DomainTenant, host: string, type: DomainConditionType, text: string): boolean {
  return findCondition(tenant.domain(host)?.status?.conditions, type)?.message.includes(text) ?? false;
}
