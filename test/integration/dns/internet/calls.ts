/** The calls that a test can make to the program inside the namespace, each with one message in each direction. */
import type {DnsConfig} from '../../../../src/dns/config.ts';
import type {PollResult} from '../../../../src/dns/verdict/poll.ts';
import type {ProofQuestion, Verdict} from '../../../../src/dns/verdict/verdict.ts';
import type {QueryType} from '../../../../src/dns/wire/codec.ts';
import type {ZoneSpec} from './plan.ts';
import type {DaemonPrograms} from './servers.ts';

export interface StartOptions {
  /** Created by the caller, empty. */
  readonly folder: string;
  readonly zones: readonly ZoneSpec[];
  readonly programs: DaemonPrograms & {readonly tcpdump: string};
}

export interface Finished {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Domains that one scheduler watches at once. */
export interface CrowdOptions {
  readonly config: Partial<DnsConfig>;
  readonly subjects: readonly {readonly account: string; readonly question: ProofQuestion; readonly late?: boolean}[];
  /** The late subjects are added after this many milliseconds. */
  readonly lateAfterMs: number;
  /** Ends when every late one is verified, or after this many milliseconds. */
  readonly limitMs: number;
}

export interface CrowdResult {
  /** For each late subject: milliseconds from `watch` until it was verified; absent if it was not in time. */
  readonly late: readonly {readonly host: string; readonly ms?: number}[];
}

export interface Calls {
  start(options: StartOptions): Promise<void>;
  verify(question: ProofQuestion, config: Partial<DnsConfig>): Promise<Verdict>;
  /** Polls everything that the verdict names, with the verifier of the same configuration. */
  poll(verdict: Verdict, config: Partial<DnsConfig>): Promise<PollResult>;
  /** Runs one of our programs with this Node, or another program. */
  run(argv: readonly string[], program?: string): Promise<Finished>;
  /** Queries the resolver, so that it caches the answer or its absence. Returns the values. */
  resolve(name: string, type: 'A' | 'CNAME' | 'TXT'): Promise<readonly string[]>;
  /** A server's answer to an iterative question, as a datagram in base64. */
  packet(address: string, name: string, type: QueryType): Promise<string>;
  /** Changes a zone on its servers. Resolves when all of them serve the change. */
  change(zone: ZoneSpec): Promise<void>;
  crowd(options: CrowdOptions): Promise<CrowdResult>;
  /** Captures every packet of the namespace from now on. */
  capture(): Promise<void>;
  /** Ends the capture. Returns `address:port` of all receivers except client ports, with the number of packets. */
  captured(): Promise<Readonly<Record<string, number>>>;
}

export type CallName = keyof Calls;

export interface CallRequest {
  readonly id: number;
  readonly call: CallName;
  readonly args: readonly unknown[];
}

export type CallResponse = {readonly id: number} & (
  | {readonly ok: true; readonly result?: unknown}
  | {readonly ok: false; readonly error: string}
);
