/** A tenant that loses a host while a challenge for it is open gets no certificate for it, and delays nobody. */
import {expect, it} from 'vitest';
import {CERTIFICATE_REQUEST, SERVICE} from '../../../src/operator/model/kinds.ts';
import {until} from '../../cluster/wait.ts';
import {listAll} from '../../support/kube.ts';
import {kindOf, ORDER} from '../../support/workload.ts';
import {admin, cluster} from '../world.ts';
import {type Attacker, newAttacker} from './attackers.ts';
import {makeTenantsIssuer, orderFromTenantsIssuer} from './tenants-issuer.ts';

const CHALLENGE = kindOf<Challenge>('acme.cert-manager.io', 'Challenge');
const SOLVER = {labelSelector: 'acme.cert-manager.io/http01-solver=true'};

interface Challenge {
  apiVersion: string;
  kind: string;
  metadata: {name: string; namespace?: string; uid?: string};
  spec: {dnsName: string};
}

export function losingHosts(): void {
  it('a host that moves while its former holder’s challenge is open: withdrawn, and live for the new holder', async () => {
    const [former, next] = await Promise.all([newAttacker('former'), newAttacker('next', {issuer: 'acme'})]);
    const host = former.self.host('shop');
    await former.self.goLive({primary: host});
    await makeTenantsIssuer(former);
    await orderFromTenantsIssuer(former, 'more', host);
    await breakSolver(former, host);
    await next.self.applyProject({primary: host});
    const [cname] = (await next.self.records(host)).filter(({type}) => type === 'CNAME');
    await cluster.zones.set(host, 'CNAME', cname?.value ?? '');
    await next.self.sees(host, {state: 'Live'});
    expect(await challengesFor(former, host)).toEqual([]);
    expect(await left(former, host)).toEqual([]);
  });
}

/** From now on, cert-manager's self check reaches nobody, so the challenge stays open as long as its holder likes. */
async function breakSolver(attacker: Attacker, host: string): Promise<void> {
  const {self, client} = attacker;
  const solver = await until(
    `${self.namespace}: the solver of ${host}`,
    async () => {
      const services = await listAll(client, SERVICE, {namespace: self.namespace, ...SOLVER});
      return (await challengesFor(attacker, host)).length > 0 ? services[0] : undefined;
    },
    {timeoutMs: 60_000, intervalMs: 20},
  );
  const key = {namespace: self.namespace, name: solver.metadata.name};
  await client.patch(SERVICE, key, {spec: {selector: {nobody: 'here'}}});
}

async function challengesFor({self}: Attacker, host: string): Promise<string[]> {
  const challenges = await listAll(admin, CHALLENGE, {namespace: self.namespace});
  return challenges.filter(({spec}) => spec.dnsName === host).map(({metadata}) => metadata.name);
}

/** Requests and Orders that could still become a certificate. */
async function left({self}: Attacker, host: string): Promise<string[]> {
  const orders = (await listAll(admin, ORDER, {namespace: self.namespace})) as {
    spec?: {dnsNames?: string[]};
    status?: {state?: string};
  }[];
  const open = orders.filter(({spec, status}) => spec?.dnsNames?.includes(host) && status?.state !== 'valid');
  const requests = await listAll(admin, CERTIFICATE_REQUEST, {namespace: self.namespace});
  const pending = requests.filter(
    ({status}) =>
      !status?.conditions?.some(
        ({type, status: is, reason}) =>
          type === 'Denied' || (type === 'Ready' && (is === 'True' || reason === 'Failed')),
      ),
  );
  return [...open.map(() => 'Order'), ...pending.map(({metadata}) => metadata.name)];
}
