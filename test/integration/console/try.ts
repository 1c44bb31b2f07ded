/**
 * `make console`: the console in a browser, with the operator, cert-manager, an identity provider, and name servers, whose
 * zone has the form of a DNS provider. An edge of the tests answers the probes; hosts have no other visitors.
 */
import {once} from 'node:events';
import {LABEL} from '../../../src/api/names.ts';
import {ENDPOINT_SLICE, NAMESPACE, PROJECT, SERVICE} from '../../../src/operator/kinds/kinds.ts';
import {endpointSlice, PORT, project, service} from '../../support/objects.ts';
import {
  INGRESS_ADDRESS,
  INGRESS_CLASS_NAME,
  installIngressClass,
  type OperatorWorld,
  startOperatorWorld,
} from '../operator/operator-world.ts';
import {startTlsEdge} from '../operator/tls-edge.ts';
import {startConsoleWorld, USERS} from './console-world.ts';
import {startDnsForm} from './dns-form.ts';

const ZONE = 'acme-shoes.test';
const PLANS = {acme: 'pro', globex: 'starter'};

await using stops = new AsyncDisposableStack();
const interrupted = Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
const {console: page, world} = await startWorlds();
await world.certManager.install();
await installIngressClass(world.client);
const edge = await startTlsEdge(world);
stops.defer(edge.stop);
await world.startOperator('operator', {
  probes: {addresses: [edge.address]},
  routing: {ingressClassName: INGRESS_CLASS_NAME, apexAddresses: [INGRESS_ADDRESS]}, // the form has no ALIAS
});
for (const [name, plan] of Object.entries(PLANS)) {
  await world.client.patch(NAMESPACE, {name}, {metadata: {labels: {[LABEL.plan]: plan}}});
  await world.client.apply(SERVICE, service(name, 'shop', [{name: PORT.name, port: PORT.number}]));
  await world.client.apply(ENDPOINT_SLICE, endpointSlice(name, 'shop', true));
  await world.client.apply(PROJECT, project(name, 'shop'));
}
const old = {type: 'A', value: '192.0.2.77'};
const form = await startDnsForm(world.dns, ZONE, [
  {...old, name: '@'},
  {...old, name: 'www'},
  {type: 'TXT', name: '@', value: 'v=spf1 -all'},
]);
stops.defer(form.stop);
console.log(`
The console:    ${page.url}
Sign in as:     ${Object.keys(USERS).join(', ')} (any password)
The domain:     ${ZONE}, which shows another site at ${old.value}
Its DNS form:   ${form.url}
Stop it:        Ctrl-C

The certificate is self-signed, so the browser warns twice: of the console, and of the identity provider.`);
await interrupted;

async function startWorlds() {
  let world: OperatorWorld | undefined;
  const console = await startConsoleWorld(USERS, async flags => {
    world = await startOperatorWorld({flags});
    return {...world.api, stop: world.stop};
  });
  stops.defer(console.stop);
  if (!world) throw new Error('the API server was not started');
  return {console, world};
}
