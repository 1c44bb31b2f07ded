/** Names and keys that belong to other tenants. */
import {createHash, randomUUID} from 'node:crypto';
import {expect} from 'vitest';
import {findCondition} from '../../../src/api/conditions.ts';
import {ANNOTATION} from '../../../src/api/names.ts';
import {API_KEY} from '../../../src/apikey/apikey.ts';
import {DOMAIN, SECRET} from '../../../src/operator/kinds/kinds.ts';
import type {KubeClient} from '../../../src/runtime/kube/client.ts';
import {until} from '../../cluster/wait.ts';
import {ACCOUNT} from '../../support/identity.ts';
import {MESSAGES_HOST} from '../../support/install.ts';
import {cluster, visitor} from '../world.ts';
import {type Attacker, attackerIn, make, newAttacker, newNamespace, REFUSED_BY_RBAC, type Victim} from './attackers.ts';

export async function collide(victim: Victim): Promise<void> {
  const {tenant} = victim;
  const victims = await tenant.defaultHost();
  const attacker = await newAttacker('attack-names');
  const {self} = attacker;
  await self.applyProject({primary: victims, aliases: [`a.${victims}`, cluster.info.baseDomain]});
  for (const each of [victims, `a.${victims}`, cluster.info.baseDomain]) {
    await self.sees(each, {state: 'Blocked', Accepted: 'ReservedHost'});
    expect(await self.routes(each)).toEqual([]);
  }
  // Projects a-b in namespace c and a in b-c have the same letters in the same order.
  const [name = '', rest = ''] = tenant.namespace.split(/-(?=[^-]*$)/);
  await newNamespace(rest);
  const twin = await attackerIn(rest);
  await twin.self.deploy('web');
  const project = `shop-${name}`;
  expect(`${project}-${rest}`).toBe(`shop-${tenant.namespace}`);
  await twin.self.applyProject(undefined, {name: project});
  await twin.self.seesProject(project, {Ready: 'Published'});
  const theirs = await twin.self.defaultHost(project);
  await visitor.untilAnswer(`https://${theirs}/`, ({body}) => body.includes('text=web'));
  await visitor.untilAnswer(`https://${victims}/`, ({body}) => body.includes('text=victims'));
}

export async function redirectAway(victim: Victim): Promise<void> {
  const attacker = await newAttacker('attack-redirect');
  const {self} = attacker;
  const [own, old] = [self.host('own'), self.host('old')];
  const evil = [
    `${own}$1.evil.test`,
    `\${1}.evil.test`,
    '`evil.test`',
    `${own}\nevil.test`,
    `${own}\r\nSet-Cookie: a=b`,
    `${own}@evil.test`,
    `${own}:8443`,
    '//evil.test',
    'https://evil.test/',
    'evil.test/path',
    'evil.test?a=b',
    '*.evil.test',
    'EVIL.test',
    '192.0.2.1',
  ];
  for (const to of evil) {
    const applied = self.applyProject({primary: own, redirects: [{from: old, to}]});
    await expect(applied, JSON.stringify(to)).rejects.toThrow('422 Invalid');
    const made = make(attacker, DOMAIN, old, {spec: {host: old, projectRef: {name: 'shop'}, redirect: {to}}});
    await expect(made, JSON.stringify(to)).rejects.toThrow('422 Invalid');
  }
  await self.applyProject({primary: own, redirects: [{from: old, to: victim.host}]});
  await self.sees(old, {state: 'Blocked', Accepted: 'RedirectTargetNotOurs'});
  expect(await self.routes(old)).toEqual([]);
}

/** The thief knows the key, even a replaced one, and claims it in every possible way. */
export async function copyKey(): Promise<void> {
  const [owner, thief] = await Promise.all(
    ['attack-key-a', 'attack-key-b'].map(name => newAttacker(name, {deployed: false})),
  );
  if (!owner || !thief) throw new Error('unreachable');
  const [key = '', theirs] = await Promise.all([owner, thief].map(newKey));
  const sent = await ask('', key, {message: 'hello'});
  const {id} = JSON.parse(sent.body) as {id: string};
  const secret = {namespace: thief.self.namespace, name: 'shop-apikey'};
  const copy = () => thief.client.patch(SECRET, secret, {data: {key: Buffer.from(key).toString('base64')}});
  const reasonOf = async () => {
    const {status} = (await thief.client.get(API_KEY, {...secret, name: 'shop'})) ?? {};
    return findCondition(status?.conditions, 'Ready')?.reason;
  };
  await copy();
  await until('the copy is refused', async () => (await reasonOf()) === 'KeyInUse');
  // The key still belongs to the owner's account, which has the message; and the thief has lost its own key.
  expect((await ask(`/${id}`, key)).status).toBe(200);
  await ask('', theirs, undefined, 401);

  // The owner replaces the leaked key, which keeps working until the owner's clients have the new one.
  await thief.client.delete(SECRET, secret);
  await until('the thief has its own key again', async () => (await reasonOf()) === 'Issued');
  const replaced = await rotate(owner, key);
  await copy();
  await until('the copy is refused again', async () => (await reasonOf()) === 'KeyInUse');
  for (const each of [key, replaced]) expect((await ask(`/${id}`, each)).status).toBe(200);

  await writeOwnStatus(thief, key);
  expect((await ask(`/${id}`, key)).status).toBe(200);
}

/** Tries to write its own status, with every right in its namespace. */
async function writeOwnStatus({client, self}: Attacker, key: string): Promise<void> {
  const {namespace} = self;
  const args = ['--clusterrole=cluster-admin', `--serviceaccount=${namespace}:${ACCOUNT}`, '-n', namespace];
  await cluster.kubectl('create', 'rolebinding', 'every-right', ...args);
  const lie = {account: 'anybody', sha256: createHash('sha256').update(key).digest('hex')};
  const says = 'Only Nameplate may write the status';
  const write = () => client.patch(API_KEY, {namespace, name: 'shop'}, {status: lie}, {subresource: 'status'});
  const answer = () =>
    write().then(
      () => 'written',
      ({message}: Error) => message,
    );
  expect(
    await until('RBAC knows the right', async () => [await answer()].find(text => !REFUSED_BY_RBAC.test(text))),
  ).toContain(says);
}

async function rotate({client, self}: Attacker, old: string): Promise<string> {
  const at = {namespace: self.namespace, name: 'shop'};
  const annotations = {[ANNOTATION.rotateRequestedAt]: 'leaked'};
  await client.patch(API_KEY, at, {metadata: {annotations}});
  return await until('another key exists', async () => {
    const key = await keyOf(client, self.namespace);
    return key === old ? undefined : key;
  });
}

async function newKey(of: Attacker): Promise<string> {
  const scopes = ['messages:write', 'messages:read'];
  await make(of, API_KEY, 'shop', {spec: {scopes}});
  return await until('the key exists', () => keyOf(of.client, of.self.namespace));
}

async function keyOf(client: KubeClient, namespace: string): Promise<string | undefined> {
  const found = await client.get(SECRET, {namespace, name: 'shop-apikey'});
  return found && Buffer.from(found.data?.key ?? '', 'base64').toString();
}

/** Repeats the request until the API knows about the change to the key. */
function ask(path: string, key = '', message?: object, status = message ? 202 : 200) {
  const headers = {
    authorization: `Bearer ${key}`,
    ...(message && {'content-type': 'application/json', 'idempotency-key': randomUUID()}),
  };
  const options = {method: message ? 'POST' : 'GET', headers, ...(message && {body: JSON.stringify(message)})};
  const url = `https://${MESSAGES_HOST}/messages${path}`;
  return visitor.untilAnswer(url, answer => answer.status === status, options);
}
