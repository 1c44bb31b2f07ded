import {median, quantile} from '../statistics.ts';
import type {Case, Kind} from './cases.ts';
import type {Said} from './verifier.ts';

/** `open`: `unknown` although the answer can be known. `wrong`: `yes` or `no`, but not a correct answer. */
type Mark = 'right' | 'wrong' | 'open';
const MARKS = ['right', 'wrong', 'open'] as const;
const KINDS: readonly (readonly [Kind, string])[] = [
  ['cname', 'by CNAME'],
  ['addresses', 'by address'],
  ['challenge', 'by challenge'],
  ['wildcard', 'wildcards'],
  ['caa', 'CAA'],
];
const TIMES = [0.5, 0.95, 1] as const;

function markOf({right}: Case, {answer}: Said): Mark {
  if (right.includes(answer)) return 'right';
  return answer === 'unknown' ? 'open' : 'wrong';
}

interface Marked {
  readonly case: Case;
  readonly said: Said;
  readonly mark: Mark;
}

/** Rounds of all verifiers. The others are compared with the first one. */
export class Scores {
  readonly #names: Readonly<Record<string, string>>;
  readonly #rounds = new Map<string, Marked[][]>();

  constructor(names: Readonly<Record<string, string>>) {
    this.#names = names;
  }

  add(verifier: string, asked: readonly Case[], said: readonly Said[]): void {
    const marked = asked.map((each, n): Marked => {
      const answer = said[n];
      if (answer?.host !== each.question.host) throw new Error(`${verifier} has no answer about ${each.name}`);
      return {case: each, said: answer, mark: markOf(each, answer)};
    });
    this.#rounds.set(verifier, [...(this.#rounds.get(verifier) ?? []), marked]);
  }

  format(): string {
    const kinds = KINDS.map(([, title]) => `${title}: right wrong  open`.padStart(31)).join('');
    const head = `${''.padEnd(30)}${kinds}    p50 ms       p95 ms       max ms`;
    return [head, ...Object.keys(this.#names).map(each => this.#line(each)), '', ...this.#mistakes()].join('\n');
  }

  #line(verifier: string): string {
    const counts = (kind: Case['kind']) => MARKS.map(mark => this.#count(verifier, kind, mark));
    const cells = (values: readonly string[]) => values.map(value => value.padStart(6)).join('');
    const [first = ''] = Object.keys(this.#names);
    const times = TIMES.map(q => {
      const [own, ours] = [this.#time(verifier, q), this.#time(first, q)];
      return `${own.toFixed(0).padStart(6)} [${(own / ours).toFixed(1)}]`.padEnd(13);
    });
    const name = (this.#names[verifier] ?? '').padEnd(30);
    const columns = KINDS.map(([kind]) => cells(counts(kind)).padStart(31));
    return `${name}${columns.join('')}   ${times.join('')}`.trimEnd();
  }

  #count(verifier: string, kind: Case['kind'], mark: Mark): string {
    const rounds = this.#rounds.get(verifier) ?? [];
    const asked = rounds.map(round => round.filter(each => each.case.kind === kind));
    if (asked.every(round => round.length === 0)) return '-';
    return String(median(asked.map(round => round.filter(each => each.mark === mark).length)));
  }

  /** Milliseconds per verdict about a CNAME, the only kind that every verifier answers. */
  #time(verifier: string, q: number): number {
    const rounds = this.#rounds.get(verifier) ?? [];
    return median(
      rounds.map(round =>
        quantile(
          round.filter(each => each.case.kind === 'cname').map(({said}) => said.ms),
          q,
        ),
      ),
    );
  }

  /** Everything that was wrong or open in any round, and in how many. */
  #mistakes(): string[] {
    return Object.entries(this.#names).flatMap(([verifier, name]) =>
      (['wrong', 'open'] as const).flatMap(mark => {
        const counts = new Map<string, number>();
        for (const each of (this.#rounds.get(verifier) ?? []).flat()) {
          if (each.mark === mark) counts.set(each.case.name, (counts.get(each.case.name) ?? 0) + 1);
        }
        const list = [...counts].map(([what, count]) => `${what} (${count})`);
        return list.length > 0 ? [`${name}, ${mark}: ${list.join('; ')}`] : [];
      }),
    );
  }
}
