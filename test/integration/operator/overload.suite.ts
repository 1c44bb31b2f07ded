/**
 * Writes that the API server does not accept: a problem that concerns no object is not reported on any, and served
 * hosts stay Ready.
 */
import {afterAll, afterEach, beforeAll, expect, test} from 'vitest';
import {findCondition} from '../../../src/api/conditions.ts';
import {ANNOTATION, API_VERSION} from '../../../src/api/names.ts';
import {API_KEY} from '../../../src/apikey/apikey.ts';
import {hasPause} from '../../../src/operator/kinds/account.ts';
import * as kinds from '../../../src/operator/kinds/kinds.ts';
import {EVENT} from '../../../src/runtime/kube/events.ts';
import type {KubeObject} from '../../../src/runtime/kube/object.ts';
import {objectPath} from '../../../src/runtime/kube/paths.ts';
import {until} from '../../cluster/wait.ts';
import {type FaultProxy, type Seen, startFaultProxy} from '../runtime/fault-proxy.ts';
import {newDomainTenant} from './domain-tenant.ts';
import {isReady, partsOfLive, watchLosses} from './losses.ts';
import type {OperatorWorld} from './operator-world.ts';
import {answer, isReport, needsWrite, newest, STALE} from './overload.ts';
import {refusedOnceSuite} from './refused-once.suite.ts';

const isChange = (seen: Seen) => seen.method !== 'GET' && !isReport(seen);

export function overloadSuite(world: () => OperatorWorld): void {
  let proxy: FaultProxy;
  beforeAll(async () => {
    proxy = await startFaultProxy(world().api, {kubeconfig: world().kubeconfig});
  });
  afterEach(() => {
    proxy.intercept = () => undefined;
  });
  afterAll(() => proxy?.stop());

  /**
   * The overload lasts until each host has failed for longer than `reportFailuresAfterSeconds`, here 2 s. By default,
   * that is five minutes, so an overload of a minute ends earlier and can cause no more than this one.
   */
  test('429 for a while, when a new version changes every object of every host: no condition and no event says so', async () => {
    const {history, config, client} = world();
    await world().operator().stop();
    const since = newest(world());
    const losses = watchLosses(world());
    const paused = pausedNamespaces(world());
    const objects = [...partsOfLive(world())].flatMap(([kind, parts]) =>
      parts
        .filter(part => isWritten(part) && !paused.has(part.metadata.namespace))
        .map(({metadata: {namespace = '', name}}) => ({kind, key: {namespace, name}})),
    );
    const stale = {metadata: {annotations: {[ANNOTATION.appliedHash]: STALE}}};
    await Promise.all(objects.map(({kind, key}) => client.patch(kind, key, stale)));
    const hosts = objects.filter(({kind}) => kind === kinds.CERTIFICATE).length;
    expect(hosts).toBeGreaterThan(0);
    const refused = new Set<string>();
    let refusesAll = true;
    proxy.intercept = seen => {
      if (!isChange(seen) || (refused.has(seen.path) && !refusesAll)) return undefined;
      refused.add(seen.path);
      return answer(429, 'TooManyRequests');
    };
    const controller = {...(config.controller as object), reportFailuresAfterSeconds: 2};
    const operator = await world().startOperator('overloaded', {controller}, proxy.kubeconfig);
    const failing = () => operator.metric('controller_failing_keys', {controller: 'domain', kind: 'outage'});
    await until('each has failed for long', async () => (await failing()) >= hosts);
    // A host is refused its first objects only. From now on, each request is refused once.
    refusesAll = false;
    const isRewritten = ({kind, key: {namespace, name}}: (typeof objects)[number]) =>
      history.get(kind, `${namespace}/${name}`)?.metadata.annotations?.[ANNOTATION.appliedHash] !== STALE;
    await until('each object has changed', () => objects.every(isRewritten));
    expect(objects.map(({kind, key}) => objectPath(kind, key)).filter(path => !refused.has(path))).toEqual([]);
    expect(losses()).toEqual([]);
    const events = history.versions(EVENT).filter(({at, object}) => at > since && isFailure(object.reason));
    expect(events.map(({object}) => `${object.reason} ${object.regarding?.name}: ${object.note}`)).toEqual([]);
  });

  refusedOnceSuite(world, () => proxy);

  test('503 that lasts: reported once, where nothing is served yet, and in the metric', async () => {
    const {operator, history} = world();
    const tenant = await newDomainTenant(world(), 'outage');
    const [served, fresh] = [tenant.host('served'), tenant.host('fresh')];
    await tenant.deployedProject({primary: served, aliases: [fresh]});
    const before = await tenant.live(served);
    const failing = () => operator().metric('controller_failing_keys', {controller: 'domain', kind: 'outage'});
    await until('what failed in earlier tests is over', async () => !(await failing()));
    const {length: logged} = await operator().log();
    proxy.intercept = seen =>
      isChange(seen) && seen.path.includes(`/namespaces/${tenant.namespace}/ingresses`)
        ? answer(503, 'ServiceUnavailable')
        : undefined;
    await needsWrite(tenant, kinds.INGRESS, served);
    await tenant.createRecords(fresh);
    await tenant.becomes(
      fresh,
      {state: 'Verified', CertificateReady: 'Issued', Routed: 'Retrying', Ready: 'Retrying'},
      ['The API server has not accepted the route for several minutes', 'come back later'],
    );
    await until('both are counted', async () => (await failing()) === 2);
    expect(await operator().readiness()).toMatch(/domain [^,.]*2 \(outage\)/);
    proxy.intercept = () => undefined;
    await tenant.becomesLive(fresh);
    await until('neither is counted', async () => (await failing()) === 0);
    expect(await operator().readiness()).not.toMatch(/domain [^,.]*\(outage\)/);
    expect(tenant.ingress(served)?.metadata.annotations?.[ANNOTATION.appliedHash]).not.toBe(STALE);
    const later = history
      .versions(kinds.DOMAIN, `${tenant.namespace}/${served}`)
      .filter(({at}) => at > Number(before.metadata.resourceVersion));
    expect(later.filter(({object}) => !isReady(object))).toEqual([]);
    const events = history.versions(EVENT).filter(({key}) => key.startsWith(`${tenant.namespace}/`));
    const told = events.filter(({type, object}) => type === 'ADDED' && isFailure(object.reason));
    expect(told.map(({object}) => `${object.regarding?.name} ${object.reason}`)).toEqual([`${fresh} Retrying`]);
    const said = async () =>
      (await operator().log())
        .slice(logged)
        .filter(({kind, controller}) => kind === 'outage' && controller === 'domain')
        .map(({message}) => message)
        .filter(message => /^Reconciles /.test(`${message}`));
    await until('the log says that it is over', async () => (await said()).length > 1);
    expect(await said()).toEqual(['Reconciles keep failing; retrying.', 'Reconciles are no longer failing.']);
  });

  test('503 and 429 that last: a Project and a key that work stay Ready, and new ones report it', async () => {
    const {client, history} = world();
    const tenant = await newDomainTenant(world(), 'lasting');
    const {namespace} = tenant;
    await tenant.deployedProject(undefined, 'served');
    const {status} = await tenant.projectBecomes('served', {Ready: 'Published'});
    const keyReady = async (name: string) =>
      findCondition((await client.get(API_KEY, {namespace, name}))?.status?.conditions, 'Ready');
    const newKey = (name: string) =>
      client.apply(API_KEY, {
        apiVersion: API_VERSION,
        kind: 'APIKey',
        metadata: {namespace, name},
        spec: {scopes: ['messages:write']},
      });
    await newKey('working');
    await until('the key is issued', async () => (await keyReady('working'))?.reason === 'Issued');
    const since = newest(world());
    proxy.intercept = seen => {
      if (!isChange(seen)) return undefined;
      if (seen.path.includes(`/namespaces/${namespace}/ingresses`)) return answer(503, 'ServiceUnavailable');
      return seen.path.includes(`/namespaces/${namespace}/secrets`) ? answer(429, 'TooManyRequests') : undefined;
    };
    await needsWrite(tenant, kinds.INGRESS, status?.defaultHost ?? '');
    await tenant.deployedProject(undefined, 'fresh');
    await Promise.all([newKey('fresh'), tenant.projectBecomes('fresh', {Ready: 'Retrying'})]);
    await until('the new key says so', async () => (await keyReady('fresh'))?.reason === 'Retrying');
    proxy.intercept = () => undefined;
    await tenant.projectBecomes('fresh', {Ready: 'Published'});
    await until('the new key is issued', async () => (await keyReady('fresh'))?.reason === 'Issued');
    expect((await keyReady('working'))?.reason).toBe('Issued');
    const served = history.versions(kinds.PROJECT, `${namespace}/served`).filter(({at}) => at > since);
    expect(served.filter(({object}) => findCondition(object.status?.conditions, 'Ready')?.status !== 'True')).toEqual(
      [],
    );
  });
}

function isFailure(reason: string | undefined): boolean {
  return reason === 'Refused' || reason === 'Retrying';
}

/** Those in which a pause of an earlier test holds back writes, perhaps only of a part. */
function pausedNamespaces({history}: OperatorWorld): Set<string | undefined> {
  const namespaces = history.list(kinds.NAMESPACE).filter(hasPause);
  const parts = [...history.list(kinds.PROJECT), ...history.list(kinds.DOMAIN)].filter(hasPause);
  return new Set([...namespaces.map(({metadata}) => metadata.name), ...parts.map(({metadata}) => metadata.namespace)]);
}

/**
 * Whether the operator writes it. cert-manager writes the Secrets. Certificates of default hosts are left from tests
 * with another configuration; with this one, the edge's own certificate serves these hosts.
 */
function isWritten({kind, metadata}: KubeObject): boolean {
  const isLeft = kind === kinds.CERTIFICATE.kind && metadata.ownerReferences?.[0]?.kind === kinds.PROJECT.kind;
  return metadata.annotations?.[ANNOTATION.appliedHash] !== undefined && !isLeft;
}
