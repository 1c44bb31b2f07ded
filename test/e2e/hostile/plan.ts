/** What an attacker does in a round: drawn from a seed, without reading the cluster. */
import {routeName} from '../../../src/operator/kinds/derived-names.ts';
import {type KubeObject, type ResourceType, resourceName} from '../../../src/runtime/kube/object.ts';
import type {WritableKind} from './catalog.ts';
import {contentOf, everything, something} from './objects.ts';
import {Draw, type Known} from './pools.ts';
import type {Random} from './random.ts';
import type {Content} from './skeletons.ts';

/** Where a record of the attacker's own host points. */
export type Target = 'own' | 'victim' | 'edge' | 'trap' | 'nowhere';
/** What the attacker's ACME server puts into the answer to an order. */
export interface Identifier {
  readonly type: 'dns' | 'ip';
  readonly value: string;
}

export type Move =
  | {readonly do: 'create'; readonly resource: ResourceType; readonly object: KubeObject}
  /** The same object so many times, under names with a number. */
  | {readonly do: 'crowd'; readonly resource: ResourceType; readonly object: KubeObject; readonly count: number}
  /** `nth`: an index into the objects of this kind in the namespace, modulo their number. */
  | {readonly do: 'patch'; readonly resource: ResourceType; readonly nth: number; readonly change: Change}
  | {readonly do: 'delete'; readonly resource: ResourceType; readonly nth: number}
  /** Applies from now on to every object of the kind that someone else creates in the namespace. */
  | {readonly do: 'react'; readonly resource: ResourceType; readonly change: Change | 'delete'}
  /** Ends all reactions, and reverts their changes and those of the patches. */
  | {readonly do: 'undo'}
  /** Lists a host in its Project. */
  | {readonly do: 'add'; readonly host: string}
  | {readonly do: 'remove'; readonly host: string}
  | {readonly do: 'point'; readonly host: string; readonly to: Target; readonly server?: 'ns1'}
  | {readonly do: 'relay'; readonly identifier: Identifier}
  /** The owner of the host's DNS points it at another tenant, which lists it; the attacker keeps it listed. */
  | {readonly do: 'lose'; readonly host: string}
  /** The owner of a host of another tenant points it at the attacker. */
  | {readonly do: 'gain'}
  /** Sends requests to the messages API, which the seed draws. */
  | {readonly do: 'send'; readonly seed: number}
  /** Waits until cert-manager has finished its work in the namespace, up to a limit. */
  | {readonly do: 'wait'};

/** The attacker's finalizer, which nobody removes. */
export const STAY = 'attacker.test/stay';

export interface Change {
  readonly subresource?: string;
  readonly content: Content;
}

/** How often objects of a group are created, depending on how much work they cause for controllers; 1 by default. */
const WEIGHT: Readonly<Record<string, number>> = {
  'cert-manager.io': 12,
  'networking.k8s.io': 8,
  'acme.cert-manager.io': 4,
  'nameplate.dev': 4,
};
const WEIGHT_OF_KIND: Readonly<Record<string, number>> = {
  ...{Certificate: 45, CertificateRequest: 8, Service: 6, Secret: 4, Pod: 3, NetworkPolicy: 1},
};
/** Kinds that an attacker creates in numbers: pods would only fill the test's one node. */
const IN_CROWDS: Readonly<Record<string, number>> = {
  ...{APIKey: 6, Secret: 2, Certificate: 2, Project: 2, Domain: 2, Ingress: 1, Service: 1, CertificateRequest: 1},
};
/** The average number of moves before the attacker switches to another of its hosts. */
const MOVES_PER_HOST = 25;
/** Kinds that others create in a tenant's namespace, weighted by how often the attacker reacts to them. */
const CREATED_BY_OTHERS: Readonly<Record<string, number>> = {
  ...{Pod: 3, Service: 3, Ingress: 3},
  ...{Secret: 1, CertificateRequest: 1, Order: 1, Challenge: 1},
};

/** First an object of every kind whose references all name a victim's objects, then random moves. */
export function planOf(random: Random, catalog: readonly WritableKind[], known: Known, moves: number): Move[] {
  const planner = new Planner(random, catalog, known);
  const loses = Math.floor(moves * 0.7);
  const middle = Array.from({length: moves}, (_, index) => {
    if (index === Math.floor(moves * 0.3)) return [{do: 'gain'} as const];
    return index === loses ? planner.lose() : planner.next();
  });
  return [...planner.begin(), ...planner.sweep(), ...middle.flat(), {do: 'wait'}, {do: 'undo'}, {do: 'wait'}];
}

class Planner {
  readonly #random: Random;
  readonly #catalog: readonly WritableKind[];
  readonly #known: Known;
  readonly #issuers: string[] = [];
  readonly #listed: string[] = [];
  readonly #lost = new Set<string>();
  /** The host that most moves currently concern. */
  #focus: string;
  #made = 0;

  constructor(random: Random, catalog: readonly WritableKind[], known: Known) {
    this.#random = random;
    this.#catalog = catalog;
    this.#known = known;
    [this.#focus = ''] = known.hosts;
  }

  begin(): Move[] {
    const reactions = Array.from({length: this.#random.below(3)}, () => this.#react());
    return [...this.#add(this.#focus), this.#relay(), ...reactions];
  }

  sweep(): Move[] {
    return this.#writable('create').map(kind => {
      const draw = this.#draw(this.#random.pick(this.#known.victims).host);
      return this.#created(kind, everything(kind, draw, this.#name(kind, draw)));
    });
  }

  next(): Move[] {
    const random = this.#random;
    const move = random.weighted<() => Move[]>([
      [110, () => [this.#create()]],
      [24, () => [this.#patch()]],
      [16, () => [this.#delete()]],
      [14, () => this.#add(this.#ownHost())],
      [4, () => [this.#remove()]],
      [10, () => [this.#point()]],
      [6, () => [this.#react()]],
      [8, () => [this.#relay()]],
      [1, () => this.lose()],
      [4, () => [{do: 'undo'}]],
      [5, () => [this.#crowd()]],
      [16, () => [{do: 'send', seed: random.below(2 ** 31)}]],
      [6, () => [{do: 'wait'}]],
    ]);
    return random.chance(1 / MOVES_PER_HOST) ? [...this.#turn(), ...move()] : move();
  }

  /** Sometimes while its certificate is issued, and sometimes long after. */
  lose(): Move[] {
    const host = this.#random.chance(0.7) ? this.#focus : this.#random.pick(this.#known.hosts);
    const add = this.#random.chance(0.3) ? [...this.#add(host), {do: 'wait'} as const] : [];
    return [...add, this.#lose(host)];
  }

  /** Switches to another host, often after losing this one. */
  #turn(): Move[] {
    const lose = this.#random.chance(0.7) ? [this.#lose(this.#focus)] : [];
    const {hosts} = this.#known;
    const kept = hosts.filter(host => !this.#lost.has(host));
    this.#focus = this.#random.pick(kept.length > 0 && this.#random.chance(0.9) ? kept : hosts);
    const react = this.#random.chance(0.8) ? [this.#react()] : [];
    return [...lose, ...this.#random.shuffled<Move[]>([this.#add(this.#focus), [{do: 'wait'}], react]).flat()];
  }

  #lose(host: string): Move {
    this.#lost.add(host);
    return {do: 'lose', host};
  }

  #create(): Move {
    const kind = this.#kind('create');
    const draw = this.#draw();
    return this.#created(kind, something(kind, draw, this.#name(kind, draw)));
  }

  #crowd(): Move {
    const weight = ({resource}: WritableKind) => IN_CROWDS[resource.kind] ?? 0;
    const kind = this.#random.weighted(this.#writable('create').map(each => [weight(each), each] as const));
    const draw = this.#draw();
    const object = something(kind, draw, this.#name(kind, draw));
    return {do: 'crowd', resource: kind.resource, object, count: this.#random.pick([20, 60, 180])};
  }

  #created({resource}: WritableKind, object: KubeObject): Move {
    if (resource.kind === 'Issuer') this.#issuers.unshift(object.metadata.name);
    return {do: 'create', resource, object};
  }

  #patch(): Move {
    const kind = this.#kind('patch');
    return {do: 'patch', resource: kind.resource, nth: this.#random.below(100), change: this.#change(kind)};
  }

  #delete(): Move {
    return {do: 'delete', resource: this.#kind('delete').resource, nth: this.#random.below(100)};
  }

  #react(): Move {
    const weight = ({resource}: WritableKind) => CREATED_BY_OTHERS[resource.kind] ?? 0;
    const kind = this.#random.weighted(this.#catalog.map(each => [weight(each), each] as const));
    const verb = this.#random.pick(['patch', 'delete'].filter(each => kind.verbs.has(each)));
    return {do: 'react', resource: kind.resource, change: verb === 'delete' ? 'delete' : this.#change(kind)};
  }

  #change(kind: WritableKind): Change {
    const random = this.#random;
    const draw = this.#draw();
    const metadata = random.pick<Content>([
      {labels: draw.labels()},
      {annotations: draw.annotations()},
      {finalizers: [STAY]},
    ]);
    if (kind.subresources.length > 0 && random.chance(0.3)) {
      // What else a subresource can change, its name says, and what belongs there is refused or ignored elsewhere.
      const status = {conditions: draw.conditions(), url: draw.value('url')};
      return {subresource: random.pick(kind.subresources), content: {metadata, status}};
    }
    const {metadata: _, ...content} = contentOf(kind, draw);
    return {content: random.chance(0.35) ? {metadata} : content};
  }

  #add(host: string): Move[] {
    if (!this.#listed.includes(host)) this.#listed.push(host);
    const point = this.#random.chance(0.85) ? [{do: 'point', host, to: 'own'} as const] : [];
    return [{do: 'add', host}, ...point];
  }

  #remove(): Move {
    const host = this.#ownHost();
    const at = this.#listed.indexOf(host);
    if (at >= 0) this.#listed.splice(at, 1);
    return {do: 'remove', host};
  }

  #point(): Move {
    const random = this.#random;
    const to = random.pick<Target>(['own', 'own', 'victim', 'edge', 'trap', 'nowhere']);
    return {
      do: 'point',
      host: this.#ownHost(),
      to,
      ...(random.chance(0.25) && {server: 'ns1' as const}),
    };
  }

  #relay(): Move {
    const random = this.#random;
    const {victims, hosts, addresses} = this.#known;
    const dns = (value: string): Identifier => ({type: 'dns', value});
    const identifier = random.weighted<Identifier>([
      [6, dns(random.pick(victims).host)],
      [1, dns(`*.${random.pick(victims).host}`)],
      [1, dns(random.pick(hosts))],
      [1, {type: 'ip', value: random.pick(addresses)}],
    ]);
    return {do: 'relay', identifier};
  }

  #draw(theme = this.#theme()): Draw {
    return new Draw(this.#random, this.#known, theme, this.#issuers);
  }

  #theme(): string {
    const {hosts, victims, platformHosts} = this.#known;
    return this.#random.weighted<() => string>([
      [10, () => this.#focus],
      [2, () => this.#random.pick(this.#listed.length > 0 ? this.#listed : hosts)],
      [2, () => this.#random.pick(hosts)],
      [3, () => this.#random.pick(victims).host],
      [1, () => this.#random.pick(platformHosts)],
    ])();
  }

  #ownHost(): string {
    return this.#random.chance(0.5) ? this.#focus : this.#random.pick(this.#known.hosts);
  }

  #kind(verb: string): WritableKind {
    const weight = ({resource: {group, kind}}: WritableKind) => WEIGHT_OF_KIND[kind] ?? WEIGHT[group] ?? 1;
    return this.#random.weighted(this.#writable(verb).map(kind => [weight(kind), kind] as const));
  }

  #writable(verb: string): WritableKind[] {
    return this.#catalog.filter(({verbs}) => verbs.has(verb));
  }

  /** Usually a new name, otherwise one that controllers know. */
  #name({resource}: WritableKind, {theme}: Draw): string {
    this.#made += 1;
    const known = [routeName(this.#known.namespace, theme), 'default', 'nameplate', this.#known.approvedIssuer];
    return this.#random.chance(0.15) ? this.#random.pick(known) : `${resource.kind.toLowerCase()}-${this.#made}`;
  }
}

/** One line for the log. */
export function describeMove(move: Move): string {
  switch (move.do) {
    case 'create':
      return `create ${described(move)}`;
    case 'crowd':
      return `create ${move.count} times ${described(move)}`;
    case 'patch':
      return `patch ${resourceName(move.resource)} #${move.nth} ${changeText(move.change)}`;
    case 'delete':
      return `delete ${resourceName(move.resource)} #${move.nth}`;
    case 'react':
      return `react to new ${resourceName(move.resource)}: ${move.change === 'delete' ? 'delete' : changeText(move.change)}`;
    case 'add':
    case 'remove':
    case 'lose':
      return `${move.do} ${move.host}`;
    case 'point':
      return `point ${move.host} to ${move.to}${move.server ? ` at ${move.server} only` : ''}`;
    case 'send':
      return `send what ${move.seed} draws`;
    case 'relay':
      return `relay answers with ${move.identifier.type} ${move.identifier.value}`;
    default:
      return move.do;
  }
}

function described({resource, object}: {readonly resource: ResourceType; readonly object: KubeObject}): string {
  const {apiVersion: _v, kind: _k, metadata, ...content} = object;
  const {name, labels = {}, annotations = {}} = metadata;
  const extra = {
    ...(Object.keys(labels).length && {labels}),
    ...(Object.keys(annotations).length && {annotations}),
  };
  return `${resourceName(resource)} ${name} ${text({...extra, ...content})}`;
}

function changeText({subresource, content}: Change): string {
  return `${subresource ? `/${subresource} ` : ''}${text(content)}`;
}

function text(content: object): string {
  const json = JSON.stringify(content);
  return json.length > 600 ? `${json.slice(0, 600)}…` : json;
}
