/** A test for each transition between the states of a Domain. */
import {expect, it} from 'vitest';
import {LABEL} from '../../src/api/names.ts';
import {NAMESPACE} from '../../src/operator/kinds/kinds.ts';
import type {ClusterTenant, ClusterTenantOptions} from '../support/cluster-tenant.ts';
import {failuresOf} from '../support/http.ts';
import {scale} from '../support/pods.ts';
import {admin, cluster, hideFromCa, newClusterTenant, showToCa, visitor} from './world.ts';

export function adding(): void {
  it('adding a domain shows the record to create', async () => {
    const tenant = await newClusterTenant('add');
    const host = tenant.host('shop');
    await tenant.applyProject({primary: host});
    const {status} = await tenant.sees(host, {state: 'Unverified', DNSVerified: 'RecordMissing'});
    const value = expect.stringMatching(/^[a-z2-7]{20}\.edge\.nameplate\.test$/);
    expect(status?.dns?.required).toEqual([{type: 'CNAME', name: host, label: 'shop', value, ttl: 3600}]);
  });

  it('adding waits for a paid plan, then for a successful deploy', async () => {
    const tenant = await newClusterTenant('gates', {plan: 'free', deployed: false});
    const host = tenant.host('shop');
    await tenant.applyProject({primary: host});
    const plan = 'a plan that allows them (pro); this namespace is on plan free';
    await tenant.sees(host, {state: 'Blocked', Accepted: 'PlanRequired', Stalled: 'PlanRequired', says: plan});
    await setPlan(tenant, 'pro');
    const deploy = 'Service web has never had a ready endpoint';
    await tenant.sees(host, {state: 'Blocked', Accepted: 'NoSuccessfulDeploy', says: deploy});
    await tenant.deploy('web');
    await tenant.sees(host, {state: 'Unverified', Accepted: 'Accepted'});
  });

  it('an unknown plan counts as the default one, and the message says so', async () => {
    const tenant = await newClusterTenant('plan', {plan: 'gold'});
    const host = tenant.host('shop');
    await tenant.applyProject({primary: host});
    const says = "free (its label names the plan 'gold', which does not exist)";
    await tenant.sees(host, {state: 'Blocked', Accepted: 'PlanRequired', says});
    await setPlan(tenant, 'pro');
    await tenant.sees(host, {state: 'Unverified'});
  });
}

export function goingLive(): void {
  it('a correct record makes the host verified, then live: https from the ACME CA, http redirected once', async () => {
    const tenant = await newClusterTenant('live');
    const host = tenant.host('shop');
    await tenant.applyProject({primary: host});
    await tenant.createRecords(host);
    await tenant.sees(host, {state: 'Live', DNSVerified: 'Verified', Claimed: 'Claimed'});
    await tenant.sees(host, {state: 'Live', CertificateReady: 'Issued', Routed: 'Serving', Ready: 'Live'});
    await visitor.untilServed(host);
    const answer = await visitor.request(`https://${host}/a/b?c=d&e=%2F`);
    expect(answer).toMatchObject({status: 200, certificate: {names: `DNS:${host}`}});
    expect(answer.certificate?.issuer).toMatch(/^Pebble/);
    expect(answer.body).toContain(`host=${host} path=/a/b?c=d&e=%2F `);
    const http = await visitor.request(`http://${host}/a/b?c=d&e=%2F`);
    expect(http).toMatchObject({status: 301, location: `https://${host}/a/b?c=d&e=%2F`});
    await tenant.seesUrl(`https://${host}/`);
  });

  it('an apex is proved by its addresses and a TXT record', async () => {
    const tenant = await newClusterTenant('apex');
    const host = tenant.zone;
    await tenant.applyProject({primary: host});
    await tenant.createRecords(host, type => type === 'ALIAS');
    await tenant.sees(host, {state: 'Unverified', DNSVerified: 'ProofMissing'});
    await tenant.createRecords(host);
    await tenant.sees(host, {state: 'Live'});
    await visitor.untilAnswer(`https://${host}/`, ({status}) => status === 200);
  });
}

export function staying(): void {
  it("while the project's pods are gone, the host answers 503, never 404, and stays live", async () => {
    const tenant = await newClusterTenant('pods');
    const host = tenant.host('shop');
    await tenant.goLive({primary: host});
    const observed = visitor.observe(`https://${host}/`);
    await scale(admin, {namespace: tenant.namespace, name: 'web'}, 0);
    await visitor.untilAnswer(`https://${host}/`, ({status}) => status === 503);
    await tenant.sees(host, {state: 'Live', Probed: 'Answering'});
    await scale(admin, {namespace: tenant.namespace, name: 'web'}, 1);
    await visitor.untilServed(host);
    expect(failuresOf(await observed.stop()).filter(failure => failure.endsWith(': 404'))).toEqual([]);
  });

  it('a verify request for a healthy live domain is answered and requests no certificate', async () => {
    const tenant = await newClusterTenant('again');
    const host = tenant.host('shop');
    const attempts = tenant.recordAttempts();
    await tenant.goLive({primary: host});
    const before = attempts.names();
    await tenant.reverify(host);
    await tenant.sees(host, {state: 'Live'});
    expect(attempts.names()).toEqual(before);
    await attempts.stop();
  });

  it('a verify request for a live domain whose renewal fails starts a new attempt, and traffic never stops', async () => {
    const tenant = await newClusterTenant('renewal');
    const host = tenant.host('shop');
    await tenant.goLive({primary: host});
    const before = await visitor.request(`https://${host}/`);
    const observed = visitor.observe(`https://${host}/`);
    await hideFromCa(host);
    const revision = await tenant.renew(host);
    await tenant.sees(host, {state: 'Degraded', CertificateReady: 'RenewalFailing', Ready: 'RenewalFailing'});
    await showToCa(host);
    await tenant.reverify(host);
    await tenant.sees(host, {state: 'Live', CertificateReady: 'Issued'});
    await tenant.seesReissued(host, revision);
    expect(failuresOf(await observed.stop())).toEqual([]);
    await visitor.untilAnswer(
      `https://${host}/`,
      ({certificate}) => certificate?.serial !== before.certificate?.serial,
    );
  });

  it('a live domain whose record is gone drifts, is still served, and comes back', async () => {
    const tenant = await newClusterTenant('drift');
    const host = tenant.host('shop');
    await tenant.goLive({primary: host});
    await cluster.zones.remove(host);
    const says = 'the host is still served';
    await tenant.sees(host, {state: 'Degraded', DNSVerified: 'Drifted', Ready: 'Drifted', says});
    expect(await visitor.request(`https://${host}/`)).toMatchObject({status: 200});
    await tenant.createRecords(host);
    await tenant.sees(host, {state: 'Live', DNSVerified: 'Verified'});
  });
}

interface Removal {
  readonly state: 'Blocked' | 'Unverified' | 'Verified' | 'Live' | 'Degraded';
  readonly options: ClusterTenantOptions;
  /** What to do after adding the domain. */
  readonly prepare: (tenant: ClusterTenant, host: string) => Promise<void>;
}

const REMOVALS: readonly Removal[] = [
  {state: 'Blocked', options: {plan: 'free'}, prepare: async () => {}},
  {state: 'Unverified', options: {}, prepare: async () => {}},
  {
    state: 'Verified',
    options: {},
    prepare: async (tenant, host) => {
      await hideFromCa(host);
      await tenant.createRecords(host);
    },
  },
  {state: 'Live', options: {}, prepare: (tenant, host) => tenant.createRecords(host)},
  {
    state: 'Degraded',
    options: {},
    prepare: async (tenant, host) => {
      await tenant.createRecords(host);
      await tenant.sees(host, {state: 'Live'});
      await cluster.zones.remove(host);
    },
  },
];

export function removing(): void {
  for (const {state, options, prepare} of REMOVALS) {
    it(`a domain that is ${state} is removed from its Project, and traffic stops`, async () => {
      const tenant = await newClusterTenant(`rm-${state.toLowerCase()}`, options);
      const host = tenant.host('shop');
      await tenant.applyProject({primary: host});
      await prepare(tenant, host);
      await tenant.sees(host, {state});
      await tenant.applyProject(undefined);
      await tenant.seesNothingOf(host);
      await visitor.untilGone(host);
    });
  }
}

async function setPlan(tenant: ClusterTenant, plan: string): Promise<void> {
  await admin.patch(NAMESPACE, {name: tenant.namespace}, {metadata: {labels: {[LABEL.plan]: plan}}});
}
