/** An invalid configuration at start: exit code 2, and a message with the option and what is allowed. */
import {mkdtemp, readFile, rm, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {spawnOperator} from '../../support/operator-process.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'nameplate-start-'));
  await writeFile(join(folder, 'good.key'), Buffer.alloc(32, 1));
  await writeFile(join(folder, 'short.key'), Buffer.alloc(8, 1));
});
afterAll(() => rm(folder, {recursive: true, force: true}));

const platform = (keyFile = 'good.key') => ({
  baseDomain: 'apps.example.net',
  targetDomain: 'edge.example.net',
  keyFile: join(folder, keyFile),
});
const certificates = {issuerRef: {name: 'letsencrypt'}};

interface Row {
  readonly case: string;
  readonly config: () => Record<string, unknown>;
  readonly says: readonly string[];
}

const rows: readonly Row[] = [
  {
    case: 'a required option is missing',
    config: () => ({platform: platform()}),
    says: ['certificates.issuerRef.name', 'letsencrypt'],
  },
  {
    case: 'an unknown option',
    config: () => ({platform: platform(), certificates, dns: {chekcs: {}}}),
    says: ['dns.chekcs', 'checks'],
  },
  {
    case: 'a default plan that is not among the plans',
    config: () => ({platform: platform(), certificates, defaultPlan: 'gold'}),
    says: ['defaultPlan', 'is "gold", which plans does not define; allowed: free, pro'],
  },
  {
    case: 'an invalid network',
    config: () => ({platform: platform(), certificates, dns: {allowAddresses: ['everything']}}),
    says: ['dns.allowAddresses[0]', 'a CIDR'],
  },
  {
    case: 'a key that is too short',
    config: () => ({platform: platform('short.key'), certificates}),
    says: ['short.key', '32'],
  },
  {
    case: 'a missing key',
    config: () => ({platform: platform('no.key'), certificates}),
    says: ['no.key'],
  },
];

test.concurrent.each(rows.map((row, index) => ({...row, index})))('$case', async ({index, config, says}) => {
  const options = {folder, name: `row-${index}`, config: config(), kubeconfig: join(folder, 'none')};
  const {exited, logFile} = await spawnOperator(options);
  expect(await exited).toBe(2);
  const said = await readFile(logFile, 'utf8');
  for (const text of says) expect(said).toContain(text);
  expect(said, 'a message, not a stack').not.toMatch(/^\s+at /m);
});
