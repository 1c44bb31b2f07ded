/**
 * Whether every ready replica of the program `challenges` answers with the account's thumbprint. Otherwise, the CA could
 * ask one that does not, and the order would be lost: after a change of the key, the kubelet of each node takes about a
 * minute to update its replicas.
 */
import {randomBytes} from 'node:crypto';
import {Agent, request} from 'undici';
import type {Clock} from '../../time/clock.ts';
import {CHALLENGE_PATH} from '../kinds/edge-provider.ts';
import {type Api, type ReplicaSettings, readyReplicas} from './replicas.ts';

/** Replicas are not asked again for this long: after all have answered, and after one has not. */
const VALID_MS = 10_000;
const INVALID_MS = 1_000;
/** How long a replica that does not answer, as if its node were gone, holds up the challenges. */
const WAIT_MS = 30_000;
const TIMEOUT_MS = 2_000;
/** The name of the port of the Service. */
const PORT = 'http';

interface ResponderSettings extends ReplicaSettings {
  readonly clock: Clock;
}

export class Responders {
  readonly #settings: ResponderSettings;
  readonly #agent = new Agent({connections: 2, keepAliveTimeout: 5_000});
  #last: {readonly thumbprint: string; readonly problem: string | undefined; readonly untilMs: number} | undefined;
  #troubleSinceMs: number | undefined;
  #running: {readonly thumbprint: string; readonly result: Promise<string | undefined>} | undefined;

  constructor(settings: ResponderSettings) {
    this.#settings = settings;
  }

  /**
   * The cause of a wait; undefined: the CA may be told to validate. After half a minute, silent replicas are ignored if
   * another one answers. One that answers with another thumbprint never is: the CA would find that answer, too.
   */
  async problem(api: Api, thumbprint: string): Promise<string | undefined> {
    const {clock} = this.#settings;
    if (this.#last?.thumbprint === thumbprint && clock.monotonic() < this.#last.untilMs) return this.#last.problem;
    if (this.#running?.thumbprint !== thumbprint) this.#running = {thumbprint, result: this.#check(api, thumbprint)};
    const running = this.#running;
    try {
      const problem = await running.result;
      const untilMs = clock.monotonic() + (problem === undefined ? VALID_MS : INVALID_MS);
      this.#last = {thumbprint, problem, untilMs};
      return problem;
    } finally {
      if (this.#running === running) this.#running = undefined;
    }
  }

  async #check(api: Api, thumbprint: string): Promise<string | undefined> {
    const {clock, service} = this.#settings;
    const addresses = await readyReplicas(api, this.#settings, PORT);
    if (addresses.length === 0) return `no replica of ${service} is ready`;
    const answers = await Promise.all(addresses.map(address => this.#answers(address, thumbprint)));
    const wrong = addresses.find((_, index) => answers[index] === 'other');
    if (wrong !== undefined) return `the replica ${wrong} of ${service} answers with the thumbprint of another key`;
    const silent = addresses.filter((_, index) => answers[index] === 'none');
    if (silent.length === 0) this.#troubleSinceMs = undefined;
    else {
      this.#troubleSinceMs ??= clock.monotonic();
      const isBounded = silent.length < addresses.length && clock.monotonic() - this.#troubleSinceMs > WAIT_MS;
      if (!isBounded) return `the replica ${silent[0]} of ${service} does not answer`;
    }
    return undefined;
  }

  async #answers(address: string, thumbprint: string): Promise<'ours' | 'other' | 'none'> {
    const token = randomBytes(16).toString('base64url');
    try {
      const {statusCode, body} = await request(`http://${address}${CHALLENGE_PATH}${token}`, {
        dispatcher: this.#agent,
        headersTimeout: TIMEOUT_MS,
        bodyTimeout: TIMEOUT_MS,
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      const text = await body.text();
      if (statusCode !== 200) return 'none';
      return text === `${token}.${thumbprint}` ? 'ours' : 'other';
    } catch {
      return 'none';
    }
  }
}
