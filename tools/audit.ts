/**
 * Asks the npm registry for known vulnerabilities in what is shipped, and fails if any is high or critical. If the
 * registry cannot answer (a mirror, no network), this prints a warning instead of failing.
 *
 *     node tools/audit.ts
 */
import {spawn} from 'node:child_process';
import {join} from 'node:path';
import {text} from 'node:stream/consumers';

/** The output of `npm audit --json`: a report of version 2, or the reason why there is none. */
export interface AuditOutput {
  readonly auditReportVersion?: number;
  readonly vulnerabilities?: Readonly<Record<string, Vulnerability>>;
  readonly message?: string;
  readonly error?: {readonly summary?: string; readonly detail?: string};
}

interface Vulnerability {
  readonly severity: string;
  /** An advisory, or the name of a dependency that has one. */
  readonly via: readonly (string | {readonly title: string; readonly url: string})[];
}

export interface Answer {
  readonly fails: boolean;
  readonly lines: readonly string[];
}

const FAILS: ReadonlySet<string> = new Set(['high', 'critical']);

export function judge(output: AuditOutput): Answer {
  if (output.auditReportVersion !== 2) return notChecked(output.message ?? output.error?.summary ?? 'no answer');
  const found = Object.entries(output.vulnerabilities ?? {});
  const lines = found.map(([name, {severity, via}]) => {
    const causes = via.map(cause => (typeof cause === 'string' ? cause : `${cause.title}, ${cause.url}`));
    return `${severity}: ${name}: ${causes.join('; ')}`;
  });
  const fails = found.some(([, {severity}]) => FAILS.has(severity));
  return {fails, lines: lines.length > 0 ? lines : ['no known vulnerabilities in what is shipped']};
}

function notChecked(why: string): Answer {
  const line = '!'.repeat(100);
  const says = [
    'NOT CHECKED for known vulnerabilities: the npm registry did not answer.',
    why,
    'Before you publish, run this where the registry answers: npm audit --omit=dev',
  ];
  return {fails: false, lines: [line, ...says.map(text => `!! ${text}`), line]};
}

/** `options`: further options for npm. */
export async function audit(options: readonly string[] = []): Promise<Answer> {
  const waits = ['--fetch-retries=0', '--fetch-timeout=20000'];
  const npm = spawn('npm', ['audit', '--omit=dev', '--package-lock-only', '--json', ...waits, ...options], {
    cwd: join(import.meta.dirname, '..'),
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const gone = new Promise((resolve, reject) => npm.once('error', reject).once('exit', resolve));
  // The exit code does not distinguish a finding from an error.
  const [output] = await Promise.all([text(npm.stdout), gone]);
  try {
    return judge(JSON.parse(output) as AuditOutput);
  } catch {
    return notChecked(`npm said: ${output.slice(0, 200)}`);
  }
}

if (import.meta.main) {
  const {fails, lines} = await audit();
  for (const line of lines) console.error(line);
  process.exitCode = fails ? 1 : 0;
}
