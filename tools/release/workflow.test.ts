import {execFileSync, spawnSync} from 'node:child_process';
import {mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterEach, beforeEach, describe, expect, test} from 'vitest';
import {parse} from 'yaml';

interface Job {
  readonly needs?: readonly string[];
  readonly permissions: Readonly<Record<string, string>>;
  readonly outputs?: Readonly<Record<string, string>>;
  readonly steps: readonly {readonly uses?: string; readonly run?: string}[];
}
const WORKFLOW = readFileSync(join(import.meta.dirname, '../../.github/workflows/release.yaml'), 'utf8');
const {permissions, jobs} = parse(WORKFLOW) as {permissions: object; jobs: Record<'test' | 'build' | 'publish', Job>};

test('the workflow builds what it publishes for where it publishes it, and pins each action to a commit', () => {
  expect(WORKFLOW).toMatch(/IMAGE_REPOSITORY="ghcr.io\/\$\{GITHUB_REPOSITORY_OWNER,,\}\/nameplate"/);
  expect(WORKFLOW).toMatch(/REGISTRY=ghcr.io\/\$\{GITHUB_REPOSITORY_OWNER,,\}"/);
  expect(WORKFLOW).toContain('"docker://$REGISTRY/nameplate:$VERSION"');
  const actions = Object.values(jobs).flatMap(({steps}) => steps.flatMap(({uses}) => uses ?? []));
  expect(actions.filter(action => !/@[0-9a-f]{40}$/.test(action))).toEqual([]);
  expect(actions.length).toBeGreaterThan(3);
});

test('before a release, the workflow and docs/releasing.md run every tier of tests', () => {
  const read = (path: string) => readFileSync(join(import.meta.dirname, '../..', path), 'utf8');
  const targets = [...read('Makefile').matchAll(/^(test[\w-]*):/gm)].flatMap(([, name = '']) => name);
  // The first is part of `make test`; the second needs Docker and a registry.
  const tiers = targets.filter(name => !['test-gateway', 'test-dockerfile'].includes(name)).sort();
  const [, step = ''] = /^3\. (.*?)^4\. /ms.exec(read('docs/releasing.md')) ?? [];
  expect([...step.matchAll(/`make ([\w-]+)`/g)].map(([, name]) => name).sort()).toEqual(tiers);
  const commands = jobs.test.steps.flatMap(({run}) => run?.match(/\bmake .*/g) ?? []);
  expect(commands.flatMap(command => command.split(' ').slice(1)).sort()).toEqual(tiers);
});

test('the workflow gives the rights to publish only to a job that runs no code of the repository or of npm', () => {
  expect(permissions).toEqual({});
  const {publish, ...others} = jobs;
  expect(Object.values(others).map(each => each.permissions)).toEqual([{contents: 'read'}, {contents: 'read'}]);
  expect(publish.permissions).toEqual({contents: 'write', packages: 'write', 'id-token': 'write'});
  expect(publish.needs).toEqual(['test', 'build']);
  const actions = publish.steps.flatMap(({uses}) => uses?.replace(/@.*/, '') ?? []);
  expect(actions).toEqual(['actions/download-artifact', 'sigstore/cosign-installer']);
  const commands = publish.steps.flatMap(({run}) => run ?? []);
  expect(commands.filter(command => /\b(npm|npx|node|make|git|go|bash|sh)\s/.test(command))).toEqual([]);
});

describe('before the workflow publishes', () => {
  const step = (job: Job, name: string) => job.steps.find(each => each.run?.includes(name))?.run ?? 'exit 9';
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'nameplate-workflow-'));
    const release = join(folder, 'dist/release');
    mkdirSync(release, {recursive: true});
    writeFileSync(join(release, 'crds.yaml'), 'a');
    execFileSync('sh', ['-c', 'sha256sum crds.yaml > SHA256SUMS'], {cwd: release});
  });
  afterEach(() => rmSync(folder, {recursive: true}));

  /**
   * Runs the build's own command for the checksum, then the change, then the check before publishing. Returns its exit
   * code.
   */
  function check(change: string): number | null {
    const output = join(folder, 'output');
    const env = {...process.env, GITHUB_REF_NAME: 'v1.2.3', GITHUB_REPOSITORY_OWNER: 'Acme', GITHUB_ENV: output};
    const build = step(jobs.build, 'checksum=')
      .split('\n')
      .filter(line => line.includes('checksum='))
      .join('\n');
    const bash = (command: string, cwd: string, more: NodeJS.ProcessEnv = {}) =>
      spawnSync('bash', ['-e', '-o', 'pipefail', '-c', command], {cwd, env: {...env, ...more}, stdio: 'ignore'}).status;
    expect(bash(build, folder, {GITHUB_OUTPUT: output})).toBe(0);
    const [, checksum] = readFileSync(output, 'utf8').trim().split('checksum=');
    expect(bash(change, join(folder, 'dist/release'))).toBe(0);
    return bash(step(jobs.publish, 'CHECKSUM'), join(folder, 'dist/release'), {CHECKSUM: checksum});
  }

  test.each([
    ['accepts the files of the build', 'true', 0],
    ['refuses a file that changed', 'echo b > crds.yaml', 1],
    ['refuses a file that changed with its checksum', 'echo b > crds.yaml; sha256sum crds.yaml > SHA256SUMS', 1],
    ['refuses a file that the build did not write', 'echo b > install.yaml', 1],
  ])('it %s', (_, change, want) => {
    expect(check(change)).toBe(want);
  });
});
