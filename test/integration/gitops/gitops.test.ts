/** What Argo CD, Flux, and Helm make of every state, according to their own code. */
import {spawn} from 'node:child_process';
import {glob, mkdtemp, readdir, readFile, rm, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {dirname, join} from 'node:path';
import {createInterface} from 'node:readline';
import {afterAll, beforeAll, describe, expect, onTestFinished, test} from 'vitest';
import {parse, stringify} from 'yaml';
import {ANNOTATION, API_VERSION} from '../../../src/api/names.ts';
import {printRecords} from '../../../src/kubectl/records.ts';
import type {DomainCondition} from '../../../src/operator/domain/conditions.ts';
import {readyOf, stateOf as summaryOf} from '../../../src/operator/domain/summary.ts';
import {type ApiServer, startApiServer} from '../../cluster/apiserver.ts';
import {run} from '../../cluster/children.ts';
import {untilEstablished} from '../../cluster/crds.ts';
import {ensurePrograms} from '../../cluster/programs.ts';
import {until} from '../../cluster/wait.ts';
import {CONSTRUCTED, DUMPED, REASONS, STATES, type State, WITHOUT_DUMP} from './states.ts';

const ROOT = join(import.meta.dirname, '../../..');
const ARGO = join(ROOT, 'integrations/argocd');
const KINDS = ['Project', 'Domain', 'APIKey'];

/** The objects in testdata/, for Argo CD's repository. */
const EXAMPLES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Project: {
    progressing: 'Project Ready False ServiceNotFound',
    healthy: 'Project Ready True Published',
    degraded: 'Project Ready False PlanLimitReached',
    changed: 'Project changed',
  },
  Domain: {
    progressing: 'Domain CertificateReady False Issuing',
    healthy: 'Domain Routed True Serving',
    suspended: 'Domain DNSVerified False RecordMissing',
    degraded: 'Domain DNSVerified False Drifted served',
    changed: 'Domain changed',
  },
  APIKey: {
    progressing: 'APIKey NotIssued False Retrying',
    healthy: 'APIKey Active True Issued',
    degraded: 'APIKey NotIssued False SecretConflict',
    changed: 'APIKey changed',
  },
};

let program: string;
let api: ApiServer;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'nameplate-gitops-'));
  program = (await ensurePrograms(['gitops'])).path('gitops');
  api = await startApiServer({crds: [join(ROOT, 'crds')]});
});
afterAll(async () => {
  await api?.stop();
  if (folder) await rm(folder, {recursive: true});
});

/** Gets the answers of the real code, with our fragment of argocd-cm. */
async function ask<T>(requests: readonly object[]): Promise<T[]> {
  const input = requests.map(request => JSON.stringify(request)).join('\n');
  const output = await run([program, '-argocd-cm', join(ARGO, 'argocd-cm.yaml')], {input});
  return output
    .trim()
    .split('\n')
    .map(line => JSON.parse(line) as T);
}

async function read(...path: readonly string[]): Promise<string> {
  return readFile(join(ARGO, ...path), 'utf8');
}

function stateOf(name: string): State {
  const found = STATES.find(state => state.name === name);
  if (!found) throw new Error(`there is no state "${name}"`);
  return found;
}

function verdicts(of: 'argo' | 'kstatus', found: readonly ({readonly status: string} | null)[]) {
  return {
    expected: Object.fromEntries(STATES.map(state => [state.name, state[of]])),
    found: Object.fromEntries(STATES.map(({name}, index) => [name, found[index]?.status])),
  };
}

test('integrations/argocd/argocd-cm.yaml has the scripts of the folder', async () => {
  const data: Record<string, string> = {};
  for (const kind of KINDS) {
    const key = `nameplate.dev_${kind}`;
    data[`resource.customizations.health.${key}`] = await read('nameplate.dev', kind, 'health.lua');
    const actions = join(ARGO, 'nameplate.dev', kind, 'actions');
    const definitions = [];
    for await (const path of glob('*/action.lua', {cwd: actions})) {
      definitions.push({name: dirname(path), 'action.lua': await readFile(join(actions, path), 'utf8')});
    }
    if (definitions.length === 0) continue;
    const discovery = await readFile(join(actions, 'discovery.lua'), 'utf8');
    data[`resource.customizations.actions.${key}`] = stringify(
      {'discovery.lua': discovery, definitions},
      {lineWidth: 0},
    );
  }
  const configMap = {apiVersion: 'v1', kind: 'ConfigMap', metadata: {name: 'argocd-cm'}, data};
  await expect(stringify(configMap, {lineWidth: 0})).toMatchFileSnapshot(join(ARGO, 'argocd-cm.yaml'));
});

describe('every state', () => {
  test.each(
    Object.entries(REASONS).flatMap(([kind, types]) =>
      Object.entries(types).map(([type, reasons]) => ({kind, type, reasons})),
    ),
  )('of $kind $type has a verdict', ({kind, type, reasons}) => {
    const conditions = STATES.flatMap(({object}) => (object.kind === kind ? (object.status?.conditions ?? []) : []));
    const judged = new Set(conditions.flatMap(each => (each.type === type ? [each.reason] : [])));
    expect(reasons.filter((reason: string) => !judged.has(reason))).toEqual([]);
  });

  test('has the expected health in Argo CD', async () => {
    const results = await ask<{status: string; message: string} | null>(
      STATES.map(({object}) => ({op: 'health', object})),
    );
    const {expected, found} = verdicts('argo', results);
    expect(found).toEqual(expected);
    for (const result of results) expect(result?.message).not.toBe('');
  });

  test('has the expected status in kstatus, which Flux and Helm use', async () => {
    const results = await ask<{status: string}>(STATES.map(({object}) => ({op: 'kstatus', object})));
    const {expected, found} = verdicts('kstatus', results);
    expect(found).toEqual(expected);
  });
});

describe('states.jsonl', () => {
  test('has an object for every state that tests of the operator pass through', () => {
    expect(WITHOUT_DUMP).toEqual(CONSTRUCTED);
  });

  test('has an object of every kind', async () => {
    const kinds: string[] = [];
    for await (const file of glob('crds/*.yaml', {cwd: ROOT})) {
      kinds.push(parse(await readFile(join(ROOT, file), 'utf8')).spec.names.kind);
    }
    expect(new Set(DUMPED.map(({kind}) => kind))).toEqual(new Set(kinds));
  });

  test('has only reasons that the operator gives', () => {
    for (const {kind, status} of DUMPED) {
      for (const [type, reasons] of Object.entries(REASONS[kind as keyof typeof REASONS] ?? {})) {
        const {reason} = status?.conditions?.find(condition => condition.type === type) ?? {};
        if (reason !== undefined) expect(reasons).toContain(reason);
      }
    }
  });

  test('has the summaries that the operator gives now', () => {
    for (const {kind, status: {state, conditions = []} = {}} of DUMPED) {
      const ready = conditions.find(({type}) => type === 'Ready');
      if (kind !== 'Domain' || !ready) continue;
      const steps = conditions.filter(({type}) => type in REASONS.Domain) as readonly DomainCondition[];
      const summary = readyOf(steps);
      expect(ready).toMatchObject(summary);
      expect([true, false].map(published => summaryOf(steps, summary, published))).toContain(state);
    }
  });
});

describe('integrations/argocd', () => {
  test.each(KINDS)('%s has the test data that the repository of Argo CD requires', async kind => {
    const folder = join(ARGO, 'nameplate.dev', kind);
    const examples = Object.entries(EXAMPLES[kind] ?? {});
    const healths = await ask(examples.map(([, name]) => ({op: 'health', object: stateOf(name).object})));
    const tests = examples.map(([file], index) => ({
      healthStatus: healths[index],
      inputPath: `testdata/${file}.yaml`,
    }));
    await expect(stringify({tests}, {lineWidth: 0})).toMatchFileSnapshot(join(folder, 'health_test.yaml'));
    for (const [file, name] of examples) {
      const object = stringify(stateOf(name).object, {lineWidth: 0});
      await expect(object).toMatchFileSnapshot(join(folder, 'testdata', `${file}.yaml`));
    }
    const committed = await readdir(join(folder, 'testdata'));
    expect(committed.sort()).toEqual(examples.map(([file]) => `${file}.yaml`).sort());
  });

  describe.each([
    {kind: 'Domain', action: 'verify', annotation: ANNOTATION.verifyRequestedAt},
    {kind: 'APIKey', action: 'rotate', annotation: ANNOTATION.rotateRequestedAt},
  ])('$action', ({kind, action, annotation}) => {
    const actions = join('nameplate.dev', kind, 'actions');

    test('passes its action_test.yaml', async () => {
      const tests = parse(await read(actions, 'action_test.yaml')) as {
        readonly actionTests: readonly {action: string; inputPath: string; expectedOutputPath: string}[];
        readonly discoveryTests: readonly {inputPath: string; result: readonly object[]}[];
      };
      expect(tests.actionTests.map(({action}) => action)).toEqual([action]);
      for (const {inputPath, expectedOutputPath} of tests.actionTests) {
        const [input, output] = [parse(await read(actions, inputPath)), parse(await read(actions, expectedOutputPath))];
        const [impacted] = await ask<readonly {operation: string; resource: Changed}[]>([
          {op: 'action', action, object: input},
        ]);
        const [changed] = impacted ?? [];
        expect(changed?.operation).toBe('patch');
        const {annotations} = changed?.resource.metadata ?? {};
        expect(annotations?.[annotation]).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
        if (annotations) annotations[annotation] = output.metadata.annotations[annotation];
        expect(changed?.resource).toEqual(output);
      }
      expect(tests.discoveryTests.length).toBeGreaterThan(0);
      for (const {inputPath, result} of tests.discoveryTests) {
        const [offered] = await ask([{op: 'actions', object: parse(await read(actions, inputPath))}]);
        expect(offered).toMatchObject(result);
      }
    });

    test('is offered in every state, but disabled for what is revoked', async () => {
      const objects = STATES.filter(({object}) => object.kind === kind).map(({object}) => object);
      const offered = await ask<readonly {name: string; disabled?: boolean}[]>(
        objects.map(object => ({op: 'actions', object})),
      );
      const isRevoked = ({spec = {}}: State['object']) => 'revoked' in spec && spec.revoked === true;
      expect(offered.map(([only]) => `${only?.name} ${only?.disabled ?? false}`)).toEqual(
        objects.map(object => `${action} ${isRevoked(object)}`),
      );
    });
  });
});

interface Changed {
  readonly metadata: {readonly annotations?: Record<string, string>};
}

describe('docs/gitops.md', async () => {
  const page = await readFile(join(ROOT, 'docs/gitops.md'), 'utf8');
  const blocks = [...page.matchAll(/^```yaml\n(.*?)^```$/gms)].map(([, text = '']) => text);
  beforeAll(async () => {
    for (const namespace of ['argocd', 'flux-system']) await api.kubectl('create', 'namespace', namespace);
  });

  test.each([
    {tool: 'Crossplane', variable: 'object', pattern: /celQuery: (.*)$/m},
    {tool: 'kro', variable: 'project', pattern: /readyWhen:\n *- \$\{(.*)\}$/m},
  ])('$tool: a Project is ready when its Ready condition is True for its spec', async ({variable, pattern}) => {
    const [expression] = blocks.flatMap(text => pattern.exec(text)?.[1] ?? []);
    const projects = STATES.filter(({object}) => object.kind === 'Project');
    const results = await ask<boolean>(projects.map(({object}) => ({op: 'cel', expression, variable, object})));
    const found = Object.fromEntries(projects.map(({name}, index) => [name, results[index]]));
    // A published object stays ready while the API server refuses a change.
    const isReady = ({argo, name}: State) => argo === 'Healthy' || / True (Refused|Paused)$/.test(name);
    expect(found).toEqual(Object.fromEntries(projects.map(state => [state.name, isReady(state)])));
  });

  test('every manifest in it is one that the CRDs of its tool accept, without unknown fields', async () => {
    const programs = await ensurePrograms(['argocdcrds', 'gitopscrds']);
    for (const tool of ['Argo CD', 'Flux', 'Crossplane', 'kro']) {
      const crd = parse(await readFile(programs.asset(tool), 'utf8'));
      delete crd.spec.conversion; // which would need a running program
      await api.apply(JSON.stringify(crd));
    }
    await untilEstablished(api.kubectl);
    const file = join(folder, 'shown.yaml');
    const kinds: string[] = [];
    for (const text of blocks) {
      await writeFile(file, text);
      kinds.push(parse(text).kind);
      await api.kubectl('create', '--dry-run=server', '--validate=strict', '-f', file);
    }
    expect(kinds).toEqual(['Application', 'Project', 'Kustomization', 'Object', 'ResourceGraphDefinition']);
  });

  test('the command for argocd-cm and the lines for RBAC are as Argo CD reads them', async () => {
    await api.kubectl('create', 'configmap', 'argocd-cm', '-n', 'argocd', '--from-literal=url=kept');
    const [, command = ''] = /^ {4}kubectl (patch configmap argocd-cm .*)$/m.exec(page) ?? [];
    await api.kubectl(...command.replace(' integrations', ` ${ROOT}/integrations`).split(' '));
    const found = parse(await api.kubectl('get', 'configmap', 'argocd-cm', '-n', 'argocd', '-o', 'yaml'));
    expect(found.data).toEqual({url: 'kept', ...parse(await read('argocd-cm.yaml')).data});
    const rules = [
      ...page.matchAll(/^ {4}p, role:shop, applications, action\/nameplate\.dev\/(\w+)\/(\w+), shop\/\*, allow$/gm),
    ];
    expect(rules.map(([, kind, action]) => `${kind} ${action}`)).toEqual(['Domain verify', 'APIKey rotate']);
  });

  test('every Project in it is valid', async () => {
    const found = blocks.flatMap(text => projectsIn(parse(text)));
    expect(found).toHaveLength(3);
    for (const [index, {spec}] of found.entries()) {
      const metadata = {name: `shop-${index}`, namespace: 'default'};
      const shown = JSON.stringify({apiVersion: 'nameplate.dev/v1alpha1', kind: 'Project', metadata, spec});
      await api.apply(shown.replace(/\$\{.*?\}/, 'shop.example.com'));
    }
  });
});

describe('the records that kubectl nameplate prints', () => {
  const value = 't.edge.example.net';
  const records = [
    {type: 'CNAME', name: 'www.example.co.uk', label: 'www', value, ttl: 3600},
    {type: 'ALIAS', name: 'example.co.uk', label: '@', value, ttl: 3600},
    {type: 'TXT', name: '_nameplate.example.co.uk', label: '_nameplate', value: 'to"k\\en', ttl: 3600},
  ] as const;

  test('for external-dns: its CRD accepts them, without unknown fields', async () => {
    await api.kubectl('apply', '--server-side', '-f', (await ensurePrograms(['gitopscrds'])).asset('external-dns'));
    await untilEstablished(api.kubectl);
    const file = join(folder, 'records.yaml');
    await writeFile(file, printRecords(records, 'external-dns'));
    await api.kubectl('create', '--dry-run=server', '--validate=strict', '-f', file);
  });

  test('for Terraform: its parser reads them', async () => {
    const hcl = (await ensurePrograms(['hcl'])).path('hcl');
    const [cname, txt, ...others] = JSON.parse(await run([hcl], {input: printRecords(records, 'terraform')}));
    const zone = 'example.co.uk.';
    expect(cname).toMatchObject({
      type: 'dns_cname_record',
      values: {zone, name: 'www', cname: `${value}.`, ttl: 3600},
    });
    expect(txt).toMatchObject({
      type: 'dns_txt_record_set',
      values: {zone, name: '_nameplate', txt: ['to"k\\en'], ttl: 3600},
    });
    expect(others).toEqual([]);
  });
});

interface ShownProject {
  readonly kind: 'Project';
  readonly spec: object;
}

/** Includes Projects in a manifest or template of another object. */
function projectsIn(value: unknown): ShownProject[] {
  if (typeof value !== 'object' || value === null) return [];
  if ('kind' in value && value.kind === 'Project') return [value as ShownProject];
  return Object.values(value).flatMap(projectsIn);
}

test('a wave of Argo CD waits until the Project before it is published, and not for the DNS of its hosts', async () => {
  const at = (wave: string) => ({namespace: 'default', annotations: {'argocd.argoproj.io/sync-wave': wave}});
  const spec = {service: {name: 'shop', port: 80}, domains: {primary: 'waved.example.com'}};
  const project = {apiVersion: API_VERSION, kind: 'Project', metadata: {name: 'waved', ...at('1')}, spec};
  const next = {apiVersion: 'v1', kind: 'ConfigMap', metadata: {name: 'next', ...at('2')}};
  const syncing = spawn(program, ['-kubeconfig', api.kubeconfig, '-argocd-cm', join(ARGO, 'argocd-cm.yaml'), '-sync']);
  onTestFinished(() => void syncing.kill());
  syncing.stdin.end(JSON.stringify([next, project]));
  const lines = createInterface(syncing.stdout)[Symbol.asyncIterator]();
  const report = (ready: object) => {
    const conditions = [ready, {type: 'DomainsReady', status: 'False', reason: 'WaitingForDomains'}].map(each => {
      return {...each, message: 'Any.', observedGeneration: 1, lastTransitionTime: '2026-06-01T00:00:00Z'};
    });
    const patch = JSON.stringify({status: {observedGeneration: 1, conditions}});
    return api.kubectl('patch', 'project', 'waved', '--subresource=status', '--type=merge', '--patch', patch);
  };
  const found = () => api.kubectl('get', 'configmap', 'next', '--ignore-not-found', '--output', 'name');

  const waiting = 'Running: waiting for healthy state of nameplate.dev/Project/waved';
  const step = async () => (await lines.next()).value;
  expect(await step()).toBe(waiting);
  await report({type: 'Ready', status: 'False', reason: 'RoutePending'});
  // The first of these steps may have begun before the report.
  expect([await step(), await step()]).toEqual([waiting, waiting]);
  expect(await found()).toBe('');
  await report({type: 'Ready', status: 'True', reason: 'Published'});
  expect(await until('the next step', async () => [await step()].find(said => said !== waiting))).toMatch(
    /^Succeeded: /,
  );
  expect(await found()).toBe('configmap/next\n');
});
