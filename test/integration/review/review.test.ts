/**
 * The command `nameplate review` on a real API server: objects that the policies would refuse already exist, and it
 * finds exactly those, whether the policies enforce or audit.
 */
import {execFile, spawn} from 'node:child_process';
import {join} from 'node:path';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import type {Finding} from '../../../src/review/finding.ts';
import type {Review} from '../../../src/review/review.ts';
import {until} from '../../cluster/wait.ts';
import {ingressSpec} from '../../support/objects.ts';
import {type AdmissionWorld, startAdmissionWorld} from '../admission/admission-world.ts';
import {LISTED} from '../admission/challenges.ts';
import {issuanceAttacks, issuanceDeeds} from '../admission/issuance.rows.ts';
import {type Manifest, managed, manifest, OURS, TENANT} from '../admission/manifests.ts';
import {objectAttacks, objectDeeds} from '../admission/objects.rows.ts';
import {startFaultProxy} from '../runtime/fault-proxy.ts';

const PROGRAM = join(import.meta.dirname, '../../../src/bin/review.ts');
const KUBECTL = join(import.meta.dirname, '../../../src/bin/kubectl-nameplate.ts');
const AUDIT = ['--set', 'admission.mode=audit'] as const;
/** Only programs write these kinds, so the review does not judge them as a tenant's. */
const OF_PROGRAMS = ['Order', 'Challenge'];

let world: AdmissionWorld;

/** Some rows have objects with the same name and kind; only the first is used. */
const all = new Map<string, {readonly object: Manifest; readonly says?: string}>();
for (const row of [...objectAttacks, ...issuanceAttacks, ...objectDeeds, ...issuanceDeeds]) {
  const key = keyOf(row.object);
  if (!OF_PROGRAMS.includes(row.object.kind) && !all.has(key)) all.set(key, row);
}

function keyOf({kind, metadata}: Manifest): string {
  return `${kind} ${metadata.name}`;
}

const SHOP = 'shop.example.com';
/** Objects that the operator wrote. */
const ofPrograms: readonly Manifest[] = [
  manifest('Service', OURS, {spec: {clusterIP: 'None', ports: [{port: 80}]}}, managed),
  manifest('Middleware', `${OURS}-https`, {spec: {redirectScheme: {scheme: 'https'}}}, managed),
  manifest('Ingress', OURS, {spec: ingressSpec(SHOP, 'traefik')}, managed),
  manifest('Secret', OURS, {type: 'Opaque'}, managed),
];

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

async function reviewed(...args: readonly string[]): Promise<Review & {readonly code: number}> {
  const {code, stdout, stderr} = await run('--json', ...args);
  expect(stderr).toBe('');
  return {...(JSON.parse(stdout) as Review), code};
}

function found({findings}: Review, namespace: string): ReadonlyMap<string, Finding> {
  const ofNamespace = findings.filter(finding => finding.namespace === namespace);
  return new Map(ofNamespace.map(finding => [`${finding.kind} ${finding.name}`, finding]));
}

function rightsLeft(): Promise<string> {
  const kinds = 'clusterroles,clusterrolebindings,rolebindings';
  return world.api.kubectl('get', kinds, '-A', '-l', 'app.kubernetes.io/managed-by=nameplate-review', '-o', 'name');
}

beforeAll(async () => {
  world = await startAdmissionWorld();
  const {api, act} = world;
  for (const object of [...ofPrograms, ...[...all.values()].map(row => row.object)])
    await act('admin', 'create', object);
  await api.kubectl('create', 'namespace', 'quiet');
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

  test('everything could be judged, and there are findings', () => {
    expect(review.unjudged).toEqual([]);
    expect(review.code).toBe(1);
    expect(review.objects.byPolicies).toBeGreaterThan(all.size);
  });

  test.each([...all].map(([key, row]) => ({key, ...row})))('$key', ({key, says}) => {
    const reasons = (found(review, TENANT).get(key)?.reasons ?? []).filter(({rule}) => !rule.startsWith('approval/'));
    const messages = reasons.map(({message}) => message).join('\n');
    if (says === undefined) expect(messages).toBe('');
    else expect(messages).toContain(says);
    for (const {values: named, advice} of reasons) {
      if (named.length === 0) expect(advice).toContain('No chart value allows this');
      for (const value of named) expect(advice).toContain(value);
    }
  });

  test.each(ofPrograms.map(object => ({key: keyOf(object)})))("no finding in Nameplate's own $key", ({key}) => {
    expect(found(review, TENANT).get(key)).toBeUndefined();
  });

  test('no right is left', async () => {
    expect(await rightsLeft()).toBe('');
  });
});

describe('a namespace alone', () => {
  test('with nothing in it has no findings', async () => {
    expect(await reviewed('-n', 'quiet')).toMatchObject({code: 0, findings: [], unjudged: []});
  });

  test('has its own findings, by a right in that namespace', async () => {
    const {code, findings} = await reviewed('-n', TENANT);
    expect(code).toBe(1);
    expect(new Set(findings.map(({namespace}) => namespace))).toEqual(new Set([TENANT]));
  });

  test('is what `kubectl nameplate review` checks if it is selected', async () => {
    const {code, stdout} = await runProgram(KUBECTL, 'review', '-n', TENANT, '-o', 'json');
    expect(code).toBe(1);
    expect((JSON.parse(stdout) as Review).findings).toEqual((await reviewed('-n', TENANT)).findings);
  });

  test('that does not exist is an error', async () => {
    expect(await run('-n', 'nowhere')).toMatchObject({
      code: 3,
      stderr: 'nameplate review: namespace nowhere does not exist\n',
    });
  });
});

test('what a webhook refuses is listed as not judged', async () => {
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
  const isBroken = () => reviewed('-n', 'quiet').then(({unjudged}) => unjudged.length > 0);
  await until('the webhook is in force', isBroken);
  expect(await reviewed('-n', 'quiet')).toMatchObject({
    ...{code: 3, findings: []},
    unjudged: [{what: 'Service quiet/plain', why: expect.stringContaining('failed calling webhook')}],
  });
  await api.kubectl('delete', 'validatingwebhookconfiguration', 'broken');
  await until('the webhook is gone', () => isBroken().then(broken => !broken));
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
  await reviewed('-n', 'quiet');
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
    const {code, unjudged} = await reviewed('-n', TENANT);
    expect(code).toBe(3);
    expect(unjudged).toEqual([
      expect.objectContaining({why: expect.stringContaining('every user is trusted like Nameplate')}),
    ]);
  } finally {
    await world.api.kubectl('delete', ...binding);
  }
});

test.each([
  {args: ['--nonsense'], says: '--nonsense'},
  {args: ['--config', '/does/not/exist'], says: 'no such file'},
])('$args is wrong usage', async ({args, says}) => {
  expect(await run(...args)).toMatchObject({code: 2, stderr: expect.stringContaining(says)});
});

test('prints each object with its reason and the value, and no content of a Secret', async () => {
  const {stdout} = await run('-n', TENANT);
  expect(stdout).toMatch(
    /mallory\/steal {2}Ingress \(last written by \S+\)\n {2}routes: Only Nameplate may write Ingresses/,
  );
  expect(stdout).toMatch(/ {2}routes +\d+ {2}admission\.trusted/);
});

test('without the policies it says what to install, and still judges Certificates', async () => {
  const label = 'app.kubernetes.io/instance=nameplate';
  const kinds = 'validatingadmissionpolicies,validatingadmissionpolicybindings';
  await world.api.kubectl('delete', kinds, '-l', label);
  const {code, unjudged, objects} = await reviewed();
  expect(code).toBe(3);
  expect(unjudged).toEqual([
    {
      what: 'Everything that the admission policies judge',
      why: expect.stringContaining('No admission policy of Nameplate is installed. Install the chart'),
    },
  ]);
  expect(objects.byPolicies).toBe(0);
  expect(objects.byApprover).toBeGreaterThan(0);
});
