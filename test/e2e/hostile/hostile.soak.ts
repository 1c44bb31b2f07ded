/**
 * Attackers without a script: in each round, a tenant makes moves drawn by a seed from what its role may write, against
 * permanent victims, and an oracle reports what must not happen.
 *
 * SEED repeats a run, and ROUND one round of it; ROUNDS and MOVES set its length.
 */
import {generateKeyPairSync, randomBytes} from 'node:crypto';
import {setTimeout as pause} from 'node:timers/promises';
import {afterAll, beforeAll, expect, it} from 'vitest';
import {NAMESPACE, SECRET} from '../../../src/operator/kinds/kinds.ts';
import {signingRequest} from '../../integration/approval/signing-request.ts';
import {listAll} from '../../support/kube.ts';
import {type Attacker, EDGE_CLASS, newAttacker} from '../attacks/attackers.ts';
import {admin, cluster} from '../world.ts';
import {Attack} from './attack.ts';
import {readCatalog, type WritableKind} from './catalog.ts';
import {Messages} from './messages.ts';
import {Oracle, type Violation} from './oracle.ts';
import {planOf, STAY} from './plan.ts';
import {ISSUER, installGatewayApi, issueBy, restore} from './platform.ts';
import type {Known} from './pools.ts';
import {Random} from './random.ts';
import {type Relay, startRelay} from './relay.ts';
import {setTrap, type Trap} from './trap.ts';
import {Victims} from './victims.ts';
import {frequentWrites, measureWork, sum, type Work} from './work.ts';

const SEED = process.env.SEED ?? randomBytes(4).toString('hex');
const ROUNDS = Number(process.env.ROUNDS ?? 5);
const ONLY = process.env.ROUND ? Number(process.env.ROUND) : undefined;
const MOVES = Number(process.env.MOVES ?? 300);
const MINUTE_MS = 60_000;

const OWN_HOSTS = 12;
const KEY_SECRET = 'acme-key';
const REST_MS = 60_000;
/** Of one core, for what one namespace costs while nothing of it changes. */
const MAX_CORE = 0.1;
/**
 * Limits within REST_MS for a platform at rest: the operator renews leases and watches; nobody else has a reason to
 * write.
 */
const AT_REST: Rate = {operator: 360, writes: 600};

interface Rate {
  readonly operator: number;
  readonly writes: number;
}

let oracle: Oracle;
let victims: Victims;
let trap: Trap;
let messages: Messages;
/** Cores that the operator uses before the first attack. */
let usual: number;
/** The same for all attackers. */
let catalog: WritableKind[] | undefined;
let log: string[] = [];
const violations: Violation[] = [];
let start = 0;

/** The violations that no round has reported yet. */
function found(): string[] {
  return violations.splice(0).map(({rule, text}) => `${rule}: ${text}`);
}

function note(line: string): void {
  log.push(`${((performance.now() - start) / 1000).toFixed(1).padStart(6)} s ${line}`);
}

beforeAll(async () => {
  console.log(`SEED=${SEED} ROUNDS=${ROUNDS} MOVES=${MOVES}`);
  await installGatewayApi();
  oracle = await Oracle.start(violation => {
    violations.push(violation);
    note(`VIOLATION ${violation.rule}: ${violation.text}`);
  });
  trap = await setTrap(source => oracle.contacted(source, 'an address that an attacker chose'));
  oracle.countOrdersOf(await issueBy(oracle.ca));
  victims = await Victims.settle(oracle, note);
  messages = await Messages.start(text => oracle.complain('messages', text));
  usual = coresOf(await rest());
}, 5 * MINUTE_MS);

afterAll(async () => {
  await trap?.stop();
  await messages?.stop();
  await oracle?.stop();
  await restore();
  expect(found()).toEqual([]);
}, 5 * MINUTE_MS);

for (let round = ONLY ?? 1; round <= (ONLY ?? ROUNDS); round++) {
  it(`round ${round}`, () => play(round, `${SEED}/${round}`), 15 * MINUTE_MS);
}

async function play(round: number, seed: string): Promise<void> {
  [log, start] = [[], performance.now()];
  const attacker = await newAttacker(`hostile-${round}`);
  const key = generateKeyPairSync('rsa', {modulusLength: 2048}).privateKey.export({type: 'pkcs1', format: 'pem'});
  const relay = await startRelay(oracle.ca, `${key}`, {type: 'dns', value: victims.shop}, source =>
    oracle.contacted(source, "an attacker's ACME server"),
  );
  try {
    await saveKey(attacker, `${key}`);
    oracle.suspect(attacker.self.namespace, relay.tokens);
    await attackBy(attacker, relay, round, seed);
  } finally {
    await relay.stop();
    await victims.forget();
    await remove(attacker);
  }
  expect(found(), `seed ${seed}; its moves:\n${log.join('\n')}\n`).toEqual([]);
}

/** Removes finalizers first. Otherwise, namespaces that never end would accumulate from round to round. */
async function remove({self: {namespace}}: Attacker): Promise<void> {
  await admin.delete(NAMESPACE, {name: namespace});
  for (const {resource} of catalog ?? []) {
    for (const {metadata} of await listAll(admin, resource, {namespace})) {
      if (!metadata.finalizers?.includes(STAY)) continue;
      const finalizers = metadata.finalizers.filter(each => each !== STAY);
      await admin.patch(resource, {namespace, name: metadata.name}, {metadata: {finalizers}}).catch(() => {}); // it is gone
    }
  }
}

async function attackBy(attacker: Attacker, relay: Relay, round: number, seed: string): Promise<void> {
  const mustGoLive = new Map<string, Promise<void>>();
  const lose = async (host: string) => {
    if (host === victims.roaming) throw new Error('it is lost in the end');
    if (!mustGoLive.has(host)) mustGoLive.set(host, victims.takeOver(host));
  };
  const gain = () => victims.giveAway(attack, attacker);
  const known = await whatIsKnown(attacker, relay, round);
  const attack: Attack = new Attack(
    attacker,
    known,
    {relay, others: {lose, gain, send: seed => messages.send(seed)}},
    note,
  );
  catalog ??= await readCatalog(cluster, attacker);
  const plan = planOf(new Random(seed), catalog, known, MOVES);
  oracle.countOrders(); // from here on
  const {restarts} = await measureWork();
  for (const [index, move] of plan.entries()) {
    if (index === Math.floor(plan.length / 2)) {
      mustGoLive.set(victims.newcomer(round), victims.arrive(victims.newcomer(round)));
    }
    await attack.make(move);
  }
  mustGoLive.set(victims.roaming, victims.takeOver(victims.roaming));
  await Promise.all(mustGoLive.values());
  await attack.rest();
  messages.rest();
  const {rate, most} = await judgeWork(restarts);
  const {orders, approved} = oracle.countOrders();
  note(`${orders} orders for ${approved} approved requests; ${relay.tokens.length} at the attacker's own server`);
  note(`at rest, in ${REST_MS / 1000} s: ${JSON.stringify(rate)} ${most}`);
  report(plan.length);
}

function report(moves: number): void {
  const refused = log.filter(line => line.includes('-> refused')).length;
  const wrong = violations.map(({rule, text}) => `\n  ${rule}: ${text}`);
  const sums = log.slice(-2).map(line => `\n  ${line.trim()}`);
  console.log(`${moves} moves, ${refused} refused, ${wrong.length} violations${[...sums, ...wrong].join('')}`);
}

async function saveKey({client, self}: Attacker, key: string): Promise<void> {
  const metadata = {namespace: self.namespace, name: KEY_SECRET};
  const data = {'tls.key': Buffer.from(key).toString('base64')};
  await client.create(SECRET, {apiVersion: 'v1', kind: 'Secret', metadata, ...{data}});
}

async function whatIsKnown({self}: Attacker, relay: Relay, round: number): Promise<Known> {
  const hosts = [...Array.from({length: OWN_HOSTS}, (_, n) => self.host(`h${n}`)), victims.roaming];
  const theirs = victims.known(round);
  const themes = [...new Set([...hosts, ...theirs.map(({host}) => host)])];
  const requests = await Promise.all(
    themes.map(async host => [host, await signingRequest({names: [`DNS:${host}`]})] as const),
  );
  return {
    namespace: self.namespace,
    hosts,
    victims: theirs,
    platformHosts: [await victims.defaultHost(), cluster.info.baseDomain],
    edgeClass: EDGE_CLASS,
    clusterIssuers: [cluster.info.issuers.acme, cluster.info.issuers.fast],
    platformIssuer: ISSUER,
    approvedIssuer: 'own',
    relay: relay.directory,
    ca: oracle.ca.directory,
    caBundle: Buffer.from(oracle.ca.trust).toString('base64'),
    keySecret: KEY_SECRET,
    service: 'web',
    trap: trap.address,
    addresses: [cluster.info.ingress.address, trap.address, ...(await victims.podAddresses())],
    requests: Object.fromEntries(requests),
  };
}

async function judgeWork(restartsBefore: string): Promise<{rate: Rate; most: string}> {
  const [first, last] = await rest();
  if (last.restarts !== restartsBefore) oracle.complain('work', `the operator restarted: ${last.restarts}`);
  const writes = frequentWrites(first, last);
  const rate: Rate = {operator: last.operator - first.operator, writes: sum(writes.map(([, count]) => count))};
  const most = writes.map(([what, count]) => `${count} ${what}`).join(', ');
  for (const what of ['operator', 'writes'] as const) {
    if (rate[what] <= AT_REST[what]) continue;
    oracle.complain('work', `${what}: ${rate[what]} in ${REST_MS / 1000} s at rest (writes: ${most})`);
  }
  const cores = coresOf([first, last]);
  const share = `${cores.toFixed(2)} cores, ${usual.toFixed(2)} without the attacker's namespace`;
  if (cores - usual > MAX_CORE) {
    oracle.complain('work', `the operator used ${share}, for a minute in which nothing of it changed`);
  }
  return {rate, most: `${most}; ${share}`};
}

/** What is done in a minute in which nobody changes anything, once the work before it has ended. */
async function rest(): Promise<[first: Work, last: Work]> {
  await pause(REST_MS / 4);
  const first = await measureWork();
  await pause(REST_MS); // a rate, not a wait
  return [first, await measureWork()];
}

function coresOf([first, last]: readonly [Work, Work]): number {
  return ((last.cpuSeconds - first.cpuSeconds) * 1000) / REST_MS;
}
