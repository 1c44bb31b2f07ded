/** The program `kubectl nameplate`, as tenants and the platform team run it. */
import {execFile} from 'node:child_process';
import {join} from 'node:path';
import {expect, test} from 'vitest';
import {findCondition} from '../../../src/api/conditions.ts';
import {PROJECT} from '../../../src/operator/kinds/kinds.ts';
import {TARGET_DOMAIN} from '../../cluster/state.ts';
import {until} from '../../cluster/wait.ts';
import {type DomainTenant, newDomainTenant, newLiveTenant} from './domain-tenant.ts';
import type {OperatorWorld} from './operator-world.ts';

const PROGRAM = join(import.meta.dirname, '../../../src/bin/kubectl-nameplate.ts');
const ACCOUNT = 'person';

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export function kubectlSuite(world: () => OperatorWorld): void {
  test('a tenant sees what waits and why; only the platform team sees who holds a host', async () => {
    const {tenant: holder, host} = await newLiveTenant(world(), 'shown');
    const {tenant} = await newLiveTenant(world(), 'person');
    const mine = tenant.host('shop');
    await tenant.deployedProject({primary: mine, aliases: [host]});
    await tenant.becomes(host, {Claimed: 'HeldByAnotherAccount'});
    await tenant.until(
      'the Project has its URL',
      () => tenant.get(PROJECT, 'shop')?.status?.url === `https://${mine}/`,
    );
    const [asTenant, asPlatform] = [await asPersonIn(world(), tenant), world().api.kubeconfig];
    const kubectl = (kubeconfig: string, ...args: readonly string[]) =>
      run(...args, '--kubeconfig', kubeconfig, '--namespace', tenant.namespace);

    const status = await kubectl(asTenant, 'status');
    expect(status).toMatchObject({code: 1, stderr: ''});
    const lines = status.stdout.split('\n');
    expect(lines[0]).toBe(`Project ${tenant.namespace}/shop  https://${mine}/`);
    expect(lines[1]).toBe(`├─ ${host}  Unverified`);
    expect(lines[2]).toContain('Claimed: HeldByAnotherAccount. Another account holds');
    expect(status.stdout).toContain(`└─ ${mine}  Live`);

    const [record] = tenant.domain(host)?.status?.dns?.required ?? [];
    const records = await kubectl(asTenant, 'records', host, '-o', 'zone');
    expect(records).toEqual({code: 0, stdout: `${host}. 3600 IN CNAME ${record?.value}.\n`, stderr: ''});

    const hidden = await kubectl(asTenant, 'why', host);
    expect(hidden.code).toBe(1);
    expect(hidden.stdout).toContain('Waiting at step Claimed: HeldByAnotherAccount.');
    expect(hidden.stdout).not.toContain(`namespace ${holder.namespace}`);
    expect((await kubectl(asPlatform, 'why', host)).stdout).toContain(
      `The namespace ${holder.namespace} holds the host`,
    );

    expect(await kubectl(asTenant, 'verify', mine)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('Nothing is pending.'),
      stderr: `Requested a check of ${mine}. Waiting for the operator.\n`,
    });
    expect((await kubectl(asTenant, 'why', 'no.example.com')).stderr).toBe(
      `kubectl nameplate: no Domain no.example.com in the namespace ${tenant.namespace}. List the host in spec.domains of a Project.\n`,
    );
    const everywhere = await run('status', '--kubeconfig', asPlatform, '--all-namespaces', '-o', 'json');
    const {domains} = JSON.parse(everywhere.stdout) as {domains: {spec: {host: string}}[]};
    expect(domains.map(({spec}) => spec.host)).toEqual(expect.arrayContaining([host, mine]));
  });

  test('check queries the name servers from here, for the record that the Domain requires', async () => {
    const {tenant, host} = await newLiveTenant(world(), 'checked');
    const selected = ['--kubeconfig', world().api.kubeconfig, '-n', tenant.namespace, '-o', 'json'];
    const resolvers = world().dns.addresses.flatMap(address => ['--resolver', address]);
    const check = () => run('check', host, ...selected, '--', '--mode', 'recursive', ...resolvers);
    expect(JSON.parse((await check()).stdout)).toMatchObject({host, verified: true});
    const unknown = await run('check', host, ...selected, '--', '--mode', 'recursive', '--resolver', '127.0.0.1:1');
    expect(JSON.parse(unknown.stdout)).toMatchObject({reason: 'NameServersUnreachable'});
    expect(unknown.code).toBe(3);
    expect((await run('--help')).stdout).toContain('3 failed, or the result is incomplete:\ncheck cannot tell for now');
    await world().dns.set(host, 'CNAME', [`elsewhere.${TARGET_DOMAIN}.`]);
    const {code, stdout} = await check();
    expect(JSON.parse(stdout)).toMatchObject({verified: false, reason: 'RecordMismatch'});
    expect(code).toBe(1);
    await tenant.live(host); // the record is back; later tests expect a steady state
  });

  test('check repeats that CAA blocks the host, although nothing else is wrong', async () => {
    const tenant = await newDomainTenant(world(), 'checkedcaa');
    const host = tenant.host('shop');
    await world().dns.set(tenant.zone, 'CAA', ['0 issue "other.example"']);
    await tenant.deployedProject({primary: host});
    await tenant.createRecords(host);
    await tenant.becomes(host, {CAAAllowed: 'Forbidden'});
    const reportedCaa = findCondition(tenant.domain(host)?.status?.conditions, 'CAAAllowed')?.message ?? '';
    expect(reportedCaa).toContain('other.example');
    const selected = ['--kubeconfig', world().api.kubeconfig, '-n', tenant.namespace];
    const resolvers = world().dns.addresses.flatMap(address => ['--resolver', address]);
    const check = (...options: string[]) =>
      run('check', host, ...selected, ...options, '--', '--mode', 'recursive', ...resolvers);
    expect(await check()).toMatchObject({code: 1, stdout: expect.stringContaining(reportedCaa)});
    const {code, stdout} = await check('-o', 'json');
    expect(JSON.parse(stdout)).toMatchObject({host, verified: true, reportedCaa});
    expect(code).toBe(1);
    await world().dns.set(tenant.zone, 'CAA', []);
    await tenant.verify(host, 'fixed');
    await tenant.becomesLive(host);
    expect(await check()).toMatchObject({code: 0});
  });

  test.each([
    [['why'], 'why needs a HOST'],
    [['status', '-o', 'zone'], '--output must be json'],
    [['verify', 'a.example.com', '--timeout', 'soon'], '--timeout must be a number of seconds'],
  ])('%j is wrong usage', async (args, says) => {
    const ended = await run(...args);
    expect(ended).toMatchObject({code: 2, stdout: ''});
    expect(ended.stderr).toContain(says);
    expect(ended.stderr).toContain('Usage: kubectl nameplate COMMAND');
  });

  test('completion offers the commands, and hosts of the namespace that is selected', async () => {
    const {tenant, host} = await newLiveTenant(world(), 'completed');
    const selected = ['--kubeconfig', world().api.kubeconfig, '-n', tenant.namespace];
    expect((await run('__complete', 're')).stdout).toBe('records\nreview\n:4\n');
    expect((await run('__complete', ...selected, 'why', '')).stdout).toBe(`${host}\n:4\n`);
  });
}

async function asPersonIn({api}: OperatorWorld, {namespace}: DomainTenant): Promise<string> {
  await api.kubectl('create', 'serviceaccount', ACCOUNT, '-n', namespace);
  const rights = ['--verb=get,list,patch', '--resource=projects.nameplate.dev,domains.nameplate.dev'];
  await api.kubectl('create', 'role', ACCOUNT, '-n', namespace, ...rights);
  const subject = `--serviceaccount=${namespace}:${ACCOUNT}`;
  await api.kubectl('create', 'rolebinding', ACCOUNT, '-n', namespace, `--role=${ACCOUNT}`, subject);
  const as = ['--as', `system:serviceaccount:${namespace}:${ACCOUNT}`, '-n', namespace];
  await until('it has these rights', () => api.kubectl('auth', 'can-i', 'list', 'domains.nameplate.dev', ...as));
  return await api.kubeconfigFor(namespace, ACCOUNT);
}

function run(...args: readonly string[]): Promise<Ended> {
  return new Promise(resolve => {
    execFile(process.execPath, [PROGRAM, ...args], {timeout: 60_000, maxBuffer: 2 ** 26}, (error, stdout, stderr) => {
      resolve({code: error ? Number(error.code) : 0, stdout, stderr});
    });
  });
}
