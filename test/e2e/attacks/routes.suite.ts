/** Routes of the edge for another tenant's host, and backends that point out of the namespace. */
import {expect} from 'vitest';
import {MIDDLEWARE} from '../../../src/operator/edge/traefik.ts';
import {routeName} from '../../../src/operator/kinds/derived-names.ts';
import {ENDPOINT_SLICE, INGRESS, INGRESS_CLASS, SERVICE} from '../../../src/operator/kinds/kinds.ts';
import type {ResourceType} from '../../../src/runtime/kube/object.ts';
import {until} from '../../cluster/wait.ts';
import {listAll} from '../../support/kube.ts';
import {ingressSpec} from '../../support/objects.ts';
import {kindOf} from '../../support/workload.ts';
import {admin, cluster, visitor} from '../world.ts';
import {
  type Attacker,
  EDGE_CLASS,
  ingressesFor,
  make,
  newAttacker,
  REFUSED_AS_MANAGED,
  type Victim,
} from './attackers.ts';

const LIST_IT = 'list it in spec.domains of a Project';
const PORTS = [{name: 'http', port: 80}];
const ENDPOINTS: ResourceType = {...kindOf('', 'Endpoints'), plural: 'endpoints'};
const ofTraefik = (kind: string) => kindOf('traefik.io', kind, 'v1alpha1');

export async function writeRoutes(victim: Victim): Promise<void> {
  const attacker = await newAttacker('attack-routes', {deployed: false});
  const {host} = victim;
  const match = `Host(\`${host}\`) && PathPrefix(\`/login\`)`;
  const routes = [{kind: 'Rule', match, services: [{name: 'mine', port: 80}]}];
  const redirectRegex = {regex: '.*', replacement: 'https://evil.test/'};
  const attempts: [ResourceType, object, object?][] = [
    [INGRESS, {spec: ingressSpec(host, EDGE_CLASS)}],
    [INGRESS, {spec: ingressSpec(host)}],
    [INGRESS, {spec: ingressSpec(host)}, {annotations: {'kubernetes.io/ingress.class': EDGE_CLASS}}],
    [ofTraefik('IngressRoute'), {spec: {entryPoints: ['websecure'], routes, tls: {}}}],
    [ofTraefik('IngressRouteTCP'), {spec: {routes: [{match: `HostSNI(\`${host}\`)`}], tls: {passthrough: true}}}],
    [MIDDLEWARE, {spec: {redirectRegex}}],
    [ofTraefik('TLSStore'), {spec: {defaultCertificate: {secretName: 'mine'}}}],
  ];
  for (const [kind, content, metadata] of attempts) {
    await expect(make(attacker, kind, 'steal', content, metadata), kind.kind).rejects.toThrow(LIST_IT);
  }
  await make(attacker, INGRESS, 'elsewhere', {spec: ingressSpec(host, 'another')});
  const elsewhere = {namespace: attacker.self.namespace, name: 'elsewhere'};
  const change = {spec: {ingressClassName: EDGE_CLASS}};
  await expect(attacker.client.patch(INGRESS, elsewhere, change)).rejects.toThrow(LIST_IT);
  await whileEdgeIsDefault(async () => {
    // The API server sets the class once it knows the default.
    const says = `Only Nameplate may write Ingresses of class ${EDGE_CLASS}`;
    const refusal = () => make(attacker, INGRESS, 'steal', {spec: ingressSpec(host)}).catch(String);
    await until('the class is filled in and refused', async () => `${await refusal()}`.includes(says));
  });
  expect(await ingressesFor(host, attacker.self.namespace)).toEqual([]);
}

async function whileEdgeIsDefault(attack: () => Promise<void>): Promise<void> {
  const mark = (value: string | null) =>
    admin.patch(
      INGRESS_CLASS,
      {name: EDGE_CLASS},
      {metadata: {annotations: {'ingressclass.kubernetes.io/is-default-class': value}}},
    );
  await mark('true');
  await attack().finally(() => mark(null));
}

export async function leadElsewhere(victim: Victim): Promise<void> {
  const attacker = await newAttacker('attack-backend');
  const {self, client, tenant} = attacker;
  const {namespace} = self;
  const [own, next] = [self.host('own'), self.host('next')];
  const leadsAway = {type: 'ExternalName', externalName: 'kubernetes.default.svc.cluster.local'};
  const ahead = make(attacker, SERVICE, routeName(namespace, next), {spec: {...leadsAway, ports: PORTS}});
  await expect(ahead).rejects.toThrow(REFUSED_AS_MANAGED);
  const ports = PORTS.map(port => ({...port, targetPort: 8080}));
  const edge = {selector: {app: 'web'}, ports, externalIPs: [cluster.info.ingress.address]};
  await expect(make(attacker, SERVICE, 'edge', {spec: edge})).rejects.toThrow('Remove spec.externalIPs');

  await self.goLive({primary: own});
  const urls = [`https://${own}/`, `https://${await self.defaultHost()}/`];
  for (const url of urls) await visitor.untilAnswer(url, ({body}) => body.includes('text=web'));
  const victimsPods = await addressesOf(victim.tenant.namespace);
  const turns: [object, string][] = [
    [{...leadsAway, selector: null}, 'which points elsewhere'],
    [{type: 'ClusterIP', externalName: null, selector: null}, 'has no selector'],
  ];
  for (const [spec, says] of turns) {
    await client.patch(SERVICE, {namespace, name: 'web'}, {spec});
    await self.sees(own, {state: 'Degraded', Routed: 'ServiceUnsuitable', says});
    await putBehind(attacker, 'web', victimsPods);
    // The existing route keeps working, and nothing that the tenant names is reached.
    for (const url of urls) expect((await visitor.request(url)).body).toContain('text=web');
    const slices = await listAll(admin, ENDPOINT_SLICE, {
      namespace,
      labelSelector: `kubernetes.io/service-name=${routeName(namespace, own)}`,
    });
    expect(JSON.stringify(slices)).not.toContain(victimsPods[0]);
  }
  await expect(putBehind(attacker, routeName(namespace, own), victimsPods)).rejects.toThrow(REFUSED_AS_MANAGED);
  await self.applyProject({aliases: [next]});
  await tenant.createRecords(next);
  await self.sees(next, {state: 'Verified', Routed: 'ServiceUnsuitable'});
  expect(await self.routes(next)).toEqual([]);
}

async function addressesOf(namespace: string): Promise<string[]> {
  const slices = await listAll(admin, ENDPOINT_SLICE, {namespace});
  return (slices as {endpoints?: {addresses?: string[]}[]}[]).flatMap(({endpoints = []}) =>
    endpoints.flatMap(({addresses = []}) => addresses),
  );
}

/** Creates a slice and Endpoints as the tenant. */
async function putBehind(attacker: Attacker, service: string, addresses: readonly string[]): Promise<void> {
  const labels = {'kubernetes.io/service-name': service};
  const slice = {addressType: 'IPv4', endpoints: [{addresses}], ports: [{name: 'http', port: 8080}]};
  const name = `by-hand-${Date.now()}`;
  await make(attacker, ENDPOINT_SLICE, name, slice, {labels});
  const {client, self} = attacker;
  await client.delete(ENDPOINTS, {namespace: self.namespace, name: service});
  const subsets = [{addresses: addresses.map(ip => ({ip})), ports: [{name: 'http', port: 8080}]}];
  await make(attacker, ENDPOINTS, service, {subsets});
}
