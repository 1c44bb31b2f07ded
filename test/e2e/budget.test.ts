/** The order budget of the CA account, which all tenants share if the issuer is the platform's, as it is by default. */
import {afterAll, beforeAll, expect, it} from 'vitest';
import {findCondition} from '../../src/api/conditions.ts';
import {
  CERTIFICATE,
  CERTIFICATE_REQUEST,
  DOMAIN,
  DOMAIN_CLAIM,
  type DomainClaim,
} from '../../src/operator/model/kinds.ts';
import {until} from '../cluster/wait.ts';
import {installOperator} from '../support/install.ts';
import {ISSUER_NAME} from '../support/issuers.ts';
import {listAll} from '../support/kube.ts';
import {liveVictim, make, newAttacker, type Victim} from './attacks/attackers.ts';
import {settings} from './setup.ts';
import {admin, cluster, newClusterTenant} from './world.ts';

const ISSUER = {kind: 'ClusterIssuer', name: cluster.info.issuers.acme, group: 'cert-manager.io'};
/** Orders for new hosts in addition to earlier ones. A single tenant gets three of the four. */
const FREE = 4;
const RESERVE = 2;

let victim: Victim;

beforeAll(async () => {
  victim = await liveVictim();
  // Orders are forgotten with the released claims of other tests. That must not happen between the count below and the
  // new budget.
  const areSwept = async () => (await listAll(admin, DOMAIN_CLAIM)).every(({spec}) => spec.releasedAt === undefined);
  await until('released claims are swept', areSwept, {timeoutMs: 120_000});
  const orders = (await ordersOf()).length + FREE + RESERVE;
  const budget = {orders, renewalReserve: RESERVE, windowSeconds: 3600};
  await installOperator(cluster, [
    ...(await settings(cluster)),
    `config.certificates.issuerRef.name=${ISSUER.name}`,
    `config.certificates.issuerRef.kind=${ISSUER.kind}`,
    // Hosts with a certificate keep their issuer and order nothing.
    `config.certificates.formerIssuerRefs[0].name=${ISSUER_NAME}`,
    'config.certificates.formerIssuerRefs[0].kind=Issuer',
    `config.certificates.approval.tenantCertificates.hosts[0].name=${ISSUER.name}`,
    `config.certificates.approval.tenantCertificates.hosts[0].kind=${ISSUER.kind}`,
    ...Object.entries(budget).map(([name, value]) => `config.certificates.orderBudget.${name}=${value}`),
  ]);
});
afterAll(async () => {
  await installOperator(cluster, await settings(cluster));
  expect(await victim.strangeAnswers()).toEqual([]);
});

it("a tenant that orders for many hosts, manually as well, gets its share and leaves room for the next tenant's first host", async () => {
  const [greedy, modest] = await Promise.all([
    newAttacker('attack-orders', {issuer: 'none'}),
    newClusterTenant('modest', {issuer: 'none'}),
  ]);
  const {self} = greedy;
  const hosts = Array.from({length: 6}, (_, n) => self.host(`h${n}`));
  await self.applyProject({aliases: hosts});
  await Promise.all(hosts.map(host => self.createRecords(host)));
  const reasons = async () => {
    const domains = await listAll(admin, DOMAIN, {namespace: self.namespace});
    return domains.map(({status}) => findCondition(status?.conditions, 'Ready')?.reason ?? '');
  };
  const isSettled = (reason: string) => reason === 'Live' || reason === 'OrderBudget';
  const areSettled = async () => (await reasons()).filter(isSettled).length === hosts.length;
  await until('each is live or waits', areSettled, {timeoutMs: 120_000});
  expect(await ordersOf(self.namespace)).toHaveLength(FREE - 1);
  const [live = ''] = (await ordersOf(self.namespace)).map(({host}) => host);
  for (let n = 0; n < 5; n++) {
    const name = `by-hand-${n}`;
    await make(greedy, CERTIFICATE, name, {spec: {secretName: name, dnsNames: [live], issuerRef: ISSUER}});
  }
  const requests = () => listAll(admin, CERTIFICATE_REQUEST, {namespace: self.namespace});
  await until('it has created requests manually', async () => (await requests()).length >= hosts.length + 5, {
    timeoutMs: 120_000,
  });

  await modest.goLive({primary: modest.host('shop')});
  expect(await ordersOf(modest.namespace)).toHaveLength(1);
  expect(await ordersOf(self.namespace)).toHaveLength(FREE - 1);
  const decided = (await requests()).filter(({status}) => status?.conditions?.some(({type}) => type === 'Approved'));
  expect(decided).toHaveLength(FREE - 1);
  const waiting = (await listAll(admin, DOMAIN, {namespace: self.namespace})).find(
    ({status}) => status?.state !== 'Live',
  );
  const {message = ''} = findCondition(waiting?.status?.conditions, 'Ready') ?? {};
  expect(message).toContain('The certificate order is queued');
});

/** The orders in the claims of one namespace or all. */
async function ordersOf(namespace?: string): Promise<{host: string; at: string}[]> {
  const claims: DomainClaim[] = await listAll(admin, DOMAIN_CLAIM);
  const chosen = claims.filter(({spec}) => namespace === undefined || spec.namespace === namespace);
  return chosen.flatMap(({metadata, spec}) => (spec.orders ?? []).map(({at}) => ({host: metadata.name, at})));
}
