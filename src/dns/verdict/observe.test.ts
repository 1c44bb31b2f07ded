import {expect, test} from 'vitest';
import type {ResourceRecord} from '../wire/codec.ts';
import type {HostEvidence} from './evidence.ts';
import {observe} from './observe.ts';

const HOST = 'shop.example.com';

function evidence(records: readonly ResourceRecord[], more: Partial<HostEvidence> = {}): HostEvidence {
  const answers = ['b', 'a'].map(name => ({ok: true, server: name, serverName: name, records, path: []}) as const);
  return {kind: 'host', zone: 'example.com', recursive: false, apex: false, chains: new Map(), answers, ...more};
}

test('the order of servers and records does not matter', () => {
  const one: ResourceRecord = {type: 'A', name: HOST, ttl: 60, address: '192.0.2.1'};
  const two: ResourceRecord = {type: 'A', name: HOST, ttl: 60, address: '192.0.2.2'};
  expect(observe(evidence([one, two]))).toEqual(observe(evidence([two, one])));
});

test('untrusted text is escaped and truncated', () => {
  const flood = Array.from({length: 500}, (_, n): ResourceRecord => {
    return {type: 'TXT', name: `_nameplate.${HOST}`, ttl: 60, text: `\u001b[31m${n}${'\u00ff'.repeat(1000)}`};
  });
  const answers = [{ok: true, server: 'ns1', serverName: 'ns1', records: flood, path: []}] as const;
  const {observed, txtValues} = observe(evidence([], {txt: {answers, wildcard: false}}));
  expect(observed.length).toBeGreaterThan(10);
  expect(JSON.stringify({observed}).length).toBeLessThanOrEqual(8192 + '{"observed":}'.length);
  expect(JSON.stringify([observed, txtValues])).toMatch(/^[\x20-\x7e]*$/);
  expect(txtValues.length).toBeLessThanOrEqual(16);
  expect(Math.max(...txtValues.map(value => value.length))).toBeLessThanOrEqual(255);
});

test('the TTL of a cached answer, which counts down, does not count as a change', () => {
  const record: ResourceRecord = {type: 'A', name: HOST, ttl: 60, address: '192.0.2.1'};
  expect(observe(evidence([record])).observed[0]).toHaveProperty('ttl', 60);
  expect(observe(evidence([record], {recursive: true})).observed[0]).not.toHaveProperty('ttl');
});

test('the smallest TTL is that of the records, or the negative one where there is none', () => {
  const record: ResourceRecord = {type: 'A', name: HOST, ttl: 60, address: '192.0.2.1'};
  const none = {
    ok: true,
    server: 'c',
    serverName: 'c',
    records: [],
    nxdomain: true,
    negativeTtl: 30,
    path: [],
  } as const;
  expect(observe(evidence([record])).minTtlSeconds).toBe(60);
  expect(observe(evidence([], {answers: [none]})).minTtlSeconds).toBe(30);
});
