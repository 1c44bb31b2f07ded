/** Test cases for both stores, which compare the charge with the actual growth of the store. */
import {randomBytes} from 'node:crypto';

export interface CostRow {
  readonly case: string;
  readonly count: number;
  readonly account: (n: number) => string;
  readonly message: string;
  readonly key?: (n: number) => string;
  /** The message is claimed, and returned with this reason. */
  readonly reason?: string;
}

const incompressible = (length: number) => randomBytes(length).toString('base64').slice(0, length);
const one = () => 'one';
const manyAccounts = (n: number) => `account-${(n * 7919) % 101}`;
export const COST_ROWS: readonly CostRow[] = [
  {case: 'one character', count: 5000, account: one, message: 'x'},
  {case: 'accounts served in turn', count: 5000, account: manyAccounts, message: 'x'},
  {case: 'long names of accounts', count: 3000, account: n => `${n % 50}-${'a'.repeat(250)}`, message: 'x'},
  {case: 'with idempotency keys', count: 3000, account: one, message: 'x', key: n => `${(n * 7919) % 3001}`},
  {
    case: 'with the longest keys, in no order',
    count: 3000,
    account: manyAccounts,
    message: 'x',
    key: n => `${(n * 7919) % 3001}`.padStart(255, 'k'),
  },
  {case: 'with the longest reason', count: 3000, account: one, message: 'x', reason: 'y'.repeat(512)},
  {case: 'that just share no page', count: 1000, account: one, message: incompressible(2050)},
  {case: 'that just need a page more', count: 1000, account: one, message: incompressible(4050)},
  {case: 'long ones', count: 100, account: one, message: incompressible(262_000)},
];
