/** A whole domain life, from a Project without domains to their removal, and the objects at both ends. */
import {isDeepStrictEqual} from 'node:util';
import {ANNOTATION} from '../../../src/api/names.ts';
import {backendName, routeName} from '../../../src/operator/kinds/derived-names.ts';
import * as kinds from '../../../src/operator/kinds/kinds.ts';
import type {KubeObject, ResourceType} from '../../../src/runtime/kube/object.ts';
import {PORT} from '../../support/objects.ts';
import type {DomainTenant} from '../operator/domain-tenant.ts';

/** By "Kind name", without what differs from life to life. */
export type State = Readonly<Record<string, unknown>>;

/** The traces of a life: the state when all was live, and at the end. */
export interface Traces {
  readonly live: State;
  readonly removed: State;
}

const LABELS = ['shop', 'www'] as const;

/** Runs through the life, and gets the state from `settle` at both ends. */
export async function liveThrough(
  tenant: DomainTenant,
  routes: readonly ResourceType[],
  settle: (name: keyof Traces, state: () => State) => Promise<State>,
): Promise<Traces> {
  const [shop, www] = LABELS.map(label => tenant.host(label)) as [string, string];
  const state = () => stateOf(tenant, routes);
  await tenant.deployedProject({primary: shop, redirects: [{from: www}]});
  for (const host of [shop, www]) await tenant.createRecords(host);
  for (const host of [shop, www]) await tenant.becomesLive(host);
  await tenant.verify(shop, 'asked');
  await tenant.projectBecomes('shop', {Ready: 'Published', DomainsReady: 'AllLive'});
  const live = await settle('live', state);

  await tenant.project();
  for (const host of [shop, www]) {
    await tenant.until(`${host} is released`, () => tenant.claim(host)?.spec.releasedAt);
    await tenant.until(`${host} is gone`, () => !tenant.domain(host) && !tenant.certificate(host));
    const secret = () =>
      tenant.world.history.get(kinds.SECRET, `${tenant.namespace}/${routeName(tenant.namespace, host)}`);
    await tenant.until(
      `the Secret of ${host} is kept`,
      () => secret()?.metadata.annotations?.[ANNOTATION.retainedSince],
    );
  }
  return {live, removed: await settle('removed', state)};
}

/** How the certificates were issued, one line per change, for the message of a failed test. */
export function issuances({namespace, world: {history}}: DomainTenant): string {
  const certificates = history.versions(kinds.CERTIFICATE).map(({type, object, at}) => {
    const {revision, conditions = []} = object.status ?? {};
    const said = conditions.map(({type: name, status, reason, message}) => `${name} ${status} ${reason}: ${message}`);
    return {at, type, object, said: `generation ${object.metadata.generation} revision ${revision} ${said.join('; ')}`};
  });
  const requests = history.versions(kinds.CERTIFICATE_REQUEST).map(({type, object, at}) => {
    const said = object.status?.conditions?.map(({type: name, status, reason}) => `${name} ${status} ${reason}`) ?? [];
    return {at, type, object, said: `${object.metadata.uid} ${said.join('; ')}`};
  });
  const secrets = history.versions(kinds.SECRET).map(({type, object, at}) => ({at, type, object, said: ''}));
  return [...certificates, ...requests, ...secrets]
    .filter(({object}) => object.metadata.namespace === namespace)
    .sort((a, b) => a.at - b.at)
    .map(({at, type, object, said}) => `${at} ${type} ${object.kind ?? 'Secret'} ${object.metadata.name} ${said}`)
    .join('\n');
}

/** Everything that the operator has created or changed, and how often each object was created and deleted. */
function stateOf(tenant: DomainTenant, routes: readonly ResourceType[]): State {
  const {history} = tenant.world;
  const names = namesOf(tenant);
  const state: Record<string, unknown> = {};
  for (const resource of [kinds.PROJECT, kinds.DOMAIN, ...routes, kinds.CERTIFICATE, kinds.SECRET]) {
    for (const object of history.list<KubeObject>(resource, tenant.namespace).filter(isOurs)) {
      state[neutral(`${resource.kind} ${object.metadata.name}`, names)] = JSON.parse(neutral(shown(object), names));
    }
    for (const type of ['ADDED', 'DELETED']) {
      const versions = history.versions<KubeObject>(resource);
      const mine = versions.filter(
        version => version.type === type && version.object.metadata.namespace === tenant.namespace,
      );
      state[`${type} ${resource.kind}`] = mine.filter(({object}) => isOurs(object)).length;
    }
  }
  for (const label of LABELS) {
    const claims = history.versions(kinds.DOMAIN_CLAIM, tenant.host(label));
    const claim = tenant.claim(tenant.host(label));
    state[`DomainClaim ${label}`] = claim
      ? JSON.parse(
          neutral(shown({...claim, spec: {...claim.spec, orders: ordersOf(tenant, claim)}} as KubeObject), names),
        )
      : undefined;
    state[`ADDED DomainClaim ${label}`] = claims.filter(({type}) => type === 'ADDED').length;
  }
  return state;
}

/**
 * Each of cert-manager's requests counts as one order. Sometimes it creates two for a new certificate: it did for 3 of
 * 800 Ingresses with its own annotation, so the operator does not cause this.
 */
function ordersOf(tenant: DomainTenant, {metadata, spec}: kinds.DomainClaim): unknown {
  const recorded = (spec.orders ?? []).map(({request}) => request);
  const made = tenant.certificateRequests(metadata.name).map(({object}) => object.metadata.uid);
  if (recorded.length === 0) return 'none';
  return isDeepStrictEqual(recorded.toSorted(), made.toSorted()) ? 'one for each request' : {recorded, made};
}

/**
 * While it issues, cert-manager has its own Secrets, with a key, and Ingresses, which answer a challenge. They are not
 * ours.
 */
function isOurs({metadata: {labels = {}}}: KubeObject): boolean {
  return !labels['cert-manager.io/next-private-key'] && !labels['acme.cert-manager.io/http01-solver'];
}

/**
 * Leaves out annotations, which are cert-manager's; statuses of other controllers; and evidence, which is written
 * independently.
 */
function shown({kind, metadata, ...rest}: KubeObject & {status?: unknown}): string {
  const {name, labels, annotations = {}, ownerReferences} = metadata;
  const kept = Object.entries(annotations).filter(
    ([key]) => !key.includes('cert-manager.io/') && key !== ANNOTATION.appliedHash,
  );
  const owners = ownerReferences?.map(owner => `${owner.kind} ${owner.name}`).sort();
  const {status, ...content} = rest;
  const isOurStatus = [kinds.PROJECT, kinds.DOMAIN].some(resource => resource.kind === kind);
  const said = isOurStatus ? {status: withoutEvidence(status)} : {};
  return JSON.stringify({
    kind,
    name,
    labels,
    annotations: Object.fromEntries(kept.sort()),
    owners,
    ...content,
    ...said,
  });
}

function withoutEvidence(status: unknown): unknown {
  const {dns, ...rest} = (status ?? {}) as kinds.Domain['status'] & object;
  return {...rest, ...(dns?.required && {required: dns.required})};
}

/** Names that differ in each life, and what to call them here. */
function namesOf(tenant: DomainTenant): readonly (readonly [string | RegExp, string])[] {
  const {namespace, world} = tenant;
  const defaultHost = tenant.get(kinds.PROJECT, 'shop')?.status?.defaultHost ?? 'no default host';
  const uid = world.history.get(kinds.NAMESPACE, namespace)?.metadata.uid ?? 'no uid';
  return [
    [backendName(namespace, 'shop', {port: PORT.number}), 'np-backend'],
    [routeName(namespace, defaultHost), 'np-default'],
    ...LABELS.map(label => [routeName(namespace, tenant.host(label)), `np-${label}`] as const),
    [defaultHost, 'default-host'],
    [uid, 'account'],
    [tenant.zone, 'zone'],
    [namespace, 'namespace'],
    [/[a-z2-7]{20}(?=\.edge\.)/g, 'target'],
    [/nameplate-proof=[a-z2-7]{32}/g, 'proof'],
    [/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'uid'],
    [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, 'time'],
  ];
}

function neutral(text: string, names: ReturnType<typeof namesOf>): string {
  return names.reduce((result, [name, substitute]) => result.replaceAll(name, substitute), text);
}
