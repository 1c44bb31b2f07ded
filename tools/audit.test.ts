import {once} from 'node:events';
import {mkdtemp, rm} from 'node:fs/promises';
import {createServer, type Server} from 'node:http';
import type {AddressInfo} from 'node:net';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {json} from 'node:stream/consumers';
import {createGunzip} from 'node:zlib';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {type AuditOutput, audit, judge} from './audit.ts';

type Asked = Readonly<Record<string, readonly string[]>>;

const FINDING = {
  id: 1,
  url: 'https://advisories.test/1',
  title: 'It yields',
  severity: 'high',
  vulnerable_versions: '*',
};

let server: Server;
/** Options of npm: the test's registry, and a temporary cache, so that no invented vulnerability outlives the test. */
let options: readonly string[];
let cache: string;
/** Whether the registry answers, or refuses like a mirror that only serves packages. */
let answers = true;
let asked: Asked = {};

beforeAll(async () => {
  server = createServer(async (request, response) => {
    if (request.method !== 'POST' || !answers) return response.writeHead(405, 'Method Not Allowed').end();
    asked = (await json(request.pipe(createGunzip()))) as Asked;
    return response.setHeader('Content-Type', 'application/json').end(JSON.stringify({pino: [FINDING]}));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  cache = await mkdtemp(join(tmpdir(), 'nameplate-npm-'));
  options = [`--registry=http://127.0.0.1:${(server.address() as AddressInfo).port}/`, `--cache=${cache}`];
});
afterAll(async () => {
  server.close();
  await rm(cache, {recursive: true});
});

// attack: supply-chain
test('the real npm checks all shipped packages and no tools, and its findings fail the check', async () => {
  answers = true;
  expect(await audit(options)).toEqual({fails: true, lines: ['high: pino: It yields, https://advisories.test/1']});
  expect(Object.keys(asked)).toEqual(expect.arrayContaining(['ajv', 'pino', 'undici', 'yaml', 'fast-uri']));
  expect(Object.keys(asked)).not.toContain('vitest');
});

test('a registry that refuses the question is no failure, and is loud', async () => {
  answers = false;
  const {fails, lines} = await audit(options);
  expect(fails).toBe(false);
  expect(lines.join(' ')).toMatch(/!! NOT CHECKED.*405/);
});

test.each<[string, AuditOutput, boolean, RegExp]>([
  ['nothing', report({}), false, /^no known vulnerabilities/],
  ['what is critical', report({a: {severity: 'critical', via: ['b']}}), true, /^critical: a: b$/],
  ['what is moderate', report({a: {severity: 'moderate', via: ['b']}}), false, /^moderate: a: b$/],
  ['no network', {error: {summary: 'getaddrinfo EAI_AGAIN'}}, false, /NOT CHECKED.*EAI_AGAIN/],
  ['a report of another version', {auditReportVersion: 3, vulnerabilities: {}}, false, /NOT CHECKED.*no answer/],
])('%s', (_, output, fails, says) => {
  const answer = judge(output);
  expect(answer.fails).toBe(fails);
  expect(answer.lines.join(' ')).toMatch(says);
});

function report(vulnerabilities: NonNullable<AuditOutput['vulnerabilities']>): AuditOutput {
  return {auditReportVersion: 2, vulnerabilities};
}
