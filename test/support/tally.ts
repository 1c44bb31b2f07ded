/** Counts what vitest's JSON reporter writes. https://vitest.dev/guide/reporters#json-reporter */

export interface Tally {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

export const NOTHING: Tally = {passed: 0, failed: 0, skipped: 0};

interface JsonReport {
  readonly testResults: readonly {
    readonly status: string;
    readonly assertionResults: readonly {readonly status: string}[];
  }[];
}

/** A file that fails without a failed test (it cannot be imported, a hook throws) counts as one failure. */
export function tallyOf(report: JsonReport): Tally {
  const count = (statuses: readonly string[], wanted: string) => statuses.filter(status => status === wanted).length;
  return report.testResults
    .map(({status, assertionResults}): Tally => {
      const statuses = assertionResults.map(assertion => assertion.status);
      const [passed, failed] = [count(statuses, 'passed'), count(statuses, 'failed')];
      const skipped = statuses.length - passed - failed;
      return {passed, failed: status === 'failed' ? Math.max(failed, 1) : failed, skipped};
    })
    .reduce(add, NOTHING);
}

export function add(a: Tally, b: Tally): Tally {
  return {passed: a.passed + b.passed, failed: a.failed + b.failed, skipped: a.skipped + b.skipped};
}

export function format({passed, failed, skipped}: Tally): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
}
