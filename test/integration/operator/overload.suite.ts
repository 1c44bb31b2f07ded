/**
 * Writes that the API server does not accept: a problem that concerns no object is not reported on any, and served
 * hosts stay Ready.
 */
import {afterAll, afterEach, beforeAll, expect, test} from 'vitest';
import {findCondition} from '../../../src/api/conditions.ts';
import {ANNOTATION, API_VERSION} from '../../../src/api/names.ts';
import {API_KEY} from '../../../src/keys/apikey.ts';
import {routeName} from '../../../src/operator/model/derived-names.ts';
import * as kinds from '../../../src/operator/model/kinds.ts';
import {EVENT} from '../../../src/runtime/kube/events.ts';
import {keyOf} from '../../../src/runtime/kube/object.ts';
import {until} from '../../cluster/wait.ts';
import {type FaultProxy, type Seen, startFaultProxy} from '../runtime/fault-proxy.ts';
import {newDomainTenant} from './domain-tenant.ts';
import type {OperatorWorld} from './operator-world.ts';
import {answer, isReport, needsWrite, newest, STALE} from './overload.ts';
import {refusedOnceSuite} from './refused-once.suite.ts';

const PATIENCE = {timeoutMs: 60_000};
/** A name that no other test uses for the entry point of port 80. */
const ENTRY_POINT = 'plain';

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

  test('429 for a while, when a new version changes the route of every host: no condition and no event says so', async () => {
    const {history, config} = world();
    await world().operator().stop();
    const since = newest(world());
    const ready = history.list(kinds.DOMAIN).filter(isReady);
    const routes = ready.map(({metadata: {name, namespace = ''}}) => ({namespace, name: routeName(namespace, name)}));
    const refused = new Map<string, number>();
    proxy.intercept = seen => {
      if (!isChange(seen)) return undefined;
      refused.set(seen.path, (refused.get(seen.path) ?? 0) + 1);
      return answer(429, 'TooManyRequests');
    };
    const routing = {...(config.routing as object), traefik: {httpEntryPoint: ENTRY_POINT}};
    const controller = {...(config.controller as object), reportFailuresAfterSeconds: 2};
    await world().startOperator('overloaded', {routing, controller}, proxy.kubeconfig);
    const attempts = ({namespace, name}: Named) =>
      refused.get(`/apis/networking.k8s.io/v1/namespaces/${namespace}/ingresses/${name}-http`) ?? 0;
    await until('each was refused twice', () => routes.every(route => attempts(route) >= 2), PATIENCE);
    proxy.intercept = () => undefined;
    const routeOf = ({namespace, name}: Named) => history.get(kinds.INGRESS, `${namespace}/${name}-http`);
    await until('each has changed', () => routes.every(route => isChanged(routeOf(route))), PATIENCE);
    expect(routes.length).toBeGreaterThan(0);
    const keys = new Set(ready.map(keyOf));
    const later = history.versions(kinds.DOMAIN).filter(({at, key}) => at > since && keys.has(key));
    expect(later.filter(({object}) => !isReady(object)).map(({key}) => key)).toEqual([]);
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
    await until('what failed in earlier tests is over', async () => !(await failing()), PATIENCE);
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
    await until('both are counted', async () => (await failing()) === 2, PATIENCE);
    proxy.intercept = () => undefined;
    await tenant.becomesLive(fresh);
    await until('neither is counted', async () => (await failing()) === 0, PATIENCE);
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
    await until('the log says that it is over', async () => (await said()).length > 1, PATIENCE);
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
    await until('the key is issued', async () => (await keyReady('working'))?.reason === 'Issued', PATIENCE);
    const since = newest(world());
    proxy.intercept = seen => {
      if (!isChange(seen)) return undefined;
      if (seen.path.includes(`/namespaces/${namespace}/ingresses`)) return answer(503, 'ServiceUnavailable');
      return seen.path.includes(`/namespaces/${namespace}/secrets`) ? answer(429, 'TooManyRequests') : undefined;
    };
    await needsWrite(tenant, kinds.INGRESS, status?.defaultHost ?? '');
    await tenant.deployedProject(undefined, 'fresh');
    await Promise.all([newKey('fresh'), tenant.projectBecomes('fresh', {Ready: 'Retrying'})]);
    await until('the new key says so', async () => (await keyReady('fresh'))?.reason === 'Retrying', PATIENCE);
    proxy.intercept = () => undefined;
    await tenant.projectBecomes('fresh', {Ready: 'Published'});
    await until('the new key is issued', async () => (await keyReady('fresh'))?.reason === 'Issued', PATIENCE);
    expect((await keyReady('working'))?.reason).toBe('Issued');
    const served = history.versions(kinds.PROJECT, `${namespace}/served`).filter(({at}) => at > since);
    expect(served.filter(({object}) => findCondition(object.status?.conditions, 'Ready')?.status !== 'True')).toEqual(
      [],
    );
  });
}

interface Named {
  readonly namespace: string;
  readonly name: string;
}

function isReady({status}: kinds.Domain): boolean {
  return findCondition(status?.conditions, 'Ready')?.status === 'True';
}

function isFailure(reason: string | undefined): boolean {
  return reason === 'Refused' || reason === 'Retrying';
}

function isChanged(ingress: kinds.Ingress | undefined): boolean {
  return ingress?.metadata.annotations?.['traefik.ingress.kubernetes.io/router.entrypoints'] === ENTRY_POINT;
}
