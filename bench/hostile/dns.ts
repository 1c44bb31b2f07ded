/**
 * A DNS answer that is built to be slow to read, compared with an honest one; and the names that the scheduler holds.
 */

import {parseIssueValue} from '../../src/dns/verdict/caa.ts';
import {decodeMessage} from '../../src/dns/wire/codec.ts';
import {DueHeap} from '../../src/time/due-heap.ts';
import {
  emptyStrings,
  honestLargest,
  longChain,
  recordOf,
  responseOf,
  spaces,
  staircase,
} from '../../test/integration/dns/hostile.ts';
import {type Figure, measure, print} from './table.ts';

const QUESTION = {id: 4711, name: 'shop.example.com', type: 1};
/** Records of 300 bytes each: about as many as fit into the longest message. */
const HONEST_RECORDS = 200;
const NAMES = 100_000;

export function bench(): void {
  const text = [255, ...Array(255).fill(97), 50, ...Array(50).fill(97)];
  const honest = responseOf(QUESTION, Array(HONEST_RECORDS).fill(recordOf(16, text)));
  const answers: [string, Uint8Array][] = [
    ['an honest answer: 200 TXT records', honest],
    ['8,170 pointers, 3,511 records', staircase(QUESTION)],
    ['8,170 pointers, 199 records', staircase(QUESTION, 199)],
    ['16 pointers to a name, 199 records', staircase(QUESTION, 199, 15)],
    ['4,093 honest records', honestLargest(QUESTION)],
    ['a TXT record of 65,000 empty strings', emptyStrings(QUESTION)],
    ['a chain of 200 names of 200 labels', longChain(QUESTION)],
    ['a CAA record of 65,000 blanks', spaces(QUESTION)],
  ];
  const decoded = answers.map(
    ([what, bytes]): Figure => ({what, bytes: bytes.length, ms: measure(() => decodeMessage(bytes))}),
  );
  const yardstick = decoded[0]?.ms.median ?? 1;
  print(decoded.map(figure => ({...figure, counted: `${(figure.ms.median / yardstick).toFixed(2)} x the honest one`})));
  const blanks = `a;a${' '.repeat(65_000)}!`;
  print([
    {what: 'judging the CAA record of blanks', bytes: blanks.length, ms: measure(() => parseIssueValue(blanks))},
    {what: `a ring of the alarm with ${NAMES} names, ten of them due`, ms: measure(ring())},
  ]);
}

/** Each takes the ten that are due next, as the scheduler does, and reschedules them. */
function ring(): () => void {
  const heap = new DueHeap<{dueAt: number}>();
  for (let n = 0; n < NAMES; n++) heap.add({dueAt: (n * 7919) % NAMES});
  let now = -1;
  return () => {
    now += 10;
    for (let item = heap.take(now); item; item = heap.take(now)) {
      item.dueAt += NAMES;
      heap.add(item);
    }
  };
}
