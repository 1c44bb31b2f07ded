/** The leader is killed at every step of an order, at a CA that truly validates the hosts. On either edge. */
import {readFile} from 'node:fs/promises';
import {expect, it} from 'vitest';
import {ACME_ISSUER} from '../../src/operator/kinds/kinds.ts';
import {until} from '../cluster/wait.ts';
import {type CaResource, startCaProxy} from '../support/ca-proxy.ts';
import {leaderPod, RELEASE} from '../support/install.ts';
import {applyPlatformIssuer, ISSUER_NAME} from '../support/issuers.ts';
import {kill} from '../support/pods.ts';
import {POD} from '../support/workload.ts';
import {ownAddress} from './hostile/listen.ts';
import {admin, cluster, newClusterTenant, visitor} from './world.ts';

/** Of the CA. Its answer to each is lost with the process that asked. */
const STEPS: readonly CaResource[] = ['newOrder', 'authorization', 'order', 'challenge', 'finalize', 'certificate'];

/** Nobody waits for the Lease of the dead. */
async function killLeader(): Promise<void> {
  const {namespace, name} = RELEASE;
  const pod = await admin.get(POD, {namespace, name: await leaderPod(cluster)});
  if (!pod) throw new Error('nobody leads');
  await kill(admin, pod);
  await cluster.kubectl('-n', namespace, 'delete', 'lease', name);
}

const serverOf = async () => (await admin.get(ACME_ISSUER, {name: ISSUER_NAME}))?.spec.server ?? '';

async function accountExistsAt(server: string): Promise<void> {
  const exists = async () => (await admin.get(ACME_ISSUER, {name: ISSUER_NAME}))?.status?.accountServer === server;
  await until(`the platform has an account at ${server}`, exists);
}

export function leadersThatDie(): void {
  it('a leader that is killed at every step of an order leaves one, which the next one continues', async () => {
    const directory = await serverOf();
    const trust = await readFile(cluster.info.roots, 'utf8');
    const proxy = await startCaProxy({directory, trust}, {reuseOrders: true}, ownAddress());
    const created: string[] = [];
    proxy.switches.rewrite = ({resource, payload}, reply) => {
      const {identifiers = []} = payload as {readonly identifiers?: readonly {readonly value: string}[]};
      if (resource === 'newOrder' && reply.status === 201) created.push(...identifiers.map(({value}) => value));
      return reply;
    };
    try {
      const caBundle = Buffer.from(proxy.trust).toString('base64');
      await admin.patch(ACME_ISSUER, {name: ISSUER_NAME}, {spec: {server: proxy.directory, caBundle}});
      await accountExistsAt(proxy.directory);
      const tenant = await newClusterTenant('mortal');
      const hosts = [tenant.host('shop'), tenant.host('old')] as const;
      const [primary, from] = hosts;
      await tenant.applyProject({primary, redirects: [{from}]});
      const attempts = tenant.recordAttempts();
      const left = new Set(STEPS);
      const died: CaResource[] = [];
      let dying: Promise<void> | undefined;
      proxy.switches.fault = ({resource}) => {
        if (!dying && !left.delete(resource)) return undefined;
        dying ??= killLeader().then(() => {
          died.push(resource);
          dying = undefined;
        });
        return {kind: 'held', until: dying}; // all answers are lost with the process
      };
      for (const host of hosts) await tenant.createRecords(host);
      for (const host of hosts) {
        await tenant.sees(host, {state: 'Live'});
        await visitor.untilServed(host);
        const claim = await tenant.claim(host);
        expect(claim?.spec.orders, host).toHaveLength(1);
        expect(claim?.spec.failures ?? [], host).toEqual([]);
      }
      expect(died.toSorted()).toEqual(STEPS.toSorted());
      expect(created.toSorted()).toEqual(hosts.toSorted());
      expect(attempts.names()).toMatchObject({certificates: {length: 2}, orders: []});
      await attempts.stop();
    } finally {
      await applyPlatformIssuer(admin, cluster.info);
      await accountExistsAt(directory);
      await proxy.stop();
    }
  });
}
