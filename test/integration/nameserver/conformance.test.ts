/**
 * Resolvers that nobody here wrote find our name server from a signed root, with QNAME minimization, mixed letter case
 * (Unbound, Knot Resolver), and validation on. Needs Linux, and root.
 */
import {mkdtemp, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {beforeAll, describe, expect, test} from 'vitest';
import {cacheRoot} from '../../cluster/cache.ts';
import {run} from '../../cluster/children.ts';
import {unpackedPackages} from '../../support/debian-packages.ts';
import {EDNS_QUERIES, type Findings, RESOLVERS} from './conformance/plan.ts';

const PACKAGES = ['nsd', 'unbound', 'bind9', 'bind9-utils', 'bind9-dnsutils', 'knot-resolver'];

let found: {readonly resolvers: Readonly<Record<string, Findings>>; readonly edns: readonly string[]};
beforeAll(async () => {
  const packages = await unpackedPackages({
    cache: cacheRoot(),
    name: 'resolvers',
    packages: async () => PACKAGES,
    what: `${PACKAGES.join(', ')}, the resolvers of the tests of the name server`,
    apt: '/usr/bin/apt-get',
    dpkg: '/usr/bin/dpkg',
    log: console.error,
  });
  const folder = await mkdtemp(join(tmpdir(), 'nameplate-conformance-'));
  const inside = join(import.meta.dirname, 'conformance/inside.ts');
  found = JSON.parse(await run(['unshare', '--net', '--mount', process.execPath, inside, folder, packages]));
  await rm(folder, {recursive: true});
});

describe.each(Object.keys(RESOLVERS))('%s', name => {
  test('resolves what exists, and what does not', () => {
    expect(found.resolvers[name]).toMatchObject({
      before: [],
      address: 'ENODATA',
      caa: 'ENODATA',
      other: 'ENODATA',
      none: 'ENOTFOUND',
      nameServers: ['ns1.platform.net', 'ns2.platform.net'],
    });
  });

  test('keeps no answer for long: it sees a new challenge, a second one, and that the first one has ended', () => {
    expect(found.resolvers[name]?.seen).toEqual([true, true, true]);
  });
});

test.each(EDNS_QUERIES.map((row, index) => ({...row, index})))('dig $query', ({index, want, never}) => {
  expect(found.edns[index]).toMatch(want);
  expect(found.edns[index]).not.toMatch(never);
});
