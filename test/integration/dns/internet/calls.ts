/** What a test may ask of the program inside of the namespace; each call is one message there and one back. */
import type {DnsConfig} from '../../../../src/dns/config.ts';
import type {ProofQuestion, Verdict} from '../../../../src/dns/verdict/verdict.ts';
import type {QueryType} from '../../../../src/dns/wire/codec.ts';
import type {ZoneSpec} from './plan.ts';
import type {DaemonPrograms} from './servers.ts';

export interface StartOptions {
  /** Made by the caller, empty. */
  readonly folder: string;
  readonly zones: readonly ZoneSpec[];
  readonly programs: DaemonPrograms & {readonly tcpdump: string};
}

export interface Finished {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Domains that are watched by one scheduler, all at once. */
export interface CrowdOptions {
  readonly config: Partial<DnsConfig>;
  readonly subjects: readonly {readonly account: string; readonly question: ProofQuestion; readonly late?: boolean}[];
  /** The late ones come after this many milliseconds. */
  readonly lateAfterMs: number;
  /** Ends when every late one has a verdict, or after this many milliseconds. */
  readonly limitMs: number;
}

export interface CrowdResult {
  /** For each late subject: milliseconds from `watch` to its first verdict; absent: none in time. */
  readonly late: readonly {readonly host: string; readonly ms?: number; readonly verified?: boolean}[];
  /** First verdicts of the others that there were by then. */
  readonly others: number;
}

export interface Calls {
  start(options: StartOptions): Promise<void>;
  verify(question: ProofQuestion, config: Partial<DnsConfig>): Promise<Verdict>;
  /** Runs a program of ours by this Node, or another program. */
  run(argv: readonly string[], program?: string): Promise<Finished>;
  /** Asks the resolver, so that it has the answer, or that there is none, in its cache. Returns the values. */
  resolve(name: string, type: 'A' | 'CNAME' | 'TXT'): Promise<readonly string[]>;
  /** The datagram that a server answers to an iterative question, in base64. */
  packet(address: string, name: string, type: QueryType): Promise<string>;
  /** Changes a zone at its servers; resolves when all of them serve the change. */
  change(zone: ZoneSpec): Promise<void>;
  crowd(options: CrowdOptions): Promise<CrowdResult>;
  /** Captures every packet of the namespace from now on. */
  capture(): Promise<void>;
  /** Ends the capture: `address:port` of all receivers that are no client's port, with the packets of each. */
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
