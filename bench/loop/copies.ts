/**
 * Copies of a live tenant, as etcd stores them. Every object of the tenant is copied with another namespace, and
 * therefore other hosts, and with other uids, so that the copy is another account. What the operator derives from these
 * is recomputed: DNS targets, proofs, names of routes, default hosts, and the hash of each intent. If a copy differed
 * from what the operator wants, the operator would write; an idle time without writes shows that it does not.
 *
 * The keys and certificates in the Secrets remain those of the tenant that was copied: only cert-manager and the edge
 * read them, and neither runs then.
 */
import {createHash} from 'node:crypto';
import {ANNOTATION} from '../../src/api/names.ts';
import {MIDDLEWARE} from '../../src/operator/edge/traefik.ts';
import {accountId} from '../../src/operator/kinds/account.ts';
import {backendName, type DerivedNames, routeName} from '../../src/operator/kinds/derived-names.ts';
import * as kinds from '../../src/operator/kinds/kinds.ts';
import {withHash} from '../../src/runtime/apply/apply.ts';
import type {KubeClient} from '../../src/runtime/kube/client.ts';
import {apiVersionOf, type KubeObject, type ResourceType} from '../../src/runtime/kube/object.ts';
import {PORT} from '../../test/support/objects.ts';
import type {Stored} from './etcd.ts';

const PROJECT_NAME = 'shop';
/** The last orders of the copies are spread over this time, as renewals would spread them. */
const LIFETIME_DAYS = 60;
/** Kinds in a tenant's namespace. */
export const KINDS: readonly ResourceType[] = [
  kinds.PROJECT,
  kinds.DOMAIN,
  kinds.SERVICE,
  kinds.ENDPOINT_SLICE,
  kinds.SECRET,
  kinds.CERTIFICATE,
  kinds.CERTIFICATE_REQUEST,
  MIDDLEWARE,
  kinds.INGRESS,
];
/** Kinds that the operator applies. cert-manager copies the annotation of a Certificate to its requests. */
const APPLIED: readonly ResourceType[] = [kinds.SERVICE, kinds.CERTIFICATE, MIDDLEWARE, kinds.INGRESS];
/** Where the API server keeps built-in kinds. It keeps the others under their group. */
const FOLDERS: Readonly<Record<string, string>> = {services: 'services/specs', ingresses: 'ingress'};
const CUSTOM_GROUP = /^(nameplate\.dev|cert-manager\.io|traefik\.io)$/;

type StoredObject = KubeObject & {spec?: Record<string, unknown>};

interface Template {
  readonly resource: ResourceType;
  /** Text and, at odd indexes, the parts to replace. */
  readonly key: readonly string[];
  readonly value: readonly string[];
  readonly isHashed: boolean;
}

export interface Copy {
  readonly namespace: string;
  /** Where the records of all its hosts point. */
  readonly target: string;
  readonly objects: Iterable<Stored>;
}

/** A tenant that can be copied any number of times. */
export class CopiedTenant {
  readonly #names: DerivedNames;
  readonly #namespace: string;
  readonly #account: string;
  readonly #hosts: readonly string[];
  readonly #uids: readonly string[];
  readonly #templates: readonly Template[];

  private constructor(names: DerivedNames, tenant: StoredObject, objects: readonly [ResourceType, StoredObject][]) {
    this.#names = names;
    this.#namespace = tenant.metadata.name;
    this.#account = accountId(tenant);
    this.#hosts = objects.filter(([{kind}]) => kind === kinds.DOMAIN.kind).map(([, {metadata}]) => metadata.name);
    this.#uids = objects.map(([, {metadata}]) => metadata.uid ?? '');
    const replaced = [...this.#replacements(this.#namespace, uid => uid).keys()];
    const pattern = new RegExp(`(${replaced.map(text => RegExp.escape(text)).join('|')})`);
    this.#templates = objects.map(([resource, object]) => {
      const isHashed =
        APPLIED.includes(resource) && object.metadata.annotations?.[ANNOTATION.appliedHash] !== undefined;
      if (isHashed) assertSameHash(resource, object);
      return {
        resource,
        isHashed,
        key: storageKey(resource, object).split(pattern),
        value: JSON.stringify(object).split(pattern),
      };
    });
  }

  /** `slim`: without managedFields, which the operator does not read. */
  static async read(
    client: KubeClient,
    names: DerivedNames,
    namespace: string,
    {slim}: {slim: boolean},
  ): Promise<CopiedTenant> {
    const objects: [ResourceType, StoredObject][] = [];
    const asStored = (resource: ResourceType, object: KubeObject) => stored(resource, slim ? slimmed(object) : object);
    const add = async (resource: ResourceType, within: {namespace?: string}) => {
      for await (const {items} of client.list(resource, within)) {
        for (const item of items) objects.push([resource, asStored(resource, item)]);
      }
    };
    for (const resource of KINDS) await add(resource, {namespace});
    for await (const {items} of client.list(kinds.DOMAIN_CLAIM)) {
      const ours = items.filter(({spec}) => spec.namespace === namespace);
      for (const item of ours) objects.push([kinds.DOMAIN_CLAIM, asStored(kinds.DOMAIN_CLAIM, item)]);
    }
    const found = await client.get(kinds.NAMESPACE, {name: namespace});
    if (!found) throw new Error(`there is no namespace ${namespace}`);
    const tenant = asStored(kinds.NAMESPACE, found);
    return new CopiedTenant(names, tenant, [[kinds.NAMESPACE, tenant], ...objects]);
  }

  get hosts(): number {
    return this.#hosts.length;
  }

  copy(index: number): Copy {
    const namespace = `${this.#namespace}-${index}`;
    const uidOf = (uid: string) => uuid(`${uid} ${index}`);
    const replacements = this.#replacements(namespace, uidOf);
    const filled = (parts: readonly string[]) =>
      parts.map((part, at) => (at % 2 === 0 ? part : (replacements.get(part) ?? part))).join('');
    const templates = this.#templates;
    const orderedAt = new Date(Date.now() - (index % LIFETIME_DAYS) * 86_400_000).toISOString().replace(/\.\d+/, '');
    const objects = {
      *[Symbol.iterator]() {
        for (const {resource, key, value, isHashed} of templates) {
          const text = filled(value).replaceAll(/"at":"[^"]*"/g, `"at":"${orderedAt}"`);
          yield {key: filled(key), value: isHashed ? hashedAgain(resource, text) : text};
        }
      },
    };
    return {namespace, target: this.#names.target(uidOf(this.#account)), objects};
  }

  /** From each text in the objects to its replacement in a copy. */
  #replacements(namespace: string, uidOf: (uid: string) => string): Map<string, string> {
    const hostIn = (host: string) => host.replace(this.#namespace, namespace);
    const derived = (where: string, account: string, host: (name: string) => string): string[] => {
      const defaultHost = this.#names.defaultHost(PROJECT_NAME, where);
      return [
        defaultHost,
        routeName(where, defaultHost),
        backendName(where, PROJECT_NAME, {port: PORT.number}),
        this.#names.target(account),
        ...this.#hosts.flatMap(name => [routeName(where, host(name)), this.#names.proofToken(account, host(name))]),
        where, // last, because others contain it
      ];
    };
    const before = [...this.#uids, ...derived(this.#namespace, this.#account, host => host)];
    const after = [...this.#uids.map(uidOf), ...derived(namespace, uidOf(this.#account), hostIn)];
    return new Map(before.map((text, index) => [text, after[index] ?? text]));
  }
}

function slimmed(object: KubeObject): KubeObject {
  const {managedFields: _, ...metadata}: KubeObject['metadata'] & {managedFields?: unknown} = object.metadata;
  return {...object, metadata};
}

function stored(resource: ResourceType, object: KubeObject): StoredObject {
  const {resourceVersion: _, ...metadata} = object.metadata;
  const whole: StoredObject = {...object, apiVersion: apiVersionOf(resource), kind: resource.kind, metadata};
  if (resource !== kinds.SERVICE) return whole;
  // Cluster addresses are unique.
  return {...whole, spec: {...whole.spec, clusterIP: 'None', clusterIPs: ['None']}};
}

function storageKey({group, plural}: ResourceType, {metadata: {namespace, name}}: KubeObject): string {
  const folder = CUSTOM_GROUP.test(group) ? `${group}/${plural}` : (FOLDERS[plural] ?? plural);
  return ['/registry', folder, ...(namespace === undefined ? [] : [namespace]), name].join('/');
}

function hashedAgain(resource: ResourceType, text: string): string {
  const object = JSON.parse(text) as StoredObject;
  const annotations = {...object.metadata.annotations, ...hashOf(resource, object)};
  return JSON.stringify({...object, metadata: {...object.metadata, annotations}});
}

function assertSameHash(resource: ResourceType, object: StoredObject): void {
  const {[ANNOTATION.appliedHash]: hash} = hashOf(resource, object);
  if (object.metadata.annotations?.[ANNOTATION.appliedHash] === hash) return;
  throw new Error(`the intent of ${resource.kind} ${object.metadata.name} cannot be told from what is stored`);
}

function hashOf(resource: ResourceType, object: StoredObject): Record<string, string> {
  const {annotations = {}} = withHash(resource, intentOf(object), ANNOTATION.appliedHash).metadata;
  return {[ANNOTATION.appliedHash]: annotations[ANNOTATION.appliedHash] ?? ''};
}

/** What the operator applied: the object without what the API server has added. */
function intentOf({apiVersion, kind, metadata, spec = {}}: StoredObject): StoredObject {
  const {name, namespace, labels, annotations = {}, ownerReferences} = metadata;
  const {[ANNOTATION.appliedHash]: _, ...own} = annotations;
  const {type, clusterIP, selector, ports} = spec as Partial<kinds.Service['spec']> & {clusterIP?: string};
  const applied = kind === kinds.SERVICE.kind ? {type, clusterIP, selector, ports: ports?.map(withoutProtocol)} : spec;
  return {
    apiVersion,
    kind,
    metadata: {
      name,
      ...(namespace !== undefined && {namespace}),
      ...(labels && {labels}),
      ...(Object.keys(own).length > 0 && {annotations: own}),
      ...(ownerReferences && {ownerReferences}),
    },
    spec: applied,
  };
}

function withoutProtocol({protocol: _, ...port}: kinds.ServicePort & {protocol?: string}): kinds.ServicePort {
  return port;
}

/** Looks random, but the same text always gives the same uid. */
function uuid(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), `4${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    '-',
  );
}
