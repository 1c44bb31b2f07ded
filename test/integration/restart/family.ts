/**
 * Two accounts that share hosts, and everything that their tenants and the platform may do to them. What happens follows
 * from a seed.
 */
import type {ProjectSpec} from '../../../src/api/generated/project.ts';
import {ANNOTATION, API_VERSION, LABEL} from '../../../src/api/names.ts';
import {API_KEY, type APIKey} from '../../../src/apikey/apikey.ts';
import {MIDDLEWARE} from '../../../src/operator/edge/traefik.ts';
import {type DerivedNames, routeName} from '../../../src/operator/kinds/derived-names.ts';
import * as kinds from '../../../src/operator/kinds/kinds.ts';
import type {KubeClient} from '../../../src/runtime/kube/client.ts';
import {ApiError, classifyFailure, isConflict, isForbidden, isNotFound} from '../../../src/runtime/kube/errors.ts';
import type {Intent, KubeObject, ObjectKey, ResourceType} from '../../../src/runtime/kube/object.ts';
import {BASE_DOMAIN} from '../../cluster/state.ts';
import {until} from '../../cluster/wait.ts';
import * as objects from '../../support/objects.ts';
import {below, pick, type RandomSource} from '../dns/mutate.ts';
import type {History} from '../operator/history.ts';
import type {NameServerName, NameServers} from '../operator/name-servers.ts';
import {INGRESS_ADDRESS} from '../operator/operator-world.ts';

/** The first two have the same account. */
const NAMESPACES = ['x', 'y', 'z'] as const;
const NAME_SERVERS: readonly NameServerName[] = ['one', 'two'];
const PROJECTS = ['one', 'two', 'three'] as const;
const LABELS = ['a', 'b', 'c'] as const;
const PLANS = ['pro', 'pro', 'starter', 'free', 'unknown', null] as const;
/** On a namespace: the API server rejects what the operator writes to objects of this kind, except their status. */
export const FROZEN = 'test/frozen';
/** Values of the label. */
export const FROZEN_KINDS = ['domains', 'certificates', 'ingresses', 'services'] as const;

/** What any move may need. All is drawn for each move, so a sequence without one of its moves is otherwise the same. */
interface Draw {
  readonly namespace: (typeof NAMESPACES)[number];
  readonly other: (typeof NAMESPACES)[number];
  readonly project: (typeof PROJECTS)[number];
  readonly label: (typeof LABELS)[number];
  readonly plan: (typeof PLANS)[number];
  readonly frozen: (typeof FROZEN_KINDS)[number];
  readonly isOn: boolean;
  /** Labels: of the primary, an alias, the origin and the target of a redirect. */
  readonly lists: readonly (string | undefined)[];
  readonly status: 301 | 302 | 308;
  readonly token: string;
}

/** A move, and the pause after it. */
export interface Step extends Draw {
  readonly move: Move;
  readonly pauseMs: number;
}

export interface FamilyWorld {
  readonly client: KubeClient;
  readonly history: History;
  readonly dns: NameServers;
  readonly names: DerivedNames;
}

/** The id of the family to which a host, or the namespace of this name, belongs. */
export function familyOf(name: string): string | undefined {
  return /^(?:\w+\.)?(f\d+)[-.]/.exec(name)?.[1];
}

export class Family {
  readonly id: string;
  /** Of all its hosts. */
  readonly domain: string;
  readonly #world: FamilyWorld;
  /** By host and type, on each name server. */
  readonly #records = new Map<string, Readonly<Record<NameServerName, readonly string[]>>>();

  constructor(world: FamilyWorld, id: string, zone: string) {
    this.#world = world;
    this.id = id;
    this.domain = `${id}.${zone}`;
  }

  namespace(name: string): string {
    return `${this.id}-${name}`;
  }

  host(label: string): string {
    return `${label}.${this.domain}`;
  }

  get namespaces(): readonly string[] {
    return NAMESPACES.map(name => this.namespace(name));
  }

  /** Whether the host, or the namespace of this name, belongs to the family. */
  owns(name: string): boolean {
    return familyOf(name) === this.id;
  }

  /** Sets up the family, or resets it. Objects that were created meanwhile stay. */
  async begin(): Promise<void> {
    const {dns} = this.#world;
    await dns.clear(this.domain);
    this.#records.clear();
    await this.#set(`*.${this.domain}`, 'CNAME', [this.target('x')]);
    for (const name of NAMESPACES) {
      const existing = this.#world.history.get(kinds.NAMESPACE, this.namespace(name));
      if (existing?.metadata.deletionTimestamp) await this.isGone(name);
      await this.create(name);
    }
    for (const project of PROJECTS.slice(0, 2)) await this.deploy('x', project);
    await this.apiKey('x', 'one');
    await this.project('x', 'one', {
      primary: this.host('a'),
      redirects: [{from: this.host('b')}],
    });
  }

  /** False if the move was refused. */
  async take(step: Step): Promise<boolean> {
    try {
      return (await MOVES[step.move](this, step)) !== false;
    } catch (error) {
      if (!isExpected(error)) throw error;
      return false;
    }
  }

  async create(name: string): Promise<void> {
    const account = `${this.id}-${name === 'z' ? 'second' : 'first'}`;
    const namespace = objects.tenantNamespace(this.namespace(name), {plan: 'pro', account});
    await this.#world.client.apply(kinds.NAMESPACE, namespace);
    const {labels} = namespace.metadata;
    const metadata = {labels: {...labels, [FROZEN]: null}, annotations: {[ANNOTATION.paused]: null}};
    await this.patch(kinds.NAMESPACE, {name: namespace.metadata.name}, {metadata});
  }

  target(name: string): string {
    return this.#world.names.target(`${this.id}-${name === 'z' ? 'second' : 'first'}`);
  }

  async project(
    name: string,
    project: string,
    domains: ProjectSpec['domains'],
    service?: ProjectSpec['service'],
  ): Promise<void> {
    await this.#world.client.apply(kinds.PROJECT, objects.project(this.namespace(name), project, domains, service));
  }

  async deploy(name: string, project: string, isReady = true): Promise<void> {
    const {client} = this.#world;
    const namespace = this.namespace(name);
    await client.apply(kinds.SERVICE, objects.service(namespace, project, [{name: 'http', port: 80}]));
    await client.apply(kinds.ENDPOINT_SLICE, objects.endpointSlice(namespace, project, isReady));
  }

  async apiKey(name: string, project: string): Promise<void> {
    const metadata = {namespace: this.namespace(name), name: project};
    const spec: APIKey['spec'] = {scopes: ['messages:write']};
    await this.apply(API_KEY, {apiVersion: API_VERSION, kind: 'APIKey', metadata, spec});
  }

  async apply<T extends KubeObject>(resource: ResourceType<T>, object: Intent<T>): Promise<void> {
    await this.#world.client.apply(resource, object);
  }

  async delete(resource: ResourceType, key: ObjectKey): Promise<boolean> {
    return this.#world.client.delete(resource, key);
  }

  async patch(resource: ResourceType, key: ObjectKey, patch: Record<string, unknown>, subresource?: string) {
    await this.#world.client.patch(resource, key, patch, {...(subresource !== undefined && {subresource})});
  }

  async annotate(resource: ResourceType, key: ObjectKey, annotations: Record<string, string | null>): Promise<void> {
    await this.patch(resource, key, {metadata: {annotations}});
  }

  async record(label: string, type: string, values: readonly string[], at?: NameServerName): Promise<void> {
    await this.#set(this.host(label), type, values, at);
  }

  /** For all hosts. */
  async caa(values: readonly string[]): Promise<void> {
    await this.#set(this.domain, 'CAA', values);
  }

  /** Whether both name servers point the host to the account of a namespace, and let every CA issue. */
  proves(host: string, account: string): boolean {
    const target = this.#world.names.target(account);
    return NAME_SERVERS.every(at => {
      const own = ['CNAME', 'A', 'TXT'].filter(type => this.#at(host, type, at).length > 0);
      const shown = this.#at(own.length > 0 ? host : `*.${this.domain}`, 'CNAME', at);
      return shown[0] === target && this.#at(this.domain, 'CAA', at).length === 0;
    });
  }

  #at(name: string, type: string, at: NameServerName): readonly string[] {
    return this.#records.get(`${name} ${type}`)?.[at] ?? [];
  }

  async #set(name: string, type: string, values: readonly string[], at?: NameServerName): Promise<void> {
    const before = {one: this.#at(name, type, 'one'), two: this.#at(name, type, 'two')};
    this.#records.set(`${name} ${type}`, at ? {...before, [at]: values} : {one: values, two: values});
    await this.#world.dns.set(name, type, values, at);
  }

  list<T extends KubeObject>(resource: ResourceType<T>, name: string): T[] {
    return this.#world.history.list(resource, this.namespace(name));
  }

  defaultHost(name: string, project: string): string {
    return this.#world.names.defaultHost(project, this.namespace(name));
  }

  /** Waits until a deleted namespace is gone. */
  async isGone(name: string): Promise<void> {
    const {client} = this.#world;
    for (const {metadata} of this.list(kinds.INGRESS, name)) {
      if (metadata.finalizers) await this.patch(kinds.INGRESS, metadata, {metadata: {finalizers: null}});
    }
    const find = () => client.get(kinds.NAMESPACE, {name: this.namespace(name)});
    await until(`namespace ${this.namespace(name)} is gone`, async () => !(await find()), {timeoutMs: 300_000});
  }
}

/**
 * The object is gone, or goes with its namespace, or somebody else wrote first, or the move makes no sense here. Or the
 * API server was too busy to answer: whether it made the move then does not matter, because facts follow from objects.
 */
function isExpected(error: unknown): boolean {
  const isRefused = isForbidden(error) || (error instanceof ApiError && error.status === 422);
  return isNotFound(error) || isConflict(error) || isRefused || classifyFailure(error) === 'outage';
}

type Act = (family: Family, draw: Draw) => Promise<unknown>;

const inside = (family: Family, {namespace}: Draw, name: string) => ({namespace: family.namespace(namespace), name});
const route = (family: Family, draw: Draw, suffix = '') =>
  inside(family, draw, `${routeName(family.namespace(draw.namespace), family.host(draw.label))}${suffix}`);

function listed(family: Family, {lists, status}: Draw): ProjectSpec['domains'] {
  const [primary, alias, from, to] = lists.map(label => (label === undefined ? undefined : family.host(label)));
  const isRedirect = from !== undefined && from !== to && (to ?? primary) !== undefined;
  return {
    ...(primary !== undefined && {primary}),
    ...(alias !== undefined && {aliases: [alias]}),
    ...(isRedirect && {redirects: [{from, ...(to !== undefined && {to}), ...(status !== 301 && {status})}]}),
  };
}

/** Everything that the operator or cert-manager has made for the hosts of a namespace. */
async function deleteAll(family: Family, {namespace}: Draw, of: readonly ResourceType[]): Promise<void> {
  for (const resource of of) {
    for (const {metadata} of family.list(resource as ResourceType<KubeObject>, namespace)) {
      if (!metadata.name.startsWith('np-')) continue;
      await family.delete(resource, {namespace: family.namespace(namespace), name: metadata.name});
    }
  }
}

const MOVES = {
  // Projects
  'list hosts': (family, draw) => family.project(draw.namespace, draw.project, listed(family, draw)),
  'list other hosts': (family, draw) => family.project(draw.namespace, draw.project, listed(family, draw)),
  'list one host': (family, draw) => family.project(draw.namespace, draw.project, {primary: family.host(draw.label)}),
  'list no host': (family, draw) => family.project(draw.namespace, draw.project, {}),
  'list hosts of the platform': (family, draw) =>
    family.project(draw.namespace, draw.project, {
      primary: family.host(draw.label),
      aliases: [
        family.defaultHost(draw.namespace, draw.isOn ? draw.project : 'two'),
        draw.isOn ? 'x.reserved.test' : BASE_DOMAIN,
      ],
    }),
  'use another Service': (family, draw) =>
    family.patch(kinds.PROJECT, inside(family, draw, draw.project), {
      spec: {service: {name: draw.isOn ? 'two' : draw.project, port: draw.isOn ? 'http' : draw.lists[0] ? 81 : 80}},
    }),
  'delete a Project': (family, draw) => family.delete(kinds.PROJECT, inside(family, draw, draw.project)),
  'create a Project anew': async (family, draw) => {
    await family.delete(kinds.PROJECT, inside(family, draw, draw.project));
    await family.project(draw.namespace, draw.project, listed(family, draw));
  },
  'move a Project': async (family, draw) => {
    if (draw.namespace === draw.other) return false;
    await family.project(draw.other, draw.project, listed(family, draw));
    return family.delete(kinds.PROJECT, inside(family, draw, draw.project));
  },
  'lose the status of a Project': (family, draw) =>
    family.patch(kinds.PROJECT, inside(family, draw, draw.project), {status: null}, 'status'),

  // Domains
  'create a Domain': (family, draw) => {
    const {namespace, project, label, lists, isOn, status} = draw;
    const to = lists[0] !== undefined && lists[0] !== label && isOn ? family.host(lists[0]) : undefined;
    const redirect = to === undefined ? undefined : {to, status};
    return family.apply(
      kinds.DOMAIN,
      objects.domain(family.namespace(namespace), family.host(label), project, redirect),
    );
  },
  'delete a Domain': (family, draw) => family.delete(kinds.DOMAIN, inside(family, draw, family.host(draw.label))),
  'create a Domain anew': async (family, draw) => {
    await family.delete(kinds.DOMAIN, inside(family, draw, family.host(draw.label)));
    const {namespace, project, label} = draw;
    await family.apply(kinds.DOMAIN, objects.domain(family.namespace(namespace), family.host(label), project));
  },
  'edit a Domain': (family, draw) =>
    family.patch(kinds.DOMAIN, inside(family, draw, family.host(draw.label)), {
      spec: {projectRef: {name: draw.project}},
    }),
  'adopt a Domain': (family, draw) =>
    family.patch(kinds.DOMAIN, inside(family, draw, family.host(draw.label)), {
      metadata: {labels: {[LABEL.managed]: draw.isOn ? 'true' : null}},
    }),
  'lose the status of a Domain': (family, draw) =>
    family.patch(kinds.DOMAIN, inside(family, draw, family.host(draw.label)), {status: null}, 'status'),
  verify: (family, draw) =>
    family.annotate(kinds.DOMAIN, inside(family, draw, family.host(draw.label)), {
      [ANNOTATION.verifyRequestedAt]: draw.token,
    }),

  // Services
  deploy: (family, draw) => family.deploy(draw.namespace, draw.project),
  'deploy without a pod': (family, draw) => family.deploy(draw.namespace, draw.project, false),
  'delete a Service': (family, draw) => family.delete(kinds.SERVICE, inside(family, draw, draw.project)),
  'delete endpoints': (family, draw) => family.delete(kinds.ENDPOINT_SLICE, inside(family, draw, draw.project)),
  'change a port': (family, {namespace, project, isOn, lists}) => {
    const port = {name: isOn ? 'http' : 'other', port: lists[0] === undefined ? 8080 : 80};
    return family.apply(kinds.SERVICE, objects.service(family.namespace(namespace), project, [port]));
  },

  // The platform
  'change the plan': (family, {namespace, plan}) =>
    family.patch(kinds.NAMESPACE, {name: family.namespace(namespace)}, {metadata: {labels: {[LABEL.plan]: plan}}}),
  'change the account': (family, {namespace, other, isOn}) => {
    const account = isOn ? `${family.id}-${other === 'z' ? 'second' : 'first'}` : null;
    return family.patch(
      kinds.NAMESPACE,
      {name: family.namespace(namespace)},
      {metadata: {labels: {[LABEL.account]: account}}},
    );
  },
  'delete a namespace': (family, {namespace}) => family.delete(kinds.NAMESPACE, {name: family.namespace(namespace)}),
  'create a namespace anew': async (family, draw) => {
    await family.delete(kinds.NAMESPACE, {name: family.namespace(draw.namespace)});
    await family.isGone(draw.namespace);
    await family.create(draw.namespace);
    await family.deploy(draw.namespace, draw.project);
    await family.project(draw.namespace, draw.project, listed(family, draw));
  },
  'create a namespace': (family, {namespace}) => family.create(namespace),
  freeze: (family, {namespace, isOn, frozen}) =>
    family.patch(
      kinds.NAMESPACE,
      {name: family.namespace(namespace)},
      {metadata: {labels: {[FROZEN]: isOn ? frozen : null}}},
    ),
  'pause a namespace': (family, {namespace, isOn}) =>
    family.annotate(kinds.NAMESPACE, {name: family.namespace(namespace)}, {[ANNOTATION.paused]: isOn ? 'true' : null}),
  'pause a Project': (family, draw) =>
    family.annotate(kinds.PROJECT, inside(family, draw, draw.project), {
      [ANNOTATION.paused]: draw.isOn ? 'true' : null,
    }),
  'pause a Domain': (family, draw) =>
    family.annotate(kinds.DOMAIN, inside(family, draw, family.host(draw.label)), {
      [ANNOTATION.paused]: draw.isOn ? 'true' : null,
    }),

  // DNS
  'point a host to the first account': (family, {label}) => family.record(label, 'CNAME', [family.target('x')]),
  'point a host to the second account': (family, {label}) => family.record(label, 'CNAME', [family.target('z')]),
  'point a host elsewhere': (family, {label}) => family.record(label, 'CNAME', ['elsewhere.test']),
  'point a host to an address': async (family, {label, isOn}) => {
    await family.record(label, 'CNAME', []);
    await family.record(label, 'A', [isOn ? INGRESS_ADDRESS : '192.0.2.99']);
  },
  'remove the records of a host': async (family, {label}) => {
    for (const type of ['CNAME', 'A']) await family.record(label, type, []);
    await family.record(label, 'TXT', ['nothing else here']);
  },
  'let another CA issue': (family, {isOn}) => family.caa(isOn ? ['0 issue "another-ca.test"'] : []),
  'let name servers disagree': async (family, {label, isOn}) => {
    await family.record(label, 'CNAME', [family.target('z')], isOn ? 'one' : 'two');
  },

  // What the operator and cert-manager have made
  'delete a Secret': (family, draw) => family.delete(kinds.SECRET, route(family, draw)),
  'edit a Secret': (family, draw) =>
    family.annotate(kinds.SECRET, route(family, draw), {
      'cert-manager.io/alt-names': draw.isOn ? family.host(draw.label) : `${family.host('a')},${family.host('b')}`,
    }),
  'delete a Certificate': (family, draw) => family.delete(kinds.CERTIFICATE, route(family, draw)),
  'edit a Certificate': (family, draw) =>
    family.patch(kinds.CERTIFICATE, route(family, draw), {spec: {dnsNames: [family.host('a'), family.host('b')]}}),
  'delete a claim': (family, draw) => family.delete(kinds.DOMAIN_CLAIM, {name: family.host(draw.label)}),
  'delete a route': (family, draw) => family.delete(kinds.INGRESS, route(family, draw)),
  'delete all routes': (family, draw) => deleteAll(family, draw, [kinds.INGRESS, MIDDLEWARE, kinds.SERVICE]),
  'delete all Secrets': (family, draw) => deleteAll(family, draw, [kinds.SECRET]),
  'delete all Certificates': (family, draw) => deleteAll(family, draw, [kinds.CERTIFICATE]),
  'edit a route': (family, draw) =>
    family.patch(kinds.INGRESS, route(family, draw), {spec: {rules: [{host: family.host('c')}]}}),
  'unlabel a route': (family, draw) =>
    family.patch(kinds.INGRESS, route(family, draw), {metadata: {labels: {[LABEL.managedBy]: null}}}),
  'keep a route': (family, draw) =>
    family.patch(kinds.INGRESS, route(family, draw), {
      metadata: {finalizers: draw.isOn ? ['example.com/keep'] : []},
    }),
  'delete the route of a default host': (family, draw) => {
    const namespace = family.namespace(draw.namespace);
    const name = routeName(namespace, family.defaultHost(draw.namespace, draw.project));
    return family.delete(kinds.INGRESS, {namespace, name});
  },

  // API keys
  'create an APIKey': (family, {namespace, project}) => family.apiKey(namespace, project),
  'delete an APIKey': (family, draw) => family.delete(API_KEY, inside(family, draw, draw.project)),
  'rotate an APIKey': (family, draw) =>
    family.annotate(API_KEY, inside(family, draw, draw.project), {[ANNOTATION.rotateRequestedAt]: draw.token}),
  'delete the Secret of an APIKey': (family, draw) =>
    family.delete(kinds.SECRET, inside(family, draw, `${draw.project}-apikey`)),
} satisfies Record<string, Act>;

export type Move = keyof typeof MOVES;
export const MOVE_NAMES = Object.keys(MOVES) as Move[];

/**
 * Most moves concern the same few objects; otherwise, they would rarely meet. `pauseMs`: the longest pause after a move;
 * after about half of them, there is none.
 */
export function stepsOf(random: RandomSource, count: number, pauseMs: number): Step[] {
  const namespaceOf = () => pick(['x', 'x', 'x', 'x', 'y', 'z'] as const, random);
  const labelOf = () => pick(['a', 'a', 'a', 'b', 'b', 'c'] as const, random);
  const labelOrNone = () => (random() < 0.6 ? pick(LABELS, random) : undefined);
  return Array.from({length: count}, () => ({
    move: pick(MOVE_NAMES, random),
    namespace: namespaceOf(),
    other: namespaceOf(),
    project: pick(['one', 'one', 'one', 'one', 'two', 'three'] as const, random),
    label: labelOf(),
    plan: pick(PLANS, random),
    frozen: pick(FROZEN_KINDS, random),
    isOn: random() < 0.5,
    lists: distinct([labelOrNone(), labelOrNone(), labelOrNone(), labelOrNone()]),
    status: pick([301, 301, 302, 308] as const, random),
    token: `${below(1_000_000, random)}`,
    pauseMs: Math.max(0, (random() - 0.5) * 2 * pauseMs),
  }));
}

/** A Project lists no host twice; a redirect may point to any host. */
function distinct([primary, alias, from, to]: (string | undefined)[]): (string | undefined)[] {
  const before = new Set([primary]);
  const once = (label: string | undefined) => {
    if (label === undefined || before.has(label)) return undefined;
    before.add(label);
    return label;
  };
  return [primary, once(alias), once(from), to];
}
