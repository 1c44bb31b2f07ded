/** An overloaded API server refuses some requests of each kind, but accepts their retries. */
import {expect, test} from 'vitest';
import {ANNOTATION} from '../../../src/api/names.ts';
import {routeName} from '../../../src/operator/kinds/derived-names.ts';
import * as kinds from '../../../src/operator/kinds/kinds.ts';
import {EVENT} from '../../../src/runtime/kube/events.ts';
import {keyOf} from '../../../src/runtime/kube/object.ts';
import {type FaultProxy, isWatch} from '../runtime/fault-proxy.ts';
import {type DomainTenant, newDomainTenant} from './domain-tenant.ts';
import type {OperatorWorld} from './operator-world.ts';
import {answer, isReport, needsWrite, newest, STALE} from './overload.ts';

const REASONS = {429: 'TooManyRequests', 503: 'ServiceUnavailable'} as const;
const STATUSES = [429, 503] as const;
const VERBS = ['DELETE', 'GET', 'PATCH', 'POST', 'PUT', 'WATCH'];

/** The operator talks to the API server through `proxy`. */
export function refusedOnceSuite(world: () => OperatorWorld, proxy: () => FaultProxy): void {
  test('429 and 503 in answer to requests of every kind change no condition of a live host, and no event says so', async () => {
    const tenants = await Promise.all(STATUSES.map(status => newDomainTenant(world(), `refused-${status}`)));
    const before = (await Promise.all(tenants.map(live))).flat();
    const since = newest(world());
    const refused = refuseOnce(proxy());
    await Promise.all(tenants.map(disturbAndSettle));

    const combinations = STATUSES.flatMap(status => VERBS.map(verb => `${status} ${verb}`));
    expect([...new Set([...refused].map(each => each.replace(/ \/.*/, '')))].sort()).toEqual(combinations);
    for (const domain of before) {
      const versions = world().history.versions(kinds.DOMAIN, keyOf(domain));
      const changed = versions.filter(({at, object}) => at > since && shown(object) !== shown(domain));
      expect(changed.map(({object}) => shown(object))).toEqual([]);
    }
    const isOurs = (key: string) => tenants.some(({namespace}) => key.startsWith(`${namespace}/`));
    const events = world()
      .history.versions(EVENT)
      .filter(({at, key}) => at > since && isOurs(key));
    expect(events.filter(({object}) => object.type === 'Warning').map(({object}) => object.note)).toEqual([]);
  });
}

/**
 * Refuses each of a tenant's requests once, with the status in its namespace's name, and each watch once with either
 * status. Returns what was refused.
 */
function refuseOnce(proxy: FaultProxy): ReadonlySet<string> {
  const refused = new Set<string>();
  proxy.intercept = seen => {
    const verb = isWatch(seen) ? 'WATCH' : seen.method;
    const concerns = (status: number) => isWatch(seen) || seen.path.includes(`refused-${status}`);
    const id = (status: number) => `${status} ${verb} ${seen.path}`;
    const status = STATUSES.find(each => concerns(each) && !refused.has(id(each)));
    if (status === undefined || isReport(seen)) return undefined;
    refused.add(id(status));
    return answer(status, REASONS[status], '0');
  };
  proxy.disconnect();
  return refused;
}

/** Creates two live hosts: `shop` stays, `leaving` leaves. */
async function live(tenant: DomainTenant): Promise<kinds.Domain[]> {
  const [shop, leaving] = ['shop', 'leaving'].map(label => tenant.host(label)) as [string, string];
  await tenant.deployedProject({primary: shop, aliases: [leaving]});
  return Promise.all([shop, leaving].map(host => tenant.live(host)));
}

/** Makes the operator create, change, and delete objects, and waits until it is done. */
async function disturbAndSettle(tenant: DomainTenant): Promise<void> {
  const {namespace} = tenant;
  const [shop, leaving] = [tenant.host('shop'), tenant.host('leaving')];
  const name = routeName(namespace, shop);
  const uid = () => tenant.get(kinds.INGRESS, name)?.metadata.uid;
  const before = uid();
  await tenant.delete(kinds.INGRESS, name);
  await needsWrite(tenant, kinds.CERTIFICATE, shop);
  await tenant.project({primary: shop});
  await tenant.until(`${leaving} is released`, () => tenant.claim(leaving)?.spec.releasedAt);
  await tenant.until('the route is complete again', () => uid() !== undefined && uid() !== before);
  const hash = () => tenant.certificate(shop)?.metadata.annotations?.[ANNOTATION.appliedHash];
  await tenant.until('the certificate is as it should be', () => hash() !== STALE);
}

function shown({status}: kinds.Domain): string {
  return JSON.stringify(status?.conditions?.map(({type, status: is, reason, message}) => [type, is, reason, message]));
}
