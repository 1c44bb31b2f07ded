/**
 * Whether every ready replica of the program `nameserver` answers with the value of a challenge. Otherwise, the CA could
 * ask one whose watch is behind, and the order would be lost.
 */

import {createTransport, type DnsTransport, parseEndpoint} from '../../dns/dns.ts';
import type {Clock} from '../../time/clock.ts';
import {type Api, type ReplicaSettings, readyReplicas} from './replicas.ts';

/** The record that a CA must find (RFC 8555, section 8.4). */
export interface DnsChallenge {
  readonly name: string;
  readonly value: string;
}

interface NameServerSettings extends ReplicaSettings {
  readonly clock: Clock;
}

/** A replica learns of a challenge within milliseconds. Beyond this time, the next attempt waits for it. */
const WAIT_MS = 2_000;
const POLL_MS = 50;
const TIMEOUT_MS = 1_000;
/** The name of the port of the Service. */
const PORT = 'dns';

export class NameServers {
  readonly #settings: NameServerSettings;
  readonly #transport: DnsTransport;

  constructor(settings: NameServerSettings) {
    this.#settings = settings;
    const {clock} = settings;
    this.#transport = createTransport({mayQuery: () => true, timeoutMs: TIMEOUT_MS, ours: true, clock});
  }

  /**
   * Why the CA must not be told to validate yet; undefined: it may be. Waits for a moment, because the record of the
   * challenge has just been written. Without a challenge: why there is nobody to answer one.
   */
  async problem(api: Api, challenge?: DnsChallenge): Promise<string | undefined> {
    const {clock, service} = this.#settings;
    const replicas = await readyReplicas(api, this.#settings, PORT);
    if (replicas.length === 0) return `no replica of ${service} is ready`;
    if (!challenge) return undefined;
    const deadline = clock.monotonic() + WAIT_MS;
    for (let behind = replicas; ; await clock.sleep(POLL_MS, api.signal)) {
      const served = await Promise.all(behind.map(replica => this.#serves(replica, challenge, api.signal)));
      behind = behind.filter((_, index) => !served[index]);
      if (behind.length === 0) return undefined;
      if (clock.monotonic() >= deadline)
        return `the replica ${behind[0]} of ${service} does not know the challenge yet`;
    }
  }

  async #serves(replica: string, {name, value}: DnsChallenge, signal: AbortSignal): Promise<boolean> {
    const query = {endpoint: parseEndpoint(replica), name, type: 'TXT', recursionDesired: false} as const;
    const reply = await this.#transport.query(query, signal);
    return reply.ok && reply.message.answers.some(answer => answer.type === 'TXT' && answer.text === value);
  }
}
