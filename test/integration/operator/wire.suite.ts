/** Faults of the connection between the operator and the API server while hosts are live. No host loses anything. */

import {readFileSync} from 'node:fs';
import {writeFile} from 'node:fs/promises';
import {type AddressInfo, connect, type Socket} from 'node:net';
import {join} from 'node:path';
import {createServer} from 'node:tls';
import {afterEach, beforeEach, expect, test} from 'vitest';
import * as kinds from '../../../src/operator/kinds/kinds.ts';
import {until} from '../../cluster/wait.ts';
import {RELEASE} from '../../support/install.ts';
import type {OperatorProcess} from '../../support/operator-process.ts';
import {selfSigned} from '../../support/self-signed.ts';
import {type FaultProxy, type Seen, startFaultProxy} from '../runtime/fault-proxy.ts';
import {type DomainTenant, newLiveTenant} from './domain-tenant.ts';
import {watchLosses} from './losses.ts';
import type {OperatorWorld} from './operator-world.ts';

/**
 * How long nothing but the Lease is answered: for 2.5 renew deadlines of this world (12 s). We promise a minute, which is
 * 6 of the default ones (10 s). A Lease that shares the others' connections is lost after the first deadline; further
 * ones only repeat the test. That a leader ends after two minutes is tested with a manual clock (manager.test.ts).
 */
const HANG_SECONDS = 30;
const ENTRY_POINT = 'traefik.ingress.kubernetes.io/router.entrypoints';

const isLease = ({path}: Seen) => path.includes('/leases/');

export function wireSuite(world: () => OperatorWorld): void {
  let proxy: FaultProxy;
  beforeEach(async () => {
    proxy = await startFaultProxy(world().api, {kubeconfig: world().kubeconfig});
  });
  afterEach(() => proxy.stop());

  /** Replaces the operator, and waits until it leads. */
  async function start(name: string, through: string): Promise<OperatorProcess> {
    await world().operator().stop();
    const started = await world().startOperator(name, {}, through);
    await until('it leads', () => leads(started));
    return started;
  }

  test('all connections but that of the Lease hang, then that one, too: the leader waits, and a standby takes over', async () => {
    const leader = await start('hanging', proxy.kubeconfig);
    const {tenant, host} = await newLiveTenant(world(), 'hanging');
    const losses = watchLosses(world());
    proxy.intercept = seen => (isLease(seen) ? undefined : {kind: 'silence'});
    proxy.disconnect();
    await edit(tenant, host);
    const staleSeconds = () => leader.metric('reflector_cache_stale_seconds', {resource: 'domains.nameplate.dev'});
    await until('its caches are stale', async () => (await staleSeconds()) >= HANG_SECONDS);
    expect(await leads(leader)).toBe(true);
    proxy.intercept = () => undefined;
    proxy.disconnect();
    await tenant.until('it continues where it was', () => !isEdited(tenant, host));

    const standby = await world().startOperator('standby');
    proxy.intercept = () => ({kind: 'silence'});
    proxy.disconnect();
    await edit(tenant, host);
    await until('the standby leads', () => leads(standby));
    await tenant.until('the standby continues', () => !isEdited(tenant, host));
    expect(await leader.exited).toBe(1);
    await tenant.verify(host, 'after both');
    expect(losses()).toEqual([]);
  });

  test('the token and the CA are replaced on disk, and neither former one is good any longer', async () => {
    const {api, client, folder, kubeconfig} = world();
    const [former, next] = [
      await selfSigned(folder, 'former', 'IP:127.0.0.1'),
      await selfSigned(folder, 'next', 'IP:127.0.0.1'),
    ];
    const sockets = new Set<Socket>();
    const upstream = Number(new URL(serverOf(proxy.kubeconfig)).port);
    const server = createServer(former, socket => {
      const passed = connect(upstream, '127.0.0.1');
      for (const [one, other] of [[socket, passed] as const, [passed, socket] as const]) {
        sockets.add(one);
        one.once('close', () => sockets.delete(one)).on('error', () => other.destroy());
        one.pipe(other);
      }
    });
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
    const {port} = server.address() as AddressInfo;
    const [ca, tokenFile, rotated] = ['ca.crt', 'token', 'rotated'].map(file => join(folder, `wire-${file}`)) as [
      string,
      string,
      string,
    ];
    const bound = {name: 'former-token', namespace: RELEASE.namespace};
    await client.create(kinds.SECRET, {apiVersion: 'v1', kind: 'Secret', metadata: bound});
    const tokenFor = (...flags: string[]) =>
      api.kubectl('create', 'token', RELEASE.name, '-n', bound.namespace, ...flags);
    await writeFile(tokenFile, await tokenFor('--bound-object-kind=Secret', `--bound-object-name=${bound.name}`));
    await writeFile(ca, former.cert);
    const config = JSON.parse(readFileSync(kubeconfig, 'utf8')) as {clusters: object[]; users: {name: string}[]};
    for (const each of config.clusters) {
      Object.assign(each, {cluster: {server: `https://127.0.0.1:${port}`, 'certificate-authority': ca}});
    }
    for (const each of config.users) {
      Object.assign(each, {user: {'auth-provider': {name: 'tokenFile', config: {tokenFile}}}});
    }
    await writeFile(rotated, JSON.stringify(config));
    const operator = await start('rotated', rotated);
    try {
      const {tenant, host} = await newLiveTenant(world(), 'rotated');
      const losses = watchLosses(world());
      await writeFile(tokenFile, await tokenFor());
      await writeFile(ca, next.cert);
      await client.delete(kinds.SECRET, bound);
      server.setSecureContext(next);
      for (const socket of sockets) socket.destroy();
      await edit(tenant, host);
      await tenant.until('it continues with the new ones', () => !isEdited(tenant, host));
      await tenant.verify(host, 'after the rotation');
      expect(await leads(operator)).toBe(true);
      expect(losses()).toEqual([]);
    } finally {
      await operator.stop();
      for (const socket of sockets) socket.destroy();
      server.close();
    }
    await world().startOperator('after-rotation');
  });
}

async function leads(operator: OperatorProcess): Promise<boolean> {
  return (await operator.metric('leader_election_master_status')) === 1;
}

function serverOf(kubeconfig: string): string {
  const {clusters} = JSON.parse(readFileSync(kubeconfig, 'utf8')) as {clusters: {cluster: {server: string}}[]};
  return clusters[0]?.cluster.server ?? '';
}

/** Changes a route, which the operator reverts. */
async function edit(tenant: DomainTenant, host: string): Promise<void> {
  const {name = ''} = tenant.ingress(host)?.metadata ?? {};
  await tenant.annotate(kinds.INGRESS, name, {[ENTRY_POINT]: 'by-hand'});
  await tenant.seesOwnWrites();
}

function isEdited(tenant: DomainTenant, host: string): boolean {
  return tenant.ingress(host)?.metadata.annotations?.[ENTRY_POINT] === 'by-hand';
}
