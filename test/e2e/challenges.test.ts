/** Challenges that are never solved: cert-manager processes 60 at a time, of all tenants together. SOAK=1: of 100 hosts. */
import {afterAll, beforeAll, expect, it} from 'vitest';
import {CERTIFICATE_REQUEST, type CertificateRequest} from '../../src/operator/model/kinds.ts';
import {until} from '../cluster/wait.ts';
import {installOperator} from '../support/install.ts';
import {follow, listAll} from '../support/kube.ts';
import {kindOf} from '../support/workload.ts';
import {type Attacker, newAttacker} from './attacks/attackers.ts';
import {makeTenantsIssuer, orderFromTenantsIssuer} from './attacks/tenants-issuer.ts';
import {settings} from './setup.ts';
import {admin, cluster} from './world.ts';

/** Enough to take every slot of cert-manager, if they were not limited. */
const HOSTS = process.env.SOAK ? 100 : 3;

const AT_ONCE = 10;

const MINUTE_MS = 60_000;
const WITHIN_A_MINUTE = {timeoutMs: MINUTE_MS};

beforeAll(async () => {
  const limits = {inProgressPerAccount: 2, timeoutSeconds: 20};
  const values = Object.entries(limits).map(([name, value]) => `config.certificates.challenges.${name}=${value}`);
  await installOperator(cluster, [...(await settings(cluster)), ...values, `config.plans.pro.maxDomains=100`]);
});
afterAll(async () => {
  await installOperator(cluster, await settings(cluster));
});

it(
  'whose challenges never end has two in progress at a time, each for a limited time, and delays nobody else',
  async () => {
    const [stuck, other] = await Promise.all([newAttacker('stuck'), newAttacker('other')]);
    const hosts = Array.from({length: HOSTS}, (_, n) => stuck.self.host(`h${n}`));
    await Promise.all([stuck, other].map(makeTenantsIssuer));
    // Some at a time: an account's limit on challenges in progress holds for these, too.
    for (let count = AT_ONCE; count < hosts.length + AT_ONCE; count += AT_ONCE) {
      await stuck.self.goLive({aliases: hosts.slice(0, count)});
    }
    await other.self.goLive({primary: other.self.host('shop')});
    const challenges = countAtOnce(stuck.self.namespace);
    // The namespace still holds the host, and the self check reaches nobody.
    await Promise.all(hosts.map(host => cluster.zones.set(host, 'CNAME', `nowhere.${stuck.self.zone}`)));
    for (const [n, host] of hosts.entries()) await orderFromTenantsIssuer(stuck, `more-${n}`, host);
    await orderFromTenantsIssuer(other, 'more', other.self.host('shop'));
    await until('the other is issued', async () => (await messages(other, 'Issued')).length === 2, WITHIN_A_MINUTE);
    const failed = () => messages(stuck, 'Failed');
    await until('three have failed', async () => (await failed()).length >= 3, {timeoutMs: 150_000});
    for (const message of await failed()) expect(message).toContain('was not solved within 20 seconds');
    expect(await challenges.most()).toBe(2);
  },
  20 * MINUTE_MS,
);

/** Of the tenant's requests that are Ready, or not, for this reason. */
async function messages({self}: Attacker, reason: string): Promise<string[]> {
  const requests: CertificateRequest[] = await listAll(admin, CERTIFICATE_REQUEST, {namespace: self.namespace});
  const conditions = requests.flatMap(({status}) => status?.conditions ?? []);
  return conditions
    .filter(condition => condition.type === 'Ready' && condition.reason === reason)
    .map(({message = ''}) => message);
}

/** How many challenges of the namespace there are at a time, at most, from now on; one that is being deleted has ended. */
function countAtOnce(namespace: string): {most(): Promise<number>} {
  const open = new Set<string>();
  let most = 0;
  const stop = follow(admin, kindOf('acme.cert-manager.io', 'Challenge'), {namespace}, ({metadata}, type) => {
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
