/** What all tenants share: hosts that nobody holds yet, and the verifier's time. */
import {expect} from 'vitest';
import {findCondition} from '../../../src/api/conditions.ts';
import {DOMAIN, DOMAIN_CLAIM, type Domain, SERVICE} from '../../../src/operator/kinds/kinds.ts';
import {until} from '../../cluster/wait.ts';
import {follow, listAll} from '../../support/kube.ts';
import {admin, cluster, newClusterTenant, visitor} from '../world.ts';
import {ingressesFor, make, newAttacker, type Victim} from './attackers.ts';

/** The limit of plan pro in test/support/values.yaml. */
const MAX_DOMAINS = 20;

/** Lists more hosts than the plan allows, all of them the victim's, before the victim does. */
export async function squat(victim: Victim): Promise<void> {
  const attacker = await newAttacker('attack-squat');
  const {self, tenant} = attacker;
  const attempts = tenant.recordAttempts();
  const {zone} = victim.tenant;
  const later = victim.tenant.host('later');
  // Of Domains created in the same second, the first by name counts as the oldest.
  const many = Array.from({length: MAX_DOMAINS}, (_, n) => victim.tenant.host(`z${n}`));
  const coveted = [later, victim.host, zone];
  await self.applyProject({aliases: coveted});
  for (const host of coveted) await self.sees(host, {Accepted: 'Accepted'});
  await self.applyProject({aliases: [...coveted, ...many]});
  await self.applyDomain(victim.tenant.host('zz-by-hand'));
  const reasonsOf = async (type: string) => {
    const domains: Domain[] = await listAll(admin, DOMAIN, {namespace: self.namespace});
    return domains.map(({status}) => findCondition(status?.conditions, type)?.reason ?? 'none yet').toSorted();
  };
  const over = many.length + 4 - MAX_DOMAINS;
  const areOver = async () => {
    const reasons = await reasonsOf('Accepted');
    const isTold = reasons.length === MAX_DOMAINS + over && !reasons.includes('none yet');
    return isTold && reasons.filter(reason => reason === 'PlanLimitReached').length === over;
  };
  await until(`all but ${MAX_DOMAINS} are over the limit`, areOver);
  await self.sees(later, {state: 'Unverified', DNSVerified: 'RecordMissing', Claimed: 'Waiting'});
  await self.sees(victim.host, {state: 'Unverified', DNSVerified: 'RecordMismatch', Claimed: 'HeldByAnotherAccount'});
  await self.sees(zone, {state: 'Unverified', DNSVerified: 'RecordMissing', Claimed: 'Waiting'});
  const claims = await listAll(admin, DOMAIN_CLAIM);
  expect(claims.filter(({spec}) => spec.namespace === self.namespace)).toEqual([]);

  await victim.tenant.goLive({primary: victim.host, aliases: [later]}, {service: victim.service});
  await visitor.untilAnswer(`https://${later}/`, ({body}) => body.includes(`text=${victim.service}`));
  expect(attempts.names()).toEqual({certificates: [], requests: [], orders: []});
  for (const host of coveted) expect(await ingressesFor(host, self.namespace)).toEqual([]);
  await attempts.stop();
}

/** A Service has at most 100 ports here, so the last ports are taken one by one. */
export async function takeNodePorts(): Promise<void> {
  const attacker = await newAttacker('attack-ports');
  const {self, client} = attacker;
  const taken: string[] = [];
  const take = async (count: number): Promise<void> => {
    const ports = Array.from({length: count}, (_, n) => ({name: `p${n}`, port: 1000 + n}));
    const name = `ports-${taken.length}`;
    await make(attacker, SERVICE, name, {spec: {type: 'NodePort', ports}});
    taken.push(name);
  };
  const takeAll = async (count: number): Promise<string> => {
    for (;;) {
      const refusal = await take(count).then(() => undefined, String);
      if (refusal !== undefined) return refusal;
    }
  };
  await takeAll(100);
  expect(await takeAll(1)).toContain('range is full');
  const other = await newClusterTenant('ports');
  const host = other.host('shop');
  await other.goLive({primary: host});
  for (const name of taken) await client.delete(SERVICE, {namespace: self.namespace, name});
}

/** Name servers at the cluster's own addresses, in every notation, and a record that keeps changing. */
export async function misleadVerifier(): Promise<void> {
  const attacker = await newAttacker('attack-dns');
  const {self} = attacker;
  const {zones} = cluster;
  const inCluster = (namespace: string, service: string) =>
    cluster.kubectl('-n', namespace, 'get', 'service', service, '-o', 'jsonpath={.spec.clusterIP}');
  const addresses = {
    dns: await inCluster('kube-system', 'kube-dns'),
    api: await inCluster('default', 'kubernetes'),
    metadata: '169.254.169.254',
    loop: '127.0.0.1',
    mapped: '::ffff:127.0.0.1',
    nat64: '64:ff9b::7f00:1',
  };
  for (const [label, address] of Object.entries(addresses)) {
    const zone = self.host(label);
    await zones.set(`ns.${zone}`, address.includes(':') ? 'AAAA' : 'A', address);
    await zones.set(zone, 'NS', `ns.${zone}`);
  }
  const hosts = Object.keys(addresses).map(label => `www.${self.host(label)}`);
  const turning = self.host('turning');
  await self.applyProject({primary: turning, aliases: hosts});
  const {reported, stop} = watchEvidence(self.namespace, turning);
  for (const host of hosts) {
    const says = 'not a public address';
    const {status} = await self.sees(host, {state: 'Unverified', DNSVerified: 'DelegationBroken', says});
    expect(status?.dns?.observed ?? [], host).toEqual([]);
  }
  // Each change is reported eventually, and none less than half a minute after the previous one.
  const told = (turn: number) => () => reported.find(({observed}) => observed.includes(`turn-${turn}.`));
  for (const turn of [0, 1, 2]) {
    await zones.set(turning, 'CNAME', `turn-${turn}.evil.test`);
    await until(`turn ${turn} is reported`, told(turn));
  }
  await stop();
  const pauses = reported.slice(1).flatMap(({reason, at}, index) => {
    const before = reported[index];
    return before && before.reason === reason ? [at - before.at] : []; // a change of the reason is reported immediately
  });
  expect(pauses.length).toBeGreaterThan(0);
  expect(Math.min(...pauses)).toBeGreaterThan(28_000); // The times are in whole seconds.
}

/** When the status was last written. */
function storedAt(metadata: object): number {
  const {managedFields = []} = metadata as {managedFields?: {subresource?: string; time?: string}[]};
  const times = managedFields.flatMap(({subresource, time = ''}) => (subresource === 'status' ? Date.parse(time) : []));
  return Math.max(...times);
}

interface Evidence {
  readonly observed: string;
  readonly reason: string | undefined;
  /** When the API server stored it, in milliseconds. */
  readonly at: number;
}

/** Records what the Domain's status shows as observed, whenever it changes. */
function watchEvidence(namespace: string, host: string): {reported: readonly Evidence[]; stop(): Promise<void>} {
  const reported: Evidence[] = [];
  const stop = follow(admin, DOMAIN, {namespace}, ({metadata, status}) => {
    const observed = JSON.stringify(status?.dns?.observed);
    if (metadata.name !== host || observed === undefined || observed === reported.at(-1)?.observed) return;
    const {reason} = findCondition(status?.conditions, 'DNSVerified') ?? {};
    reported.push({observed, reason, at: storedAt(metadata)});
  });
  return {reported, stop};
}
