/**
 * Checks that the subject of every new commit has at most 72 characters. Names those that are longer.
 *
 *     node tools/check-commits.ts [FOLDER]      default: this repository
 *
 * A commit is new if it is neither in the upstream's default branch nor older than this rule.
 */
import {spawnSync} from 'node:child_process';
import {join} from 'node:path';

const MAX_LENGTH = 72;
/** The last commit that breaks the rule. `main` is never rewritten, so this and earlier ones stay as they are. */
const BEFORE_THE_RULE = '2d37684637cc5776916c79dc9c7e587990e571d6';
const UPSTREAMS = ['refs/remotes/origin/HEAD', 'refs/remotes/origin/main', 'refs/remotes/origin/master'];

export interface Commit {
  readonly hash: string;
  readonly subject: string;
}

/** One line for each commit whose subject is too long, counted in characters as a reader sees them. */
export function problemsOf(commits: readonly Commit[]): string[] {
  return commits.flatMap(({hash, subject}) => {
    const {length} = [...subject];
    return length > MAX_LENGTH ? [`${hash.slice(0, 7)} has a subject of ${length} characters: ${subject}`] : [];
  });
}

/** Undefined if it is unknown which commits are new: outside a repository, or in a clone without the older commits. */
export function newCommits(folder: string, beforeTheRule = BEFORE_THE_RULE): Commit[] | undefined {
  const known = [beforeTheRule, ...UPSTREAMS].filter(name =>
    git(folder, 'rev-parse', '-q', '--verify', `${name}^{commit}`),
  );
  if (known.length === 0) return undefined;
  const log = git(folder, 'log', '--no-merges', '--format=%H %s', 'HEAD', '--not', ...known, '--');
  return log?.split('\n').flatMap(line => {
    const space = line.indexOf(' ');
    return space > 0 ? [{hash: line.slice(0, space), subject: line.slice(space + 1)}] : [];
  });
}

/** Undefined if git fails or is not installed. */
function git(folder: string, ...args: readonly string[]): string | undefined {
  const {status, stdout} = spawnSync('git', ['-C', folder, ...args], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  return status === 0 ? stdout : undefined;
}

if (import.meta.main) {
  const commits = newCommits(process.argv[2] ?? join(import.meta.dirname, '..'));
  if (!commits) console.log('commit subjects: NOT CHECKED, git does not know which commits are new');
  const problems = problemsOf(commits ?? []);
  for (const problem of problems) console.error(problem);
  if (problems.length > 0) {
    console.error(`A subject has at most ${MAX_LENGTH} characters. Reword: git rebase -i, or git commit --amend.`);
    process.exitCode = 1;
  }
}
