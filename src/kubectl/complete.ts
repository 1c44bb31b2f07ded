/**
 * The completions that kubectl offers when a person presses TAB.
 * https://kubernetes.io/docs/tasks/extend-kubectl/kubectl-plugins/
 */
import {FORMATS} from './records.ts';

export const COMMANDS = ['status', 'why', 'records', 'verify', 'check', 'review', 'completion'];
const OPTIONS = ['--namespace', '--all-namespaces', '--output', '--kubeconfig', '--timeout', '--help'];
const TAKES_VALUE = /^(-n|-o|--namespace|--output|--kubeconfig|--timeout)$/;

/** Directives of cobra's shell completion: whether the shell offers file names. */
const FILES = ':0';
const NO_FILES = ':4';

/** The names in the cluster that the words before the current one select. */
export interface Names {
  readonly namespaces: () => Promise<readonly string[]>;
  readonly projects: () => Promise<readonly string[]>;
  readonly hosts: () => Promise<readonly string[]>;
}

/** `words`: everything typed after the program's name. The last word is the one to complete, and may be empty. */
export async function complete(words: readonly string[], names: Names): Promise<string> {
  const current = words.at(-1) ?? '';
  const previous = words.at(-2) ?? '';
  if (previous === '--kubeconfig') return `${FILES}\n`;
  const candidates = await candidatesFor(words.slice(0, -1), current, names).catch(() => []);
  return [...candidates.filter(word => word.startsWith(current)), NO_FILES, ''].join('\n');
}

async function candidatesFor(before: readonly string[], current: string, names: Names): Promise<readonly string[]> {
  const [command, ...given] = positionals(before);
  const previous = before.at(-1) ?? '';
  if (/^(-n|--namespace)$/.test(previous)) return await names.namespaces();
  if (/^(-o|--output)$/.test(previous)) return command === 'records' ? FORMATS : ['json'];
  if (TAKES_VALUE.test(previous)) return [];
  if (current.startsWith('-')) return OPTIONS;
  if (command === undefined) return COMMANDS;
  if (given.length > 0) return [];
  if (command === 'status') return await names.projects();
  return ['why', 'records', 'verify', 'check'].includes(command) ? await names.hosts() : [];
}

function positionals(words: readonly string[]): string[] {
  return words.filter((word, index) => !word.startsWith('-') && !TAKES_VALUE.test(words[index - 1] ?? ''));
}
