/**
 * The command `nameplate review` on a real API server: objects that the policies would refuse already exist, and it
 * finds exactly those, whether the policies enforce or audit; and the certificates that cannot be renewed.
 */
import {execFile, spawn} from 'node:child_process';
import {join} from 'node:path';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import type {Review} from '../../../src/kubectl/review/review.ts';
import {until} from '../../cluster/wait.ts';
import {ingressSpec} from '../../support/objects.ts';
import {type AdmissionWorld, startAdmissionWorld} from '../admission/admission-world.ts';
import {BY_DNS, LISTED} from '../admission/challenges.ts';
import {challenges, issuanceAttacks, issuanceDeeds, ordersOfPlatform} from '../admission/issuance.rows.ts';
import {type Manifest, managed, manifest, OURS, TENANT} from '../admission/manifests.ts';
import {objectAttacks, objectDeeds} from '../admission/objects.rows.ts';
import {startFaultProxy} from '../runtime/fault-proxy.ts';

const PROGRAM = join(import.meta.dirname, '../../../src/bin/review.ts');
const KUBECTL = join(import.meta.dirname, '../../../src/bin/kubectl-nameplate.ts');
const AUDIT = ['--set', 'admission.mode=audit'] as const;
const OF_PROGRAMS = ['Order', 'Challenge', 'CertificateRequest', 'Secret', 'Endpoints', 'EndpointSlice', 'Pod'];

let world: AdmissionWorld;

/** Some rows have objects with the same name and kind; only the first is used. */
const all = new Map<string, {readonly object: Manifest; readonly says?: string}>();
for (const row of [...objectAttacks, ...issuanceAttacks, ...objectDeeds, ...issuanceDeeds]) {
  const key = keyOf(row.object);
  if (!OF_PROGRAMS.includes(row.object.kind) && !all.has(key)) all.set(key, row);
}

/** As the review prints it. */
function keyOf({kind, metadata}: Manifest): string {
  return `${metadata.namespace}/${metadata.name} ${kind}`;
}

const SHOP = 'shop.example.com';
/** Objects that the operator wrote. */
const ofOperator: readonly Manifest[] = [
  manifest('Service', OURS, {spec: {clusterIP: 'None', ports: [{port: 80}]}}, managed),
  manifest('Middleware', `${OURS}-https`, {spec: {redirectScheme: {scheme: 'https'}}}, managed),
  manifest('Ingress', OURS, {spec: ingressSpec(SHOP, 'traefik')}, managed),
];
/** Only the platform writes there. */
const ofPlatform = manifest('Ingress', 'of-platform', {}, {namespace: 'kube-system'});

const LEGACY = 'legacy';
const NOT_AFTER = '2026-12-24T00:00:00Z';

interface OrderSpec {
  readonly issuerRef: object;
  readonly dnsNames: readonly string[];
  readonly ipAddresses?: readonly string[];
}
/** A Certificate from which cert-manager would create the Order of the row. */
function certificateOf({object}: {readonly object: Manifest}, namespace = LEGACY): Manifest {
  const {issuerRef, dnsNames, ipAddresses = []} = object.spec as OrderSpec;
  const spec = {secretName: object.metadata.name, issuerRef, dnsNames, ipAddresses};
  return manifest('Certificate', object.metadata.name, {spec}, {namespace});
}
const isOrder = ({object: {kind, metadata}}: {readonly object: Manifest}) =>
  kind === 'Order' && metadata.name !== 'nothing'; // no Certificate is for nothing
const refusedOrders = challenges.filter(isOrder);
const allowedOrders = ordersOfPlatform.filter(isOrder);
const solves = (solver: object) => ({
  acme: {server: 'https://acme.example', privateKeySecretRef: {name: 'account'}, solvers: [solver]},
});
const issuers = [
  {...manifest('Issuer', 'mine', {spec: solves({http01: {ingress: {}}})}, {namespace: LEGACY})},
  {...manifest('Issuer', 'any', {spec: solves(BY_DNS.solver)}), kind: 'ClusterIssuer', metadata: {name: 'any'}},
  {
    ...manifest('Issuer', 'http', {spec: solves({http01: {ingress: {}}})}),
    ...{kind: 'ClusterIssuer', metadata: {name: 'http'}},
  },
];
const byHttp = certificateOf({
  object: manifest('Order', 'by-http', {
    spec: {issuerRef: {name: 'http', kind: 'ClusterIssuer'}, dnsNames: ['shop.apps.example.net']},
  }),
});

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function run(...args: readonly string[]): Promise<Ended> {
  return runProgram(PROGRAM, ...args);
}

function runProgram(program: string, ...args: readonly string[]): Promise<Ended> {
  const {promise, resolve} = Promise.withResolvers<Ended>();
  const argv = [program, '--kubeconfig', world.api.kubeconfig, ...args];
  const child = execFile(process.execPath, argv, {maxBuffer: 1 << 26}, (_, stdout, stderr) =>
    resolve({code: child.exitCode ?? -1, stdout, stderr}),
  );
  return promise;
}

async function reviewed(): Promise<Review & {readonly code: number}> {
  const {code, stdout, stderr} = await run('--json');
  expect(stderr).toBe('');
  return {...(JSON.parse(stdout) as Review), code};
}

function refusalsOf({refused}: Review, key: string): string {
  return refused.flatMap(({object, refusals}) => (object === key ? refusals : [])).join('\n');
}

function rightsLeft(): Promise<string> {
  const names = ['clusterrole/nameplate-review', 'clusterrolebinding/nameplate-review'];
  return world.api.kubectl('get', ...names, '--ignore-not-found', '-o', 'name');
}

beforeAll(async () => {
  world = await startAdmissionWorld();
  const {api} = world;
  for (const name of [LEGACY, 'quiet']) await api.kubectl('create', 'namespace', name);
  for (const object of [...ofOperator, ofPlatform, ...[...all.values()].map(row => row.object)])
    await api.apply(JSON.stringify(object));
  const certificates = [...refusedOrders, ...allowedOrders].map(row => certificateOf(row));
  const exempt = refusedOrders.map(row => certificateOf(row, 'kube-system'));
  for (const object of [...issuers, ...certificates, ...exempt, byHttp]) await api.apply(JSON.stringify(object));
  const patch = JSON.stringify({status: {notAfter: NOT_AFTER}});
  await api.kubectl(
    ...['patch', 'certificate', 'held', '-n', LEGACY, '--subresource=status', '--type=merge', '-p', patch],
  );
});
afterAll(() => world?.api.stop());

describe.each([
  {mode: 'enforce', values: []},
  {mode: 'audit', values: AUDIT},
])('with policies that $mode', ({values}) => {
  let review: Review & {readonly code: number};
  beforeAll(async () => {
    await world.install(...LISTED, ...values);
    review = await reviewed();
  });

  test('everything could be checked, and something was found', () => {
    expect(review.unchecked).toEqual([]);
    expect(review.code).toBe(1);
    expect(review.objects).toBeGreaterThanOrEqual(all.size);
  });

  test.each([...all].map(([key, row]) => ({key, ...row})))('$key', ({key, says}) => {
    const refusals = refusalsOf(review, key);
    if (says === undefined) expect(refusals).toBe('');
    else expect(refusals).toContain(says);
  });

  test.each([...ofOperator, ofPlatform].map(object => ({key: keyOf(object)})))('not a tenant’s: $key', ({key}) => {
    expect(refusalsOf(review, key)).toBe('');
  });

  test('the certificates whose Orders the policies refuse cannot be renewed, and no others', () => {
    const listed = review.notRenewable.filter(({certificate}) => !certificate.startsWith(`${TENANT}/`));
    const want = [...refusedOrders.map(({object}) => object), byHttp].map(({metadata}) => `${LEGACY}/${metadata.name}`);
    expect(listed.map(({certificate}) => certificate).sort()).toEqual(want.sort());
    expect(listed.at(-1)).toEqual({
      ...{certificate: `${LEGACY}/held`, hosts: [SHOP], issuer: 'ClusterIssuer any', notAfter: NOT_AFTER},
    });
  });

  test('no right is left', async () => {
    expect(await rightsLeft()).toBe('');
  });
});

describe('the plugin for kubectl', () => {
  test('runs it', async () => {
    const {code, stdout} = await runProgram(KUBECTL, 'review', '-o', 'json');
    expect(code).toBe(1);
    expect((JSON.parse(stdout) as Review).refused).toEqual((await reviewed()).refused);
  });

  test('does not pretend that it checks one namespace', async () => {
    const {code, stderr} = await runProgram(KUBECTL, 'review', '-n', TENANT);
    expect({code, stderr}).toEqual({code: 2, stderr: expect.stringContaining('review checks all namespaces')});
  });
});

test('what a webhook refuses is listed as not checked', async () => {
  const {api} = world;
  const webhook = {
    ...{name: 'broken.example.com', sideEffects: 'None', admissionReviewVersions: ['v1'], timeoutSeconds: 1},
    clientConfig: {url: 'https://127.0.0.1:1/'},
    namespaceSelector: {matchLabels: {'kubernetes.io/metadata.name': 'quiet'}},
    rules: [{apiGroups: [''], apiVersions: ['v1'], resources: ['services'], operations: ['CREATE']}],
  };
  const configuration = {
    ...{apiVersion: 'admissionregistration.k8s.io/v1', kind: 'ValidatingWebhookConfiguration'},
    ...{metadata: {name: 'broken'}, webhooks: [webhook]},
  };
  await api.kubectl('create', 'service', 'clusterip', 'plain', '-n', 'quiet', '--tcp=80');
  await api.apply(JSON.stringify(configuration));
  const isBroken = () => reviewed().then(({unchecked}) => unchecked.length > 0);
  await until('the webhook is in force', isBroken);
  const {code, unchecked} = await reviewed();
  expect(code).toBe(3);
  expect(unchecked).toEqual([{object: 'quiet/plain Service', why: expect.stringContaining('failed calling webhook')}]);
  await api.kubectl('delete', 'validatingwebhookconfiguration', 'broken');
  await until('the webhook is gone', () => isBroken().then(broken => !broken));
});

test('objects in a namespace that is being deleted do not matter', async () => {
  const {api} = world;
  await api.kubectl('create', 'namespace', 'leaving');
  await api.apply(JSON.stringify(manifest('Ingress', 'last', {}, {namespace: 'leaving'})));
  await api.kubectl('delete', 'namespace', 'leaving', '--wait=false'); // no controller deletes what is in it
  const {unchecked, refused} = await reviewed();
  expect(unchecked).toEqual([]);
  expect(refused.filter(({object}) => object.startsWith('leaving/'))).toEqual([]);
});

test('reads no Secret', async () => {
  const proxy = await startFaultProxy(world.api);
  try {
    expect(await run('--kubeconfig', proxy.kubeconfig)).toMatchObject({code: 1, stderr: ''});
    const read = proxy.seen.map(({path}) => path);
    expect(read).toContain('/api/v1/services');
    expect(read.filter(path => path.includes('secrets'))).toEqual([]);
  } finally {
    await proxy.stop();
  }
});

/** Ends a review while it holds its temporary right and waits for the first dry run. Returns its exit code. */
async function endHalfway(signal: NodeJS.Signals): Promise<number | null> {
  const proxy = await startFaultProxy(world.api);
  try {
    proxy.intercept = ({query}) => (query.has('dryRun') ? {kind: 'silence'} : undefined);
    const child = spawn(process.execPath, [PROGRAM, '--kubeconfig', proxy.kubeconfig], {stdio: 'ignore'});
    const exited = new Promise<number | null>(resolve => child.once('exit', resolve));
    await until('it waits', () => proxy.seen.some(({query}) => query.has('dryRun')));
    child.kill(signal);
    return await exited;
  } finally {
    await proxy.stop();
  }
}

test('a review that is killed leaves a right that the next one removes', async () => {
  await endHalfway('SIGKILL');
  expect(await rightsLeft()).not.toBe('');
  await reviewed();
  expect(await rightsLeft()).toBe('');
});

test('a review that is interrupted removes its right', async () => {
  expect(await endHalfway('SIGINT')).toBe(3);
  expect(await rightsLeft()).toBe('');
});

test('says so when every user is trusted', async () => {
  const binding = ['clusterrolebinding', 'everybody'];
  await world.api.kubectl('create', ...binding, '--clusterrole=nameplate-trusted', '--group=system:authenticated');
  try {
    const {code, stderr} = await run();
    expect({code, stderr}).toEqual({code: 3, stderr: expect.stringContaining('to every user')});
  } finally {
    await world.api.kubectl('delete', ...binding);
  }
});

test('an unknown option is wrong usage', async () => {
  expect(await run('--nonsense')).toMatchObject({code: 2, stderr: expect.stringContaining('--nonsense')});
});

test('prints each object with the policy and its message, and each certificate with its expiry', async () => {
  const {stdout} = await run();
  expect(stdout).toMatch(/^ {2}mallory\/steal Ingress\n {4}nameplate-routes: Only Nameplate may write Ingresses/m);
  expect(stdout).toContain(`\n  ${LEGACY}/held  ${SHOP}  ClusterIssuer any  until ${NOT_AFTER}\n`);
  expect(stdout).toMatch(/^Of \d+ objects, \d+ are refused and 0 could not be checked\. \d+ certificates cannot/m);
});

test('without the policies, it says what to install', async () => {
  const label = 'app.kubernetes.io/instance=nameplate';
  const kinds = 'validatingadmissionpolicies,validatingadmissionpolicybindings';
  await world.api.kubectl('delete', kinds, '-l', label);
  expect(await run()).toMatchObject({code: 3, stdout: '', stderr: expect.stringContaining('Install the chart')});
});
