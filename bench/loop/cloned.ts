/** Thousands of live domains within seconds: copies of a few tenants, written to etcd while no API server runs. */
import {DOMAIN_CLAIM} from '../../src/operator/kinds/kinds.ts';
import {collectionPath} from '../../src/runtime/kube/paths.ts';
import {until} from '../../test/cluster/wait.ts';
import type {OperatorWorld} from '../../test/integration/operator/operator-world.ts';
import {CopiedTenant, KINDS} from './copies.ts';
import {putAll, type Stored} from './etcd.ts';
import {HOSTS, namesOf, ZONE} from './live.ts';

/** How many domains exist before the copies are added. */
export const MADE = 5 * HOSTS;
const PATIENCE = {timeoutMs: 900_000, intervalMs: 200};

/**
 * The operator, cert-manager, and the history must not run meanwhile. No controller of Kubernetes runs until the
 * function that is returned is called. `slim`: without managedFields, which the operator does not read.
 */
export async function addCopies(world: OperatorWorld, domains: number, {slim = false} = {}): Promise<() => void> {
  const {api, client, dns} = world;
  const names = await namesOf(world);
  const tenants: CopiedTenant[] = [];
  for (let index = 0; index < MADE / HOSTS; index++) {
    tenants.push(await CopiedTenant.read(client, names, `tenant-${index}`, {slim}));
  }
  const resumeControllers = api.pauseControllers(); // they would work for minutes on what is not measured
  await api.crash();
  const startedAt = performance.now();
  const targets = new Map<string, string>();
  const written = await putAll(api.etcdUrl, copies(tenants, domains, targets));
  const seconds = (since: number) => ((performance.now() - since) / 1000).toFixed(0);
  console.log(`${written} objects of ${targets.size} tenants written to etcd in ${seconds(startedAt)} s`);
  const records = [...targets].map(([namespace, target]) => [`*.${namespace}.${ZONE}`, target] as const);
  await dns.add(ZONE, 'CNAME', records);
  const resumedAt = performance.now();
  await api.resume(PATIENCE.timeoutMs);
  for (const resource of [...KINDS, DOMAIN_CLAIM]) {
    const watch = `${collectionPath(resource)}?watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan&timeoutSeconds=1`;
    const isCached = () => api.kubectl('get', '--raw', watch).then(() => true);
    await until(`the API server has cached the ${resource.plural}`, isCached, PATIENCE);
  }
  console.log(`the API server is ready again, and has cached everything, after ${seconds(resumedAt)} s`);
  return resumeControllers;
}

/** Copies the same tenants repeatedly, until there are enough domains. */
function* copies(tenants: readonly CopiedTenant[], wanted: number, targets: Map<string, string>): Generator<Stored> {
  for (let round = 0, domains = MADE; domains < wanted; round++) {
    for (const tenant of tenants) {
      if (domains >= wanted) return;
      const {namespace, target, objects} = tenant.copy(round);
      targets.set(namespace, target);
      yield* objects;
      domains += tenant.hosts;
    }
  }
}
