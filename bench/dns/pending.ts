/**
 * Lets a scheduler watch hosts that have no record yet, and prints when each verdict came, in milliseconds since the
 * epoch:
 *
 *     node bench/dns/pending.ts ours|recursive HOST...
 *
 * Exits when all are verified.
 */
import {pino} from 'pino';
import {Registry} from 'prom-client';
import {type DnsConfig, defaultDnsConfig} from '../../src/dns/config.ts';
import {createDns} from '../../src/dns/dns.ts';
import {systemClock} from '../../src/time/clock.ts';
import {until} from '../../test/cluster/wait.ts';
import {questionAbout, RECURSIVE} from '../../test/integration/dns/zones/zone-row.ts';

export interface Wait {
  readonly host: string;
  /** The very first verdict. */
  readonly missedAt: number;
  readonly verifiedAt: number;
}

const LIMIT_MS = 900_000;
const configs: Record<string, Partial<DnsConfig>> = {ours: {}, recursive: RECURSIVE};

const [kind = '', ...hosts] = process.argv.slice(2);
const config = configs[kind];
if (config === undefined) throw new Error(`there is no verifier ${kind}`);
const deps = {logger: pino({level: 'silent'}), registry: new Registry(), clock: systemClock};
const {scheduler} = createDns({...defaultDnsConfig, ...config}, deps);
const missed = new Map<string, number>();
const verified = new Map<string, number>();
scheduler.subscribe(host => {
  const arrived = scheduler.get(host)?.verdict.verified ? verified : missed;
  if (!arrived.has(host)) arrived.set(host, Date.now());
});
// Exits with the program that started it.
process.stdin.on('end', () => process.exit(1)).resume();
void scheduler.start(new AbortController().signal);
for (const host of hosts) {
  const question = questionAbout(host);
  scheduler.watch(host, {account: host, uid: host, question, urgency: 'pending', waitsSinceMs: Date.now()});
}
await until('all are verified', () => verified.size === hosts.length, {timeoutMs: LIMIT_MS, intervalMs: 50});
const waits = hosts.map((host): Wait => {
  return {host, missedAt: missed.get(host) ?? Number.NaN, verifiedAt: verified.get(host) ?? Number.NaN};
});
console.log(JSON.stringify(waits));
process.exit();
