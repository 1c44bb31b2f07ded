/** A tenant that loses a host while a challenge for it is open gets no certificate for it, and delays nobody. */
import {expect, it} from 'vitest';
import {findCondition} from '../../../src/api/conditions.ts';
import {HTTP_ROUTE} from '../../../src/operator/edge/gateway-kinds.ts';
import {CERTIFICATE, CERTIFICATE_REQUEST, INGRESS, SECRET, SERVICE} from '../../../src/operator/model/kinds.ts';
import {isNotFound} from '../../../src/runtime/kube/errors.ts';
import type {KubeObject, ResourceType} from '../../../src/runtime/kube/object.ts';
import {until} from '../../cluster/wait.ts';
import {TENANTS_ISSUER} from '../../support/issuers.ts';
import {listAll} from '../../support/kube.ts';
import {kindOf, ORDER} from '../../support/workload.ts';
import {admin, cluster} from '../world.ts';
import {type Attacker, make, newAttacker} from './attackers.ts';
import {makeTenantsIssuer, orderFromTenantsIssuer} from './tenants-issuer.ts';

const CHALLENGE = kindOf<Challenge>('acme.cert-manager.io', 'Challenge');
const SOLVER = {labelSelector: 'acme.cert-manager.io/http01-solver=true'};
const isGateway = cluster.info.edge === 'gateway';
const MINUTE_MS = 60_000;

interface Challenge extends KubeObject {
  spec: {dnsName: string};
}

export function losingHosts(): void {
  it('a host that moves while its former holder’s challenge is open: withdrawn, and live for the new holder in a minute', async () => {
    const issuer = isGateway ? 'none' : 'acme';
    const [former, next] = await Promise.all([newAttacker('former', {issuer}), newAttacker('next', {issuer})]);
    const host = former.self.host('shop');
    await former.self.goLive({primary: host});
    await orderAnother(former, host);
    const repairSolver = await breakSolver(former, host);
    await next.self.applyProject({primary: host});
    const [cname] = (await next.self.records(host)).filter(({type}) => type === 'CNAME');
    await cluster.zones.set(host, 'CNAME', cname?.value ?? '');
    const claim = await until(
      `${host} moves`,
      async () => {
        const found = await next.tenant.claim(host);
        return found?.spec.namespace === next.self.namespace ? found : undefined;
      },
      {timeoutMs: MINUTE_MS, intervalMs: 20},
    );
    await repairSolver(); // its challenge would now be solved if it still had a route
    const {status} = await next.self.sees(host, {state: 'Live'});
    const liveAt = Date.parse(findCondition(status?.conditions, 'Ready')?.lastTransitionTime ?? '');
    expect(liveAt - Date.parse(claim.spec.since)).toBeLessThan(MINUTE_MS);
    expect(await challengesFor(former, host)).toEqual([]);
    expect(await solverRoutes(former)).toEqual([]);
    // cert-manager may create the request again, which is denied only once the caches have certainly seen the claim.
    await until('nothing is left', async () => (await left(former, host)).length === 0);
    expect(await admin.get(SECRET, {namespace: former.self.namespace, name: 'more'})).toBeUndefined();
  });
}

/** On a Gateway, this uses a ClusterIssuer, because a tenant's Issuer may not name a Gateway in its solver. */
async function orderAnother(former: Attacker, host: string): Promise<void> {
  if (isGateway) {
    const issuerRef = {name: TENANTS_ISSUER, kind: 'ClusterIssuer'};
    await make(former, CERTIFICATE, 'more', {spec: {secretName: 'more', dnsNames: [host], issuerRef}});
  } else {
    await makeTenantsIssuer(former);
    await orderFromTenantsIssuer(former, 'more', host);
  }
}

/**
 * Makes cert-manager's self check fail from now on, so the challenge stays open as long as its holder likes. The
 * returned function repairs the solver, if it still exists.
 */
async function breakSolver(attacker: Attacker, host: string): Promise<() => Promise<void>> {
  const {self, client} = attacker;
  const solver = await until(
    `${self.namespace}: the solver of ${host}`,
    async () => {
      const challenges = await listAll(admin, CHALLENGE, {namespace: self.namespace});
      const challenge = challenges.find(({metadata}) => metadata.name.startsWith('more-'));
      const services = await listAll(client, SERVICE, {namespace: self.namespace, ...SOLVER});
      const isOfIt = ({uid}: {readonly uid: string}) => uid === challenge?.metadata.uid;
      return services.find(({metadata}) => metadata.ownerReferences?.some(isOfIt));
    },
    {timeoutMs: MINUTE_MS, intervalMs: 20},
  );
  const key = {namespace: self.namespace, name: solver.metadata.name};
  await client.patch(SERVICE, key, {spec: {selector: {nobody: 'here'}}});
  return async () => {
    const selector = {...solver.spec?.selector, nobody: null};
    await client.patch(SERVICE, key, {spec: {selector}}).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
    });
  };
}

async function challengesFor({self}: Attacker, host: string): Promise<string[]> {
  const challenges = await listAll(admin, CHALLENGE, {namespace: self.namespace});
  return challenges.filter(({spec}) => spec.dnsName === host).map(({metadata}) => metadata.name);
}

async function solverRoutes({self}: Attacker): Promise<string[]> {
  const kind: ResourceType<KubeObject> = isGateway ? HTTP_ROUTE : INGRESS;
  const routes = await listAll(admin, kind, {namespace: self.namespace, ...SOLVER});
  return routes.map(({metadata}) => metadata.name);
}

/** Requests and Orders that could still lead to a certificate. */
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
