/** Only a host's DNS decides who holds it, no matter what tenants did before or left behind. */
import {expect, it} from 'vitest';
import {LABEL} from '../../../src/api/names.ts';
import {hostLabel} from '../../../src/operator/kinds/derived-names.ts';
import {INGRESS, NAMESPACE} from '../../../src/operator/kinds/kinds.ts';
import {until} from '../../cluster/wait.ts';
import {follow} from '../../support/kube.ts';
import {admin, cluster, visitor} from '../world.ts';
import {type Attacker, attackerIn, newAttacker, newNamespace} from './attackers.ts';

const {zones} = cluster;

export function moving(): void {
  // attack: disputed-host
  // promise: dns-owner
  it('a host goes back and forth with its CNAME, stays while servers disagree, and is never at both', async () => {
    const [one, two] = await rivals('cname');
    const host = one.self.host('shop');
    const publishedAtOnce = watchPublished(host);
    await one.self.goLive({primary: host}, {service: one.self.namespace});
    await two.self.applyProject({primary: host}, {service: two.self.namespace});
    const targets = [await recordValue('CNAME', one, host), await recordValue('CNAME', two, host)] as const;
    for (const [index, from, to] of [
      [1, one, two],
      [0, two, one],
      [1, one, two],
    ] as const) {
      await zones.set(host, 'CNAME', targets[index]);
      await isAt(host, to, from);
    }
    await zones.set(host, 'CNAME', targets[0], {server: 'ns1'});
    await one.self.sees(host, {state: 'Unverified', DNSVerified: 'Propagating'});
    await isAt(host, two, one);
    await zones.set(host, 'CNAME', targets[0]);
    await isAt(host, one, two);
    expect(await publishedAtOnce()).toEqual([]);
  });

  // attack: disputed-host
  // promise: uncertainty
  it('an apex moves to the only token; with two tokens, or while servers disagree, it stays', async () => {
    const [one, two] = await rivals('txt');
    const host = one.self.zone;
    const proof = `_nameplate.${host}`;
    const publishedAtOnce = watchPublished(host);
    await one.self.goLive({primary: host}, {service: one.self.namespace});
    await two.self.applyProject({primary: host}, {service: two.self.namespace});
    const [first, second] = [await recordValue('TXT', one, host), await recordValue('TXT', two, host)];
    const isHeldAgainst = (tenant: Attacker, stale: string) =>
      tenant.self.sees(host, {Claimed: 'HeldByAnotherAccount', says: `delete the TXT record "${stale}"`});

    await zones.set(proof, 'TXT', [first, second]);
    await isHeldAgainst(two, first);
    await isAt(host, one, two);
    await zones.set(proof, 'TXT', second);
    await isAt(host, two, one);
    await zones.set(proof, 'TXT', [first, second]); // a token that was left over or has come back
    await isHeldAgainst(one, second);
    await isAt(host, two, one);
    await zones.set(proof, 'TXT', first, {server: 'ns1'});
    await zones.set(proof, 'TXT', second, {server: 'ns2'});
    await one.self.sees(host, {state: 'Unverified', DNSVerified: 'Propagating'});
    await isAt(host, two, one);
    await zones.set(proof, 'TXT', first);
    await isAt(host, one, two);
    expect(await publishedAtOnce()).toEqual([]);
  });

  // attack: leftover-record, squatting, recreated-namespace
  // promise: dns-owner
  it("a former tenant's DNS records are worthless to others, but work for its account in a new namespace", async () => {
    const account = `account-${Date.now()}`;
    const [gone, squatter] = await Promise.all([newAttacker('gone', {account}), newAttacker('squatter')]);
    const host = gone.self.host('shop');
    await squatter.self.applyProject({primary: host});
    await squatter.self.sees(host, {state: 'Unverified', DNSVerified: 'RecordMissing'});
    expect(await gone.tenant.claim(host)).toBeUndefined(); // being first without a proof is not enough
    await gone.self.goLive({primary: host});

    await deleteNamespace(gone.self.namespace);
    await visitor.untilGone(host);
    await newNamespace(gone.self.namespace); // another tenant's: without the account
    const again = await attackerIn(gone.self.namespace);
    await again.self.deploy('web');
    await again.self.applyProject({primary: host});
    for (const stranger of [again, squatter]) {
      await stranger.self.sees(host, {state: 'Unverified', DNSVerified: 'RecordMismatch'});
      expect(await stranger.self.routes(host)).toEqual([]);
      expect(await stranger.self.certificate(host)).toBeUndefined();
    }
    const left = await gone.tenant.claim(host);
    expect(left && !left.spec.releasedAt, 'the claim still blocks').toBeFalsy();

    const heir = await newAttacker('heir', {account});
    await heir.self.applyProject({primary: host});
    await heir.self.sees(host, {state: 'Live'});
    await visitor.untilAnswer(`https://${host}/`, ({status}) => status === 200);
  });
}

/** Two tenants, each with pods that answer with the name of its namespace. */
async function rivals(name: string): Promise<[Attacker, Attacker]> {
  const rival = async (suffix: string) => {
    const attacker = await newAttacker(`${name}-${suffix}`, {deployed: false});
    await attacker.self.deploy(attacker.self.namespace);
    return attacker;
  };
  return Promise.all([rival('a'), rival('b')]);
}

/** A record in status.dns.required. */
async function recordValue(type: string, {self}: Attacker, host: string): Promise<string> {
  const record = (await self.records(host)).find(each => each.type === type);
  if (!record) throw new Error(`${self.namespace}: no ${type} is required for ${host}`);
  return record.value;
}

async function isAt(host: string, {self}: Attacker, other: Attacker): Promise<void> {
  await self.sees(host, {state: 'Live'});
  await visitor.untilAnswer(`https://${host}/`, ({status, body}) => status === 200 && body.includes(self.namespace));
  await other.self.sees(host, {state: 'Unverified', Claimed: 'HeldByAnotherAccount'});
  expect(await other.self.routes(host)).toEqual([]);
}

async function deleteNamespace(name: string): Promise<void> {
  await admin.delete(NAMESPACE, {name});
  const isGone = async () => (await admin.get(NAMESPACE, {name})) === undefined;
  await until(`namespace ${name} is gone`, isGone);
}

/**
 * Collects from now on, in the order of a single watch, each moment at which more than one namespace published the
 * host.
 */
function watchPublished(host: string): () => Promise<string[]> {
  const standing = new Map<string, string>();
  const atOnce: string[] = [];
  const labelSelector = `${LABEL.host}=${hostLabel(host)}`;
  const stop = follow(admin, INGRESS, {labelSelector}, ({metadata}, type) => {
    const {uid = '', namespace = '', name} = metadata;
    if (type === 'DELETED') standing.delete(uid);
    else standing.set(uid, namespace);
    const namespaces = [...new Set(standing.values())];
    if (namespaces.length > 1) atOnce.push(`${type} ${namespace}/${name}: ${namespaces.join(' and ')}`);
  });
  return async () => {
    await stop();
    return atOnce;
  };
}
