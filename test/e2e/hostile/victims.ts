/**
 * Tenants that attackers must not disturb: one that is served throughout, and one with which attackers exchange hosts.
 */
import {DOMAIN_CLAIM, ENDPOINT_SLICE} from '../../../src/operator/kinds/kinds.ts';
import {until} from '../../cluster/wait.ts';
import type {ClusterTenant} from '../../support/cluster-tenant.ts';
import {listAll} from '../../support/kube.ts';
import type {Attacker} from '../attacks/attackers.ts';
import {admin, cluster, newClusterTenant, visitor} from '../world.ts';
import type {Attack} from './attack.ts';
import type {Oracle} from './oracle.ts';
import type {Known} from './pools.ts';

const TEXT = {victim: 'victims', heir: 'heirs'};

export class Victims {
  readonly #oracle: Oracle;
  readonly #note: (line: string) => void;
  readonly #victim: ClusterTenant;
  readonly #heir: ClusterTenant;
  readonly #taken = new Set<string>();
  readonly #arrived = new Set<string>();

  private constructor(oracle: Oracle, note: (line: string) => void, victim: ClusterTenant, heir: ClusterTenant) {
    this.#oracle = oracle;
    this.#note = note;
    this.#victim = victim;
    this.#heir = heir;
  }

  /** Returns the victims once they are live and guarded. */
  static async settle(oracle: Oracle, note: (line: string) => void): Promise<Victims> {
    const tenant = async (name: 'victim' | 'heir') => {
      const made = await newClusterTenant(name, {deployed: false});
      await made.deploy(TEXT[name]);
      return made;
    };
    const victims = new Victims(oracle, note, await tenant('victim'), await tenant('heir'));
    await Promise.all([
      victims.#victim.goLive(victims.#victimsHosts(), {service: TEXT.victim}),
      victims.#heir.goLive(victims.#heirsHosts(), {service: TEXT.heir}),
    ]);
    for (const label of ['shop', 'pay']) victims.#guard(victims.#victim, victims.#victim.host(label), TEXT.victim);
    victims.#guard(victims.#heir, victims.roaming, TEXT.heir);
    const {namespace} = victims.#victim;
    oracle.guard({namespace, host: await victims.defaultHost(), text: TEXT.victim, certified: false});
    return victims;
  }

  /** A host of the heir, whose owner lets attackers have it for a while. */
  get roaming(): string {
    return this.#heir.host('roaming');
  }

  get shop(): string {
    return this.#victim.host('shop');
  }

  newcomer(round: number): string {
    return this.#victim.host(`new-${round}`);
  }

  async defaultHost(): Promise<string> {
    return this.#victim.defaultHost();
  }

  known(round: number): Known['victims'] {
    const {namespace} = this.#victim;
    const own = [this.shop, this.#victim.host('pay'), this.newcomer(round)];
    return [
      ...own.map(host => ({namespace, host, service: TEXT.victim})),
      {namespace: this.#heir.namespace, host: this.roaming, service: TEXT.heir},
    ];
  }

  async podAddresses(): Promise<string[]> {
    const slices = await listAll(admin, ENDPOINT_SLICE, {namespace: this.#victim.namespace});
    const endpoints = slices.flatMap(slice => slice.endpoints ?? []) as {addresses?: string[]}[];
    return endpoints.flatMap(({addresses = []}) => addresses);
  }

  /** The owner of the DNS points the host at the heir, which must be served soon, whatever its former holder does. */
  async takeOver(host: string): Promise<void> {
    if (host !== this.roaming) this.#taken.add(host);
    await this.#heir.applyProject(this.#heirsHosts(), {service: TEXT.heir});
    const cname = (await this.#heir.records(host)).find(({type}) => type === 'CNAME');
    await cluster.zones.remove(host);
    await cluster.zones.set(host, 'CNAME', cname?.value ?? '');
    await this.#mustGoLive(this.#heir, host, TEXT.heir);
  }

  /** The victim lists a host that it had not listed before. */
  async arrive(host: string): Promise<void> {
    this.#arrived.add(host);
    await this.#victim.applyProject(this.#victimsHosts(), {service: TEXT.victim});
    await this.#victim.createRecords(host);
    await this.#mustGoLive(this.#victim, host, TEXT.victim);
  }

  /** The roaming host's owner points it at the attacker. */
  async giveAway(attack: Attack, {self}: Attacker): Promise<void> {
    this.#oracle.release(this.roaming);
    await attack.list(this.roaming);
    await cluster.zones.set(this.roaming, 'CNAME', await attack.ownTarget());
    const hasMoved = () => this.#oracle.holderOf(this.roaming) === self.namespace;
    await until('the claim has moved', hasMoved);
  }

  /** Ends a round: drops the hosts that moved or arrived during it. */
  async forget(): Promise<void> {
    for (const host of [...this.#taken, ...this.#arrived]) this.#oracle.release(host);
    this.#taken.clear();
    this.#arrived.clear();
    await this.#heir.applyProject(this.#heirsHosts(), {service: TEXT.heir});
    await this.#victim.applyProject(this.#victimsHosts(), {service: TEXT.victim});
  }

  #victimsHosts() {
    return {primary: this.shop, aliases: [this.#victim.host('pay'), ...this.#arrived]};
  }

  #heirsHosts() {
    return {primary: this.roaming, aliases: [...this.#taken]};
  }

  #guard({namespace}: ClusterTenant, host: string, text: string): void {
    this.#oracle.guard({namespace, host, text, certified: true});
  }

  async #mustGoLive(tenant: ClusterTenant, host: string, text: string): Promise<void> {
    const begun = performance.now();
    try {
      await tenant.sees(host, {state: 'Live'});
      await visitor.untilServed(host);
      this.#note(`${host} is live for ${tenant.namespace} after ${Math.round((performance.now() - begun) / 1000)} s`);
      this.#guard(tenant, host, text);
    } catch (error) {
      const claim = await admin.get(DOMAIN_CLAIM, {name: host});
      const held = claim ? `held by ${claim.spec.namespace} since ${claim.spec.since}` : 'held by nobody';
      this.#oracle.complain('takeover', `${(error as Error).message}\n${held}`);
    }
  }
}
