/**
 * Whether every ready replica of the program `challenges` answers with the account's thumbprint. Otherwise, the CA could
 * ask one that does not, and the order would be lost.
 */
import {randomBytes} from 'node:crypto';
import {Agent, request} from 'undici';
import type {Clock} from '../../base/clock.ts';
import type {KubeClient} from '../../runtime/kube/client.ts';
import {ENDPOINT_SLICE} from '../kinds/kinds.ts';

export const CHALLENGE_PATH = '/.well-known/acme-challenge/';
/** A replica that answered is not asked again for this long. */
const VALID_MS = 10_000;
/** How long a replica that does not answer holds up the challenges. */
const WAIT_MS = 30_000;
const TIMEOUT_MS = 2_000;
const MAX_REPLICAS = 50;
/** The name of the port of the Service. */
const PORT = 'http';

interface ResponderSettings {
  /** Of the Service and its EndpointSlices. */
  readonly namespace: string;
  readonly service: string;
  /** "host:port" of each replica, instead of those of the Service. */
  readonly addresses: readonly string[];
  readonly clock: Clock;
}

/** The API server, within one reconcile. */
interface Api {
  readonly client: Pick<KubeClient, 'list'>;
  readonly signal: AbortSignal;
}

export class Responders {
  readonly #settings: ResponderSettings;
  readonly #agent = new Agent({connections: 2, keepAliveTimeout: 5_000});
  #validUntilMs = Number.NEGATIVE_INFINITY;
  #validFor = '';
  #troubleSinceMs: number | undefined;
  #running: Promise<string | undefined> | undefined;

  constructor(settings: ResponderSettings) {
    this.#settings = settings;
  }

  /** The cause of a wait; undefined: the CA may be told to validate. After half a minute, one silent replica is ignored. */
  async problem(api: Api, thumbprint: string): Promise<string | undefined> {
    const {clock} = this.#settings;
    if (this.#validFor === thumbprint && clock.monotonic() < this.#validUntilMs) return undefined;
    this.#running ??= this.#check(api, thumbprint).finally(() => {
      this.#running = undefined;
    });
    return await this.#running;
  }

  async #check(api: Api, thumbprint: string): Promise<string | undefined> {
    const {clock, service} = this.#settings;
    const addresses = await this.#addresses(api);
    if (addresses.length === 0) return `no replica of ${service} is ready`;
    const answers = await Promise.all(addresses.map(address => this.#answers(address, thumbprint)));
    const silent = addresses.filter((_, index) => !answers[index]);
    if (silent.length === 0) this.#troubleSinceMs = undefined;
    else {
      this.#troubleSinceMs ??= clock.monotonic();
      const isBounded = silent.length < addresses.length && clock.monotonic() - this.#troubleSinceMs > WAIT_MS;
      if (!isBounded) return `the replica ${silent[0]} of ${service} does not answer with the account's thumbprint`;
    }
    this.#validFor = thumbprint;
    this.#validUntilMs = clock.monotonic() + VALID_MS;
    return undefined;
  }

  async #addresses({client, signal}: Api): Promise<string[]> {
    const {namespace, service, addresses} = this.#settings;
    if (addresses.length > 0) return [...addresses];
    const found: string[] = [];
    const labelSelector = `kubernetes.io/service-name=${service}`;
    for await (const {items} of client.list(ENDPOINT_SLICE, {namespace, labelSelector, signal})) {
      for (const {endpoints = [], ports = []} of items) {
        const {port} = ports.find(({name}) => name === PORT) ?? {};
        const ready = endpoints.filter(({conditions}) => conditions?.ready !== false);
        for (const {addresses: [address] = []} of ready) {
          if (address !== undefined && port !== undefined) {
            found.push(address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`);
          }
        }
      }
    }
    return found.slice(0, MAX_REPLICAS);
  }

  async #answers(address: string, thumbprint: string): Promise<boolean> {
    const token = randomBytes(16).toString('base64url');
    try {
      const {statusCode, body} = await request(`http://${address}${CHALLENGE_PATH}${token}`, {
        dispatcher: this.#agent,
        headersTimeout: TIMEOUT_MS,
        bodyTimeout: TIMEOUT_MS,
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      return statusCode === 200 && (await body.text()) === `${token}.${thumbprint}`;
    } catch {
      return false;
    }
  }
}
