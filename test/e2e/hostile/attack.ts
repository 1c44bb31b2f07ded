/** Makes the moves of a plan in the cluster, with the rights of the attacking tenant. */
import {DOMAIN} from '../../../src/operator/kinds/kinds.ts';
import type {KubeObject, ResourceType} from '../../../src/runtime/kube/object.ts';
import {resourceName} from '../../../src/runtime/kube/object.ts';
import {until} from '../../cluster/wait.ts';
import {ACCOUNT} from '../../support/identity.ts';
import {follow, listAll} from '../../support/kube.ts';
import {kindOf} from '../../support/workload.ts';
import type {Attacker} from '../attacks/attackers.ts';
import {cluster} from '../world.ts';
import {type Change, describeMove, type Move, type Target} from './plan.ts';
import type {Known} from './pools.ts';
import type {Relay} from './relay.ts';

/** Steps that need something other than the attacker's rights: the owner of a host's DNS, another tenant, the edge. */
export interface Others {
  lose(host: string): Promise<void>;
  gain(): Promise<void>;
  /** Returns the outcome. */
  send(seed: number): Promise<string>;
}

interface Patched {
  readonly resource: ResourceType;
  readonly before: KubeObject;
}

const CHALLENGE = kindOf('acme.cert-manager.io', 'Challenge');
/** The attacker's own rights, without which it could do nothing more. */
const FOOTHOLD = new Set([ACCOUNT, 'admin', 'tenant-extras']);
const MOST_REACTIONS = 150;
const PATIENCE_MS = 12_000;

export class Attack {
  readonly #attacker: Attacker;
  readonly #known: Known;
  readonly #relay: Relay;
  readonly #others: Others;
  readonly #log: (line: string) => void;
  readonly #own = new Set<string>();
  readonly #listed = new Set<string>();
  readonly #lost = new Set<string>();
  readonly #patched: Patched[] = [];
  readonly #reactions: (() => Promise<void>)[] = [];
  #target: string | undefined;

  constructor(
    attacker: Attacker,
    known: Known,
    {relay, others}: {relay: Relay; others: Others},
    log: (line: string) => void,
  ) {
    this.#attacker = attacker;
    this.#known = known;
    this.#relay = relay;
    this.#others = others;
    this.#log = log;
    this.#own.add(`Secret ${known.keySecret}`);
  }

  /** Never throws; logs what is refused. */
  async make(move: Move): Promise<void> {
    const outcome = await this.#try(move).catch(({message}: Error) => `refused: ${message.slice(0, 300)}`);
    this.#log(`${describeMove(move)} -> ${outcome}`);
  }

  /** Ends all reactions. */
  async rest(): Promise<void> {
    for (const stop of this.#reactions.splice(0)) await stop().catch(() => {});
  }

  /** Lists the host from now on, like the move `add`. */
  async list(host: string): Promise<void> {
    this.#listed.add(host);
    await this.#attacker.self.applyProject({aliases: [...this.#listed]});
  }

  /** Its account's DNS target, which any of its Domains shows. */
  async ownTarget(): Promise<string> {
    const {client, self} = this.#attacker;
    const required = async () => {
      const domains = await listAll(client, DOMAIN, {namespace: self.namespace});
      return domains.flatMap(({status}) => status?.dns?.required ?? []).find(({type}) => type === 'CNAME')?.value;
    };
    this.#target ??= await until('a Domain shows its records', required, {timeoutMs: 10_000});
    return this.#target;
  }

  async #try(move: Move): Promise<string> {
    const {client, self} = this.#attacker;
    switch (move.do) {
      case 'create':
        this.#own.add(`${move.resource.kind} ${move.object.metadata.name}`);
        await client.create(move.resource, move.object);
        return 'created';
      case 'crowd':
        return this.#crowd(move.resource, move.object, move.count);
      case 'send':
        return this.#others.send(move.seed);
      case 'patch':
        return this.#patch(move.resource, await this.#nth(move.resource, move.nth), move.change);
      case 'delete': {
        const {metadata} = await this.#nth(move.resource, move.nth);
        await client.delete(move.resource, metadata);
        return `deleted ${metadata.name}`;
      }
      case 'react':
        this.#react(move.resource, move.change);
        return 'from now on';
      case 'undo':
        return this.#undo();
      case 'add':
        await this.list(move.host);
        return 'listed';
      case 'remove':
        this.#listed.delete(move.host);
        await self.applyProject({aliases: [...this.#listed]});
        return 'no longer listed';
      case 'point':
        return this.#point(move.host, move.to, move.server);
      case 'relay':
        this.#relay.nameInOrders(move.identifier);
        return 'from now on';
      case 'lose':
        this.#lost.add(move.host);
        await this.#others.lose(move.host);
        return 'it leads to another tenant now';
      case 'gain':
        await this.#others.gain();
        return 'it leads here now';
      case 'wait':
        return this.#wait();
    }
  }

  async #crowd(resource: ResourceType, object: KubeObject, count: number): Promise<string> {
    let created = 0;
    let refusal = '';
    for (let n = 0; n < count; n++) {
      const name = `${object.metadata.name}-${n}`;
      this.#own.add(`${resource.kind} ${name}`);
      await this.#attacker.client.create(resource, {...object, metadata: {...object.metadata, name}}).then(
        () => created++,
        ({message}: Error) => {
          refusal = `, others were refused: ${message.slice(0, 200)}`;
        },
      );
      // The first one shows whether any is allowed.
      if (created === 0) throw new Error(refusal);
    }
    return `${created} created${refusal}`;
  }

  async #nth(resource: ResourceType, nth: number): Promise<KubeObject> {
    const {client, self} = this.#attacker;
    const all = await listAll(client, resource, {namespace: self.namespace});
    const eligible = all.filter(({metadata}) => !FOOTHOLD.has(metadata.name));
    const found = eligible[nth % eligible.length];
    if (!found) throw new Error('there is none');
    return found;
  }

  async #patch(resource: ResourceType, before: KubeObject, {subresource, content}: Change): Promise<string> {
    const key = {namespace: this.#known.namespace, name: before.metadata.name};
    await this.#attacker.client.patch(resource, key, content, subresource ? {subresource} : {});
    this.#patched.push({resource, before});
    return `patched ${key.name}`;
  }

  #react(resource: ResourceType, change: Change | 'delete'): void {
    const {client, self} = this.#attacker;
    let left = MOST_REACTIONS;
    const react = async (object: KubeObject) => {
      const {name} = object.metadata;
      const work =
        change === 'delete' ? client.delete(resource, object.metadata) : this.#patch(resource, object, change);
      const outcome = await work.then(
        () => 'done',
        ({message}: Error) => `refused: ${message.slice(0, 200)}`,
      );
      this.#log(
        `  reaction ${change === 'delete' ? 'delete' : 'patch'} ${resourceName(resource)} ${name} -> ${outcome}`,
      );
    };
    const stop = follow(client, resource, {namespace: self.namespace}, (object, type) => {
      const {name} = object.metadata;
      if (type !== 'ADDED' || this.#own.has(`${resource.kind} ${name}`) || name === this.#known.service) return;
      if (left-- > 0) void react(object);
    });
    this.#reactions.push(stop);
  }

  async #undo(): Promise<string> {
    await this.rest();
    let undone = 0;
    for (const {resource, before} of this.#patched.splice(0).toReversed()) {
      const {namespace, name} = before.metadata;
      const now = await this.#attacker.client.get(resource, {namespace, name});
      if (!now || now.metadata.uid !== before.metadata.uid) continue;
      const {resourceVersion} = now.metadata;
      const metadata = {...before.metadata, ...(resourceVersion && {resourceVersion})};
      await this.#attacker.client.replace(resource, {...before, metadata}).then(
        () => undone++,
        () => {}, // refused or changed meanwhile
      );
    }
    return `${undone} objects are as before`;
  }

  async #point(host: string, to: Target, server?: 'ns1'): Promise<string> {
    const {zones, info} = cluster;
    if (this.#lost.has(host) || !host.endsWith(this.#attacker.self.zone)) return 'it is not its own to point';
    const only = server ? {server} : {};
    const address = to === 'edge' ? info.ingress.address : to === 'trap' ? this.#known.trap : undefined;
    await zones.remove(host, address === undefined ? 'A' : 'CNAME', only);
    if (address !== undefined) await zones.set(host, 'A', address, only);
    else if (to === 'nowhere') await zones.set(host, 'CNAME', `nowhere.${this.#attacker.self.zone}`, only);
    else if (to === 'victim') await zones.set(host, 'CNAME', this.#known.victims[0]?.host ?? '', only);
    else await zones.set(host, 'CNAME', await this.ownTarget(), only);
    return 'pointed';
  }

  /** Waiting is a move, too: it lets earlier moves take effect. */
  async #wait(): Promise<string> {
    const {client, self} = this.#attacker;
    const isDone = async () => (await listAll(client, CHALLENGE, {namespace: self.namespace})).length === 0;
    const options = {timeoutMs: PATIENCE_MS, intervalMs: 500};
    const start = performance.now();
    // A challenge appears only a second or two after its cause.
    await until('a challenge exists', async () => !(await isDone()), {timeoutMs: 3_000}).catch(() => {});
    await until('all challenges are gone', isDone, options).catch(() => {});
    return `${Math.round((performance.now() - start) / 1000)} s`;
  }
}
