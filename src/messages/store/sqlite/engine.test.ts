import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterAll, expect, test} from 'vitest';
import type {Operation} from '../store.ts';
import {Engine} from './engine.ts';

const folder = mkdtempSync(join(tmpdir(), 'nameplate-engine-'));
afterAll(() => rmSync(folder, {recursive: true}));

const retention = {doneMs: 1e9, deadMs: 1e9, idempotencyMs: 1e9};
const engine = new Engine({
  path: join(folder, 'messages.db'),
  maxAttempts: 3,
  accountBytes: 1e12,
  reserveBytes: 0,
  retention,
});

const append = (account: string, message: string): Operation => ({kind: 'append', given: {account, message}});
const claim: Operation = {kind: 'claim', given: {account: 'mine', limit: 100, leaseMs: 1000}};

// attack: message-work
test('a transaction ends when it has done enough work, and every operation still gets its result', () => {
  const messages = Array.from({length: 5000}, (_, n) => append('mine', `${n}`));
  const appended = [...engine.applyAll(messages, 0)];
  expect(appended.map(({rows}) => rows)).toSatisfy((rows: number[]) => rows.every(count => count <= 512));
  const claims = Array.from({length: 40}, () => claim);
  const results = [...engine.applyAll([...claims, append('theirs', 'x')], 0)];
  // A claim of 100 may begin in a transaction that has one row left.
  expect(Math.max(...results.map(({rows}) => rows))).toBeLessThanOrEqual(512 + 300);
  expect(results.length).toBeGreaterThan(5);
  expect(results.flatMap(({results: some}) => some).filter(({ok}) => ok)).toHaveLength(41);
});

// attack: message-work
test('long messages end a transaction too', () => {
  const long = Array.from({length: 64}, () => append('long', 'x'.repeat(256 * 1024)));
  const written = [...engine.applyAll(long, 0)];
  expect(written.map(({results}) => results.length)).toEqual([16, 16, 16, 16]);
  const list: Operation = {kind: 'list', given: {account: 'long', limit: 100}};
  const read = [
    ...engine.applyAll(
      Array.from({length: 32}, () => list),
      0,
    ),
  ];
  // 4 MiB: each page returns one of these messages, after reading the next one as well.
  expect(Math.max(...read.map(({results}) => results.length))).toBeLessThanOrEqual(8);
});

test('so do operations that find nothing', () => {
  const empty: Operation = {kind: 'claim', given: {account: 'nobody', limit: 1, leaseMs: 1000}};
  const written = [
    ...engine.applyAll(
      Array.from({length: 1000}, () => empty),
      0,
    ),
  ];
  expect(written.map(({results}) => results.length)).toEqual([512, 488]);
});
