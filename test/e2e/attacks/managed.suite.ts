/** Objects that Nameplate manages in the attacker's own namespace, and settings reserved for the platform. */
import {expect} from 'vitest';
import {API_VERSION, LABEL} from '../../../src/api/names.ts';
import {MIDDLEWARE} from '../../../src/operator/edge/traefik.ts';
import {routeName} from '../../../src/operator/kinds/derived-names.ts';
import {
  CERTIFICATE,
  DOMAIN,
  DOMAIN_CLAIM,
  ENDPOINT_SLICE,
  INGRESS,
  NAMESPACE,
  SECRET,
  SERVICE,
} from '../../../src/operator/kinds/kinds.ts';
import type {ResourceType} from '../../../src/runtime/kube/object.ts';
import {until} from '../../cluster/wait.ts';
import {ROLE, ROLE_BINDING} from '../../support/identity.ts';
import {listAll} from '../../support/kube.ts';
import {ingressSpec} from '../../support/objects.ts';
import {admin, visitor} from '../world.ts';
import {EDGE_CLASS, make, newAttacker, REFUSED_AS_MANAGED, REFUSED_BY_RBAC, type Victim} from './attackers.ts';

export async function changeWhatIsManaged(victim: Victim): Promise<void> {
  const attacker = await newAttacker('attack-managed');
  const {self, client, tenant} = attacker;
  const {namespace} = self;
  const [own, old] = [self.host('own'), self.host('old')];
  await self.goLive({primary: own, redirects: [{from: old}]});
  const [name, oldName] = [routeName(namespace, own), routeName(namespace, old)];
  const [ours] = await listAll(admin, SERVICE, {namespace, labelSelector: `${LABEL.managedBy}=nameplate`});
  const service = ours?.metadata.name ?? '';
  const [slice] = await listAll(admin, ENDPOINT_SLICE, {
    namespace,
    labelSelector: `kubernetes.io/service-name=${service}`,
  });
  const elsewhere = [{addresses: ['192.0.2.1'], conditions: {ready: true}}];
  const issuing = [{type: 'Issuing', status: 'True', reason: 'Mine', lastTransitionTime: '2026-01-01T00:00:00Z'}];
  const changes: [ResourceType, string, object, string?][] = [
    [INGRESS, name, {spec: ingressSpec(victim.host, EDGE_CLASS)}],
    [INGRESS, name, {metadata: {finalizers: ['attacker.test/stay']}}],
    [INGRESS, name, {metadata: {annotations: {'traefik.ingress.kubernetes.io/router.priority': '9999'}}}],
    [INGRESS, name, {metadata: {labels: {[LABEL.managedBy]: null}}}],
    [INGRESS, `${oldName}-http`, {metadata: {labels: {[LABEL.managedBy]: null}}}],
    [MIDDLEWARE, `${oldName}-https`, {spec: {redirectRegex: {replacement: 'https://evil.test/'}}}],
    [SERVICE, service, {spec: {type: 'ExternalName', externalName: 'kubernetes.default.svc', selector: null}}],
    [SECRET, name, {data: {'tls.crt': 'AAAA'}}],
    [CERTIFICATE, name, {spec: {dnsNames: [victim.host]}}],
    [CERTIFICATE, name, {status: {conditions: issuing}}, 'status'],
    [ENDPOINT_SLICE, slice?.metadata.name ?? '', {endpoints: elsewhere}],
  ];
  for (const [kind, object, change, subresource] of changes) {
    const changed = client.patch(kind, {namespace, name: object}, {...change}, subresource ? {subresource} : {});
    await expect(changed, `${kind.kind} ${JSON.stringify(change)}`).rejects.toThrow(REFUSED_AS_MANAGED);
  }
  for (const kind of [INGRESS, SERVICE, SECRET, CERTIFICATE]) {
    const key = {namespace, name: kind === SERVICE ? service : name};
    await expect(client.delete(kind as ResourceType, key), kind.kind).rejects.toThrow(REFUSED_AS_MANAGED);
  }
  const status = {status: {state: 'Live'}};
  const changed = client.patch(DOMAIN, {namespace, name: own}, status, {subresource: 'status'});
  await expect(changed).rejects.toThrow(REFUSED_BY_RBAC);

  // Finalizers from before the policies, or from a trusted controller, keep the Ingresses, but these serve nothing.
  const keep = async (finalizers: string[] | null) => {
    for (const kept of [name, oldName, `${oldName}-http`]) {
      await admin.patch(INGRESS, {namespace, name: kept}, {metadata: {finalizers}});
    }
  };
  await keep(['attacker.test/stay']);
  await self.deleteProject();
  const isHanging = async () => (await admin.get(INGRESS, {namespace, name}))?.metadata.deletionTimestamp;
  await until('the emptied routes are deleted, too', isHanging);
  for (const host of [own, old]) await visitor.untilGone(host);
  await keep(null);
  for (const host of [own, old]) await tenant.seesNothingOf(host);
}

export async function takeRights(victim: Victim): Promise<void> {
  const attacker = await newAttacker('attack-rights', {plan: '', deployed: false});
  const {self, client} = attacker;
  for (const [label, value] of Object.entries({[LABEL.plan]: 'pro', [LABEL.account]: victim.tenant.namespace})) {
    const labelled = client.patch(NAMESPACE, {name: self.namespace}, {metadata: {labels: {[label]: value}}});
    await expect(labelled, label).rejects.toThrow('Only the platform team may set the labels');
  }
  const spec = {account: self.namespace, namespace: self.namespace, since: '2020-01-01T00:00:00Z'};
  const claim = {apiVersion: API_VERSION, kind: 'DomainClaim', metadata: {name: victim.host}, spec};
  await expect(client.create(DOMAIN_CLAIM, claim)).rejects.toThrow(REFUSED_BY_RBAC);
  await expect(client.patch(DOMAIN_CLAIM, {name: victim.host}, {spec})).rejects.toThrow(REFUSED_BY_RBAC);
  await expect(client.delete(DOMAIN_CLAIM, {name: victim.host})).rejects.toThrow(REFUSED_BY_RBAC);

  const rbac = 'rbac.authorization.k8s.io';
  const subjects = [{kind: 'ServiceAccount', name: 'tenant', namespace: self.namespace}];
  const roleRef = {apiGroup: rbac, kind: 'ClusterRole', name: 'nameplate-trusted'};
  const notHeld = 'attempting to grant RBAC permissions not currently held';
  await expect(make(attacker, ROLE_BINDING, 'trusted', {roleRef, subjects})).rejects.toThrow(notHeld);
  const rules = [{apiGroups: ['nameplate.dev'], resources: ['routes', 'plans'], verbs: ['manage', 'assign']}];
  await expect(make(attacker, ROLE, 'trusted', {rules})).rejects.toThrow(notHeld);
}
