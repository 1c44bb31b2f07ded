/**
 * Puts all questions in a file to one verifier, 32 at a time as the operator does, and prints each answer:
 *
 *     node bench/dns/verifier.ts ours|ours-alone|ours-recursive|plain|plain-at-zone FILE
 *
 * It runs in the namespace of the small Internet.
 */
import {Resolver} from 'node:dns/promises';
import {readFile} from 'node:fs/promises';
import {pino} from 'pino';
import {Registry} from 'prom-client';
import {type DnsConfig, defaultDnsConfig} from '../../src/dns/config.ts';
import {createDns} from '../../src/dns/dns.ts';
import {selfAndAncestors} from '../../src/dns/names/wire-names.ts';
import type {ProofQuestion} from '../../src/dns/verdict/verdict.ts';
import {Semaphore} from '../../src/dns/wire/semaphore.ts';
import {systemClock} from '../../src/time/clock.ts';
import {RESOLVER} from '../../test/integration/dns/internet/plan.ts';
import {CONFIRMED, RECURSIVE} from '../../test/integration/dns/zones/zone-row.ts';
import {ANSWER, type Answer, CAA_ANSWER} from './cases.ts';
import {orNone, plainVerify} from './plain.ts';

type Verify = (question: ProofQuestion) => Promise<Answer>;

export interface Said {
  readonly host: string;
  readonly answer: Answer;
  readonly ms: number;
}

const never = new AbortController().signal;

const verifiers: Record<string, () => Verify> = {
  ours: () => ours(CONFIRMED),
  'ours-alone': () => ours({}),
  'ours-recursive': () => ours(RECURSIVE),
  plain: () => question => plainVerify(question, async () => through([RESOLVER])),
  'plain-at-zone': () => question => plainVerify(question, atItsZone),
};

function ours(config: Partial<DnsConfig>): Verify {
  const deps = {logger: pino({level: 'silent'}), registry: new Registry(), clock: systemClock};
  const dns = createDns({...defaultDnsConfig, ...config}, deps);
  return async question => {
    const {reason, caa} = await dns.verify(question, never);
    return question.caaIdentities.length > 0 ? CAA_ANSWER[caa.outcome] : ANSWER[reason];
  };
}

function through(servers: readonly string[]): Resolver {
  const resolver = new Resolver();
  resolver.setServers(servers.map(address => (address.includes(':') ? `[${address}]` : address)));
  return resolver;
}

/** Queries the name servers of the name's zone, as the resolver knows them. */
async function atItsZone(name: string): Promise<Resolver> {
  const resolver = through([RESOLVER]);
  for (const zone of selfAndAncestors(name)) {
    const names = await orNone(resolver.resolveNs(zone));
    if (names.length === 0) continue;
    const addresses = names.flatMap(server => [resolver.resolve4(server), resolver.resolve6(server)]);
    const found = await Promise.all(addresses.map(each => each.catch(() => [])));
    return through(found.flat());
  }
  throw new Error(`no name servers of ${name}`);
}

// Exits with the program that started it.
process.stdin.on('end', () => process.exit(1)).resume();
const [kind = '', file = ''] = process.argv.slice(2);
const verify = verifiers[kind]?.();
if (verify === undefined) throw new Error(`there is no verifier ${kind}`);
const questions = JSON.parse(await readFile(file, 'utf8')) as ProofQuestion[];
const places = new Semaphore(defaultDnsConfig.checks.inFlight);
const said = questions.map(question =>
  places.run(async (): Promise<Said> => {
    const started = performance.now();
    const answer = await verify(question);
    return {host: question.host, answer, ms: performance.now() - started};
  }, never),
);
console.log(JSON.stringify(await Promise.all(said)));
process.exit();
