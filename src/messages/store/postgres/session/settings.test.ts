import {expect, test} from 'vitest';
import {type Durability, isConfirmed, type Settings, shortfall} from './settings.ts';

const good: Settings = {standby: false, names: 'ANY 1 (a, b)', commit: 'on', fsync: 'on', sees: true};
const alone: Settings = {...good, names: ' '};

test.each<[string, Durability, Settings, string | undefined]>([
  ['a synchronous standby', 'synchronous-standby', good, undefined],
  ['one that also applies', 'synchronous-standby', {...good, commit: 'remote_apply'}, undefined],
  ['none', 'synchronous-standby', alone, 'synchronous_standby_names is empty'],
  ['only its memory', 'synchronous-standby', {...good, commit: 'remote_write'}, 'synchronous_commit is remote_write'],
  ['only the primary', 'synchronous-standby', {...good, commit: 'local'}, 'synchronous_commit is local'],
  ['one that the role cannot see', 'synchronous-standby', {...good, sees: false}, 'GRANT pg_read_all_stats'],
  ['no fsync', 'synchronous-standby', {...good, fsync: 'off'}, 'fsync is off'],
  ['the primary alone', 'storage', {...alone, sees: false}, undefined],
  ['the primary alone, later', 'storage', {...alone, commit: 'off'}, 'synchronous_commit is off'],
  ['the primary alone without fsync', 'storage', {...alone, fsync: 'off'}, 'fsync is off'],
  ['no promise', 'accepted-loss', {...alone, commit: 'off', fsync: 'off'}, undefined],
  ['no promise, but a standby', 'accepted-loss', {...good, standby: true}, 'the server is a standby'],
])('%s, %s', (_, durability, settings, problem) => {
  const found = shortfall(durability, settings);
  if (problem === undefined) expect(found).toBeUndefined();
  else expect(found).toContain(problem);
});

test.each([
  ['a', 1],
  ['"2 (a)", b', 1],
  ['2 (a, b, c)', 2],
  ['ANY 2 (a, b, c)', 2],
  [' first 12(*)', 12],
])('%s: %i must confirm', (names, required) => {
  expect(isConfirmed({names, confirmed: required - 1})).toBe(false);
  expect(isConfirmed({names, confirmed: required})).toBe(true);
});
