/**
 * Challenges that are never solved: cert-manager processes 60 at a time for all tenants together. SOAK=1: for 100
 * hosts.
 */
import type {ServerResponse} from 'node:http';
import {afterAll, beforeAll, expect, it} from 'vitest';
import {CERTIFICATE, CERTIFICATE_REQUEST, type CertificateRequest, SERVICE} from '../../src/operator/model/kinds.ts';
import type {KubeObject} from '../../src/runtime/kube/object.ts';
import {until} from '../cluster/wait.ts';
import {installOperator} from '../support/install.ts';
import {follow, listAll} from '../support/kube.ts';
import {kindOf} from '../support/workload.ts';
import {type Attacker, make, newAttacker} from './attacks/attackers.ts';
import {makeTenantsIssuer, orderFromTenantsIssuer} from './attacks/tenants-issuer.ts';
import {listen} from './hostile/listen.ts';
import {settings} from './setup.ts';
import {admin, cluster} from './world.ts';

/** Enough to occupy every slot of cert-manager if they were not limited. */
const HOSTS = process.env.SOAK ? 100 : 5;

const AT_ONCE = 10;
/** The chart's default. */
const PER_ACCOUNT = 4;
/** Long enough for the other account's certificate, which takes 10 to 14 s on an idle machine. */
const TIMEOUT_SECONDS = 30;
/** Just before cert-manager gives up. */
const LATE_MS = 9_000;

const CHALLENGE = kindOf<Challenge>('acme.cert-manager.io', 'Challenge');

const MINUTE_MS = 60_000;
const WITHIN_A_MINUTE = {timeoutMs: MINUTE_MS};

interface Challenge extends KubeObject {
  spec: {token: string; key: string};
}

let stuck: Attacker;
let other: Attacker;
let hosts: readonly string[];
let ordered = 0;

beforeAll(async () => {
  await install();
  [stuck, other] = await Promise.all([newAttacker('stuck'), newAttacker('other')]);
  hosts = Array.from({length: HOSTS}, (_, n) => stuck.self.host(`h${n}`));
  await Promise.all([stuck, other].map(makeTenantsIssuer));
  // Some at a time, because the limit on an account's challenges in progress applies to these, too.
  for (let count = AT_ONCE; count < hosts.length + AT_ONCE; count += AT_ONCE) {
    await stuck.self.goLive({aliases: hosts.slice(0, count)});
  }
  await other.self.goLive({primary: other.self.host('shop')});
}, 20 * MINUTE_MS);
afterAll(async () => {
  await installOperator(cluster, await settings(cluster));
});

it(
  'whose self checks take as long as they can: with the default limits, one account delays nobody by a minute',
  async () => {
    const tarpit = await startTarpit();
    try {
      const challenges = countAtOnce(stuck.self.namespace);
      await cluster.zones.set(`tarpit.${stuck.self.zone}`, 'A', tarpit.address);
      await Promise.all(hosts.map(host => cluster.zones.set(host, 'CNAME', `tarpit.${stuck.self.zone}`)));
      for (const [n, host] of hosts.entries()) await orderFromTenantsIssuer(stuck, `slow-${n}`, host);
      await until('as many self checks hang as may', () => tarpit.open() >= PER_ACCOUNT, {timeoutMs: 2 * MINUTE_MS});
      for (let n = 0; n < 3; n++) await otherIsIssued();
      expect(await challenges.most()).toBe(PER_ACCOUNT);
    } finally {
      const {namespace} = stuck.self;
      for (const n of hosts.keys()) await admin.delete(CERTIFICATE, {namespace, name: `slow-${n}`});
      await tarpit.stop();
    }
  },
  10 * MINUTE_MS,
);

it(
  'whose challenges never end has two in progress at a time, each for a limited time, and delays nobody else',
  async () => {
    await install({inProgressPerAccount: 2, timeoutSeconds: TIMEOUT_SECONDS});
    const isFree = async () => (await listAll(admin, CHALLENGE, {namespace: stuck.self.namespace})).length === 0;
    await until('no earlier challenge is left', isFree, {timeoutMs: 3 * MINUTE_MS});
    const challenges = countAtOnce(stuck.self.namespace);
    // The namespace still holds the host, but the self check reaches nobody.
    await Promise.all(hosts.map(host => cluster.zones.set(host, 'CNAME', `nowhere.${stuck.self.zone}`)));
    for (const [n, host] of hosts.entries()) await orderFromTenantsIssuer(stuck, `more-${n}`, host);
    await otherIsIssued();
    const failed = () => messages(stuck, 'Failed');
    await until('three have failed', async () => (await failed()).length >= 3, {timeoutMs: 150_000});
    for (const message of await failed()) expect(message).toContain(`was not solved within ${TIMEOUT_SECONDS} seconds`);
    expect(await challenges.most()).toBe(2);
  },
  10 * MINUTE_MS,
);

async function install(limits: Readonly<Record<string, number>> = {}): Promise<void> {
  const values = Object.entries(limits).map(([name, value]) => `config.certificates.challenges.${name}=${value}`);
  await installOperator(cluster, [...(await settings(cluster)), ...values, `config.plans.pro.maxDomains=100`]);
}

/** Checks that one more certificate is issued within a minute. */
async function otherIsIssued(): Promise<void> {
  const issued = async () => (await messages(other, 'Issued')).length;
  const before = await issued();
  const startMs = performance.now();
  await orderFromTenantsIssuer(other, `more-${ordered++}`, other.self.host('shop'));
  await until('the other certificate is issued', async () => (await issued()) > before, WITHIN_A_MINUTE);
  console.log(`another account's certificate: ${((performance.now() - startMs) / 1000).toFixed(1)} s`);
}

interface Tarpit {
  readonly address: string;
  /** The number of waiting requests. */
  open(): number;
  stop(): Promise<void>;
}

/**
 * Holds a worker of cert-manager for as long as a self check can take: it makes five requests with two seconds between
 * them, each for at most ten seconds. All but the last get the right answer, late.
 */
async function startTarpit(): Promise<Tarpit> {
  const checks = new Map<string, number>();
  const open = new Set<ServerResponse>();
  const {base, stop} = await listen((request, response) => {
    open.add(response);
    response.on('close', () => open.delete(response));
    const token = request.url?.split('/').at(-1) ?? '';
    const check = (checks.get(token) ?? 0) + 1;
    checks.set(token, check);
    if (check % 5 !== 0) setTimeout(async () => response.end(await keyOf(token)), LATE_MS);
  });
  return {address: await servedAtPort80(new URL(base)), open: () => open.size, stop};
}

/** Creates a Service of the tenant, and returns its address, to which the host's record may point. */
async function servedAtPort80({hostname, port}: URL): Promise<string> {
  const name = 'tarpit';
  const made = await make(stuck, SERVICE, name, {spec: {ports: [{port: 80, targetPort: Number(port)}]}});
  const slice = {
    addressType: 'IPv4',
    endpoints: [{addresses: [hostname]}],
    ports: [{port: Number(port), protocol: 'TCP'}],
  };
  const metadata = {labels: {'kubernetes.io/service-name': name}};
  await make(stuck, kindOf('discovery.k8s.io', 'EndpointSlice'), name, slice, metadata);
  return (made as {spec?: {clusterIP?: string}}).spec?.clusterIP ?? '';
}

/** The response to the challenge, which its tenant may read, too. */
async function keyOf(token: string): Promise<string> {
  const challenges = await listAll(admin, CHALLENGE, {namespace: stuck.self.namespace});
  return challenges.find(({spec}) => spec.token === token)?.spec.key ?? '';
}

/** The messages of the tenant's requests whose condition Ready has this reason. */
async function messages({self}: Attacker, reason: string): Promise<string[]> {
  const requests: CertificateRequest[] = await listAll(admin, CERTIFICATE_REQUEST, {namespace: self.namespace});
  const conditions = requests.flatMap(({status}) => status?.conditions ?? []);
  return conditions
    .filter(condition => condition.type === 'Ready' && condition.reason === reason)
    .map(({message = ''}) => message);
}

/** From now on, counts the most challenges at a time in the namespace. One that is being deleted has ended. */
function countAtOnce(namespace: string): {most(): Promise<number>} {
  const open = new Set<string>();
  let most = 0;
  const stop = follow(admin, CHALLENGE, {namespace}, ({metadata}, type) => {
    if (type === 'DELETED' || metadata.deletionTimestamp) open.delete(metadata.name);
    else open.add(metadata.name);
    most = Math.max(most, open.size);
  });
  return {
    most: async () => {
      await stop();
      return most;
    },
  };
}
