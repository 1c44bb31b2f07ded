/** What is lost or changed behind the operator's back is restored, without an interruption. */
import {expect, it} from 'vitest';
import {INGRESS, SERVICE} from '../../src/operator/kinds/kinds.ts';
import {failuresOf} from '../support/http.ts';
import {admin, newClusterTenant, visitor} from './world.ts';

export function repairing(): void {
  it('an edited Ingress is reverted, and a deleted one is recreated', async () => {
    const tenant = await newClusterTenant('edited');
    const hosts = [tenant.host('shop'), tenant.host('other')] as const;
    const [host, alias] = hosts;
    await tenant.goLive({primary: host, aliases: [alias]});
    const [[edited], [deleted]] = await Promise.all([tenant.routes(host), tenant.routes(alias)]);
    if (!edited || !deleted) throw new Error('a live host has an Ingress');
    const key = {namespace: tenant.namespace, name: edited.metadata.name};
    const spec = {rules: [{host: 'stolen.example.com'}]};
    await admin.patch(INGRESS, key, {spec, metadata: {annotations: {theirs: 'kept'}}});
    await admin.delete(INGRESS, {namespace: tenant.namespace, name: deleted.metadata.name});
    for (const each of hosts) {
      await tenant.seesRoutes(each, routes => {
        const found = routes as {spec?: {rules?: {host: string}[]}}[];
        return found.length === 1 && found.every(({spec}) => spec?.rules?.[0]?.host === each);
      });
    }
    expect((await admin.get(INGRESS, key))?.metadata.annotations?.theirs).toBe('kept');
    for (const scheme of ['http', 'https']) {
      await visitor.untilAnswer(`${scheme}://${host}/`, ({status}) => status === (scheme === 'http' ? 301 : 200));
    }
  });

  it('status and claims wiped, as after a restore: nothing blinks and nothing is ordered', async () => {
    const tenant = await newClusterTenant('restore');
    const [host, old] = [tenant.host('shop'), tenant.host('old')];
    const attempts = tenant.recordAttempts();
    await tenant.goLive({primary: host, redirects: [{from: old}]});
    const before = attempts.names();
    const uids = await tenant.routeUids(host, old);
    const observed = visitor.observe(`https://${host}/`, `https://${old}/`);
    await tenant.wipe(host, old);
    await tenant.sees(host, {state: 'Live', Claimed: 'Claimed'});
    await tenant.sees(old, {state: 'Live', Claimed: 'Claimed', Routed: 'Redirecting'});
    expect(failuresOf(await observed.stop())).toEqual([]);
    expect(await tenant.routeUids(host, old)).toEqual(uids);
    expect(attempts.names()).toEqual(before);
    await attempts.stop();
  });

  it('a Service that is missing is named, and routed once it is there', async () => {
    const tenant = await newClusterTenant('service');
    const [host, young] = [tenant.host('shop'), tenant.host('young')];
    await tenant.goLive({primary: host});
    await admin.delete(SERVICE, {namespace: tenant.namespace, name: 'web'});
    await tenant.sees(host, {state: 'Degraded', Routed: 'ServiceNotFound', Ready: 'ServiceNotFound'});
    await tenant.applyProject({primary: host, aliases: [young]});
    await tenant.createRecords(young);
    await tenant.sees(young, {state: 'Verified', CertificateReady: 'Issued', Routed: 'ServiceNotFound'});
    expect(await tenant.routes(young)).toEqual([]);
    await tenant.deploy('web');
    for (const each of [host, young]) {
      await tenant.sees(each, {state: 'Live', Routed: 'Serving'});
      await visitor.untilAnswer(`https://${each}/`, ({status}) => status === 200);
    }
  });
}
