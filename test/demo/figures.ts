import type {Lifetimes} from './first-domain.ts';
import type {WildcardFigures} from './wildcard.ts';

export interface Figures {
  readonly lifetimes: Lifetimes;
  readonly wildcard: WildcardFigures;
  /** Seconds. */
  readonly removed: number;
  /** For one domain, by resource and verb. */
  readonly writes: {readonly toLive: ReadonlyMap<string, number>; readonly toRemoved: ReadonlyMap<string, number>};
  /** Seconds. */
  readonly story: number;
}

export function formatFigures({lifetimes, wildcard, removed, writes, story}: Figures): string[] {
  const {verified, certified, live, answered} = lifetimes;
  return [
    `record correct → verified ${shown(verified)}, certified ${shown(certified)}, live ${shown(live)}, first answer ${shown(answered)}`,
    compared(wildcard),
    `kubectl delete → not served ${shown(removed)}`,
    `API writes of the operator for one domain: added → live ${listed(writes.toLive)}; live → removed ${listed(writes.toRemoved)}`,
    `the story ${shown(story)}`,
  ];
}

function compared({wildcard, beside}: WildcardFigures): string {
  const ratio = (wildcard / beside).toFixed(2);
  return `record correct → live: a wildcard ${shown(wildcard)}, a host by HTTP-01 beside it ${shown(beside)}; ratio ${ratio} (goal: at most 1.5)`;
}

function listed(writes: ReadonlyMap<string, number>): string {
  const total = [...writes.values()].reduce((sum, count) => sum + count, 0);
  return `${total} (${[...writes].map(([name, count]) => `${count} ${name}`).join(', ')})`;
}

function shown(seconds: number): string {
  return `${seconds.toFixed(1)} s`;
}
