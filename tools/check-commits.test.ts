import {execFileSync} from 'node:child_process';
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterEach, beforeEach, describe, expect, test} from 'vitest';
import {newCommits, problemsOf} from './check-commits.ts';

const LONG = 'x'.repeat(73);
const NOBODY = '0'.repeat(40);

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'check-commits-'));
});
afterEach(() => rmSync(folder, {recursive: true}));

function git(at: string, ...args: readonly string[]): string {
  const who = ['-c', 'user.name=a', '-c', 'user.email=a@example.com', '-c', 'commit.gpgsign=false'];
  return execFileSync('git', ['-C', at, ...who, ...args], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  }).trim();
}

/** Creates a repository with these commits. Returns its folder and the hashes. */
function repository(name: string, ...subjects: readonly string[]): {at: string; hashes: readonly string[]} {
  const at = join(folder, name);
  git(folder, 'init', '-q', '-b', 'main', at);
  return {at, hashes: subjects.map(subject => commit(at, subject))};
}

function commit(at: string, subject: string): string {
  git(at, 'commit', '-q', '--allow-empty', '-m', subject, '-m', LONG);
  return git(at, 'rev-parse', 'HEAD');
}

function subjects(at: string, beforeTheRule: string | undefined): string[] | undefined {
  return newCommits(at, beforeTheRule ?? NOBODY)?.map(({subject}) => subject);
}

describe('new commits', () => {
  test('without a remote: those since the rule', () => {
    const {at, hashes} = repository('local', 'old', 'the last one before', 'new', 'newer');
    expect(subjects(at, hashes[1])).toEqual(['newer', 'new']);
  });

  test('in a clone: those that are not in the default branch of its upstream', () => {
    const {at: upstream, hashes} = repository('upstream', 'old', 'pushed');
    const at = join(folder, 'clone');
    git(folder, 'clone', '-q', upstream, at);
    git(at, 'checkout', '-q', '-b', 'feature');
    commit(at, 'mine');
    expect(subjects(at, hashes[0])).toEqual(['mine']);
    expect(subjects(at, undefined)).toEqual(['mine']);
  });

  test('that an upstream does not have yet, although it is behind the rule', () => {
    const {at: upstream} = repository('upstream', 'ancient');
    const at = join(folder, 'clone');
    git(folder, 'clone', '-q', upstream, at);
    const old = commit(at, 'old');
    commit(at, 'mine');
    expect(subjects(at, old)).toEqual(['mine']);
  });

  test('merges are not judged, their commits are', () => {
    const {at, hashes} = repository('local', 'old');
    git(at, 'checkout', '-q', '-b', 'feature');
    commit(at, 'mine');
    git(at, 'checkout', '-q', 'main');
    git(at, 'merge', '-q', '--no-ff', '-m', LONG, 'feature');
    expect(subjects(at, hashes[0])).toEqual(['mine']);
  });

  test.each(['a folder without git', 'a clone that lacks the older commits'])('%s: nobody can know', what => {
    const {at} = repository('other', 'one commit');
    expect(subjects(what === 'a folder without git' ? folder : at, undefined)).toBeUndefined();
  });
});

test('a subject of 72 characters passes; a longer one is named with its commit', () => {
  const commits = [LONG.slice(1), LONG, 'ü'.repeat(72)].map(subject => ({hash: NOBODY, subject}));
  expect(problemsOf(commits)).toEqual([`0000000 has a subject of 73 characters: ${LONG}`]);
});
