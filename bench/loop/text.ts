/** Text that compresses as objects of people do. A run of one letter would make compression nearly free. */
import {readFileSync} from 'node:fs';
import {join} from 'node:path';

const words = readFileSync(join(import.meta.dirname, '../../docs/design.md'), 'utf8').split(/\s+/);

/** Words of our own documentation in an order that differs for each `seed`, which is a positive integer. */
export function textOf(seed: number, length: number): string {
  let state = (seed * 2_654_435_761) % 2_147_483_647 || 1;
  let text = '';
  while (text.length < length) {
    state = (state * 48_271) % 2_147_483_647;
    text += `${words[state % words.length]} `;
  }
  return text.slice(0, length);
}
