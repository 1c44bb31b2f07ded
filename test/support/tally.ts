/** Counts what vitest's JSON reporter writes. https://vitest.dev/guide/reporters#json-reporter */
import {relative} from 'node:path';

export interface Tally {
  readonly passed: number;
  /** File, name, and error of each failed test. */
  readonly failures: readonly string[];
  readonly skipped: number;
}

export const NOTHING: Tally = {passed: 0, failures: [], skipped: 0};

interface JsonReport {
  readonly testResults: readonly {
    /** The path of the file. */
    readonly name: string;
    readonly status: string;
    readonly message: string;
    readonly assertionResults: readonly {
      readonly status: string;
      readonly fullName: string;
      readonly failureMessages?: readonly string[];
    }[];
  }[];
}

/** A file that fails without a failed test (it cannot be imported, a hook throws) counts as one failure. */
export function tallyOf(report: JsonReport): Tally {
  return report.testResults
    .map(({name, status, message, assertionResults}): Tally => {
      const file = relative(process.cwd(), name);
      const passed = assertionResults.filter(assertion => assertion.status === 'passed').length;
      const failed = assertionResults.filter(assertion => assertion.status === 'failed');
      const failures = failed.map(({fullName, failureMessages = []}) =>
        describeFailure(`${file} > ${fullName}`, failureMessages.join('\n')),
      );
      if (status === 'failed' && failures.length === 0) failures.push(describeFailure(file, message));
      return {passed, failures, skipped: assertionResults.length - passed - failed.length};
    })
    .reduce(add, NOTHING);
}

export function add(a: Tally, b: Tally): Tally {
  return {passed: a.passed + b.passed, failures: [...a.failures, ...b.failures], skipped: a.skipped + b.skipped};
}

export function format({passed, failures, skipped}: Tally): string {
  return `${passed} passed, ${failures.length} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
}

/** Of one failure in the summary. */
const MAX_LINES = 30;

/** Omits the stack, which was already printed. */
function describeFailure(test: string, message: string): string {
  const lines = message.split('\n').filter(line => line.trim() !== '' && !/^\s+at /.test(line));
  return [`FAILED ${test}`, ...lines.slice(0, MAX_LINES).map(line => `    ${line}`)].join('\n');
}
