/**
 * Lets a scheduler watch many hosts of 100 accounts, as after an installation, and prints what the first verdict of
 * each host costs:
 *
 *     node bench/dns/many.ts HOSTS
 */
import {Socket} from 'node:dgram';
import {setFlagsFromString} from 'node:v8';
import {runInNewContext} from 'node:vm';
import {pino} from 'pino';
import {Registry} from 'prom-client';
import {defaultDnsConfig} from '../../src/dns/config.ts';
import {createDns, type ProofQuestion} from '../../src/dns/dns.ts';
import type {Watched} from '../../src/schedule/scheduler.ts';
import {systemClock} from '../../src/time/clock.ts';
import {until} from '../../test/cluster/wait.ts';
import {questionAbout} from '../../test/integration/dns/zones/zone-row.ts';
import {manyHosts} from './zones.ts';

export interface Cost {
  readonly perSecond: number;
  /** Datagrams sent per verdict. */
  readonly queries: number;
  /** User and system time of only this process, per verdict. */
  readonly cpuMs: number;
  /** Of the whole process, when it ends. */
  readonly rssMiB: number;
  /** What each host, with its verdict, adds to the live heap. */
  readonly heapKiB: number;
}

const ACCOUNTS = 100;
const LIMIT_MS = 600_000;

const hosts = manyHosts(Number(process.argv[2]));
const deps = {logger: pino({level: 'silent'}), registry: new Registry(), clock: systemClock};
const {scheduler} = createDns(defaultDnsConfig, deps);
const verified = new Set<string>();
const subjects = new Map(
  hosts.map((host, n): [string, Watched<ProofQuestion>] => {
    const account = `account ${n % ACCOUNTS}`;
    return [host, {account, uid: host, question: questionAbout(host), urgency: 'pending'}];
  }),
);
scheduler.subscribe(host => {
  const subject = subjects.get(host);
  if (!subject || !scheduler.get(host)?.verdict.verified || verified.has(host)) return;
  verified.add(host);
  // As a reconcile does.
  scheduler.watch(host, {...subject, urgency: 'steady'});
});

let sent = 0;
const {send} = Socket.prototype;
Socket.prototype.send = function (this: Socket, ...args: unknown[]) {
  sent++;
  Reflect.apply(send, this, args);
};

const heapBefore = heapUsed();
const cpuBefore = process.cpuUsage();
const started = performance.now();
// Exits with the program that started it.
process.stdin.on('end', () => process.exit(1)).resume();
void scheduler.start(new AbortController().signal);
for (const [host, subject] of subjects) scheduler.watch(host, subject);
await until('all are verified', () => verified.size === hosts.length, {timeoutMs: LIMIT_MS, intervalMs: 20});
const seconds = (performance.now() - started) / 1000;
const queries = sent / hosts.length;
const {user, system} = process.cpuUsage(cpuBefore);
const cost: Cost = {
  perSecond: hosts.length / seconds,
  queries,
  cpuMs: (user + system) / 1000 / hosts.length,
  rssMiB: process.memoryUsage().rss / 2 ** 20,
  heapKiB: (heapUsed() - heapBefore) / 1024 / hosts.length,
};
console.log(JSON.stringify(cost));
process.exit();

function heapUsed(): number {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
  return process.memoryUsage().heapUsed;
}
