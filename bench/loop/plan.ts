/**
 * The time to plan orders with many waiting requests, most of which must keep waiting: `node bench/loop/plan.ts
 * [REQUESTS] [ACCOUNTS]`, by default 20,000 of 1,000. Prints the time of the first plan, before the code is compiled,
 * and the median of the others.
 */
import {planOrders} from '../../src/operator/issuance/order-budget.ts';

const [requests = 20_000, accounts = 1000] = process.argv.slice(2).map(Number);
const PLANS = 41;
const budgets = {
  orderBudget: {
    orders: 300,
    windowSeconds: 10_800,
    renewalReserve: 50,
    newHostsPerDomain: 50,
    domainWindowSeconds: 604_800,
  },
  failureBudget: {failures: 5, windowSeconds: 3600},
};
const nowMs = Date.now();
const domain = (n: number) => `d${n % Math.ceil(requests / 2)}.example`;
const draw = (n: number) => ({host: `h${n}.${domain(n)}`, account: `account-${n % accounts}`, domain: domain(n)});
const waiting = Array.from({length: requests}, (_, n) => ({
  ...draw(n),
  key: `namespace-${n % accounts}/request-${n}`,
  renewal: n % 10 === 0,
  sinceMs: nowMs - n,
}));
const made = Array.from({length: 300}, (_, n) => ({...draw(requests + n), renewal: false, atMs: nowMs - n * 30_000}));

const times = Array.from({length: PLANS}, () => {
  const start = performance.now();
  planOrders(made, waiting, budgets, nowMs);
  return performance.now() - start;
});
const [first = 0, ...others] = times;
const median = others.sort((a, b) => a - b)[Math.floor(others.length / 2)] ?? 0;
process.stdout.write(
  `plan of ${requests} requests of ${accounts} accounts: ${median.toFixed(0)} ms (the first ${first.toFixed(0)} ms)\n`,
);
