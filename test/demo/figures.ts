import type {Lifetimes} from './first-domain.ts';

export interface Figures {
  readonly lifetimes: Lifetimes;
  /** Seconds. */
  readonly removed: number;
  /** From the apex's addition to its removal, by what and how. */
  readonly writes: ReadonlyMap<string, number>;
  /** Seconds. */
  readonly story: number;
}

export function formatFigures({lifetimes, removed, writes, story}: Figures): string[] {
  const {verified, certified, live, answered} = lifetimes;
  const total = [...writes.values()].reduce((sum, count) => sum + count, 0);
  const each = [...writes].map(([name, count]) => `${count} ${name}`).join(', ');
  return [
    `record right → verified ${shown(verified)}, certified ${shown(certified)}, live ${shown(live)}, first answer ${shown(answered)}`,
    `kubectl delete → not served ${shown(removed)}`,
    `API writes in one domain's life, from added to removed: ${total} (${each})`,
    `the story ${shown(story)}`,
  ];
}

function shown(seconds: number): string {
  return `${seconds.toFixed(1)} s`;
}
