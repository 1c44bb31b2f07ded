import {describe, expect, test} from 'vitest';
import {ordersLeft, planInSteps, planOrders} from './order-budget.ts';
import type {Budgets, MadeOrder, WaitingOrder} from './order-ledger.ts';

const HOUR = 3_600_000;
const WINDOW = 3 * HOUR;
const WEEK = 7 * 24 * HOUR;
const NOW = Date.parse('2026-11-21T12:00:00Z');
/** Of 100 orders, new hosts may have 80, of which a single tenant gets 64. */
const BUDGETS: Budgets = {
  orderBudget: {
    orders: 100,
    windowSeconds: WINDOW / 1000,
    renewalReserve: 20,
    newHostsPerDomain: 10,
    domainWindowSeconds: WEEK / 1000,
  },
  failureBudget: {failures: 5, windowSeconds: HOUR / 1000},
};

interface Many {
  readonly account: string;
  readonly count: number;
  /** The registrable domain of all; by default, each host has its own. */
  readonly domain?: string;
  readonly renewal?: boolean;
}

function draws({account, count, domain, renewal = false}: Many) {
  return Array.from({length: count}, (_, n) => {
    const own = domain ?? `${account}${n}.example`;
    return {host: `${account}${n}.${own}`, account, domain: own, renewal};
  });
}

function waiting(many: Many, more: Partial<WaitingOrder> = {}): WaitingOrder[] {
  return draws(many).map((draw, n) => ({
    ...draw,
    key: `${many.account}/${draw.host}/${many.renewal ?? false}`,
    sinceMs: NOW - 1000 + n,
    ...more,
  }));
}

/** One order per second, the last one `agoMs` before now. */
function made(many: Many, agoMs: number): MadeOrder[] {
  return draws(many).map((draw, n) => ({...draw, atMs: NOW - agoMs - (many.count - 1 - n) * 1000}));
}

/** How many orders of each account may be placed now. */
function admitted(orders: readonly MadeOrder[], line: readonly WaitingOrder[], nowMs = NOW): Record<string, number> {
  const turns = planOrders(orders, line, BUDGETS, nowMs);
  const counts: Record<string, number> = {};
  for (const {key, account} of line) {
    counts[account] = (counts[account] ?? 0) + (turns.get(key)?.atMs === nowMs ? 1 : 0);
  }
  return counts;
}

test('what is left for new hosts excludes the reserve for renewals, as far as renewals have not used it', () => {
  const left = (orders: readonly MadeOrder[]) => ordersLeft(orders, BUDGETS, NOW);
  expect(left([])).toEqual({renewal: 100, new: 80});
  expect(left(made({account: 'a', count: 30}, HOUR))).toEqual({renewal: 70, new: 50});
  expect(left(made({account: 'a', count: 15, renewal: true}, HOUR))).toEqual({renewal: 85, new: 80});
  expect(left(made({account: 'a', count: 90}, HOUR))).toEqual({renewal: 10, new: 0});
  expect(left(made({account: 'a', count: 90}, WINDOW + 1000))).toEqual({renewal: 100, new: 80});
});

test('within all limits, all orders go immediately', () => {
  expect(admitted([], waiting({account: 'a', count: 30}))).toEqual({a: 30});
});

test('an order without a time goes, too, and delays no other', () => {
  const line = [
    ...waiting({account: 'a', count: 2}, {sinceMs: Number.NaN}),
    ...waiting({account: 'b', count: 3}),
    ...waiting({account: 'b', count: 1, domain: 'other.example'}, {sinceMs: Number.NaN}),
  ];
  expect(admitted([], line)).toEqual({a: 2, b: 4});
});

describe('between accounts', () => {
  const thousands = waiting({account: 'a', count: 3000});
  const first = waiting({account: 'b', count: 1});

  test('a single one gets four fifths', () => {
    expect(admitted([], thousands)).toEqual({a: 64});
  });

  test('one with thousands of hosts does not keep the first host of another waiting, before or after', () => {
    expect(admitted([], [...thousands, ...first])).toEqual({a: 63, b: 1});
    expect(admitted(made({account: 'a', count: 64}, HOUR), [...thousands, ...first])).toEqual({a: 0, b: 1});
  });

  test('two with thousands of hosts each leave something to a third, and get the same', () => {
    const others = waiting({account: 'b', count: 3000}, {sinceMs: NOW});
    const {a = 0, b = 0} = admitted([], [...thousands, ...others]);
    expect(Math.abs(a - b)).toBeLessThanOrEqual(1);
    expect(a + b).toBeLessThan(80);
    expect(a + b).toBeGreaterThan(66);
  });

  test('an account that has had many lets the others catch up as the window slides', () => {
    const orders = [...made({account: 'a', count: 64}, HOUR), ...made({account: 'b', count: 12}, HOUR / 2)];
    const line = [...thousands, ...waiting({account: 'b', count: 3000})];
    const turns = planOrders(orders, line, BUDGETS, NOW);
    const next = line.filter(({key}) => (turns.get(key)?.atMs ?? 0) < NOW + 2 * HOUR + 20_000);
    expect(next.filter(({account}) => account === 'b').length).toBeGreaterThan(10);
  });

  test('the last one is for an account that has had none', () => {
    const orders = [...made({account: 'a', count: 60}, HOUR), ...made({account: 'c', count: 19}, HOUR)];
    expect(admitted(orders, [...waiting({account: 'c', count: 5}), ...first])).toEqual({b: 1, c: 0});
  });
});

describe('renewals', () => {
  const spent = [...made({account: 'a', count: 60}, HOUR), ...made({account: 'c', count: 20}, HOUR)];

  test('have a reserve that new hosts cannot take', () => {
    const line = [...waiting({account: 'd', count: 5}), ...waiting({account: 'e', count: 30, renewal: true})];
    expect(admitted(spent, line)).toEqual({d: 0, e: 16});
  });

  test('go first where both could', () => {
    const almost = [...spent.slice(0, -1), ...made({account: 'b', count: 20, renewal: true}, HOUR)];
    const line = [...waiting({account: 'd', count: 1}), ...waiting({account: 'e', count: 1, renewal: true})];
    expect(admitted(almost, line)).toEqual({d: 0, e: 1});
  });

  test('of one account leave something to those of another', () => {
    const line = waiting({account: 'a', count: 3000, renewal: true});
    const {a = 0} = admitted([], line);
    expect(a).toBe(80);
    const orders = made({account: 'a', count: a}, HOUR);
    expect(admitted(orders, [...line, ...waiting({account: 'b', count: 1, renewal: true})])).toEqual({a: 0, b: 1});
  });

  test('that keep failing leave something to the first host of another account', () => {
    const due = waiting({account: 'a', count: 20, renewal: true});
    const tries = Array.from({length: 5}, (_, n) => due.map(order => ({...order, key: `${order.key}/${n}`}))).flat();
    const first = waiting({account: 'b', count: 1});
    expect(admitted([], [...tries, ...first])).toEqual({a: 80, b: 1});
    expect(admitted(made({account: 'a', count: 80, renewal: true}, HOUR), [...tries, ...first])).toEqual({a: 0, b: 1});
  });

  test('are no new hosts of their domain', () => {
    const orders = made({account: 'a', count: 10, domain: 'full.example', renewal: true}, HOUR);
    expect(admitted(orders, waiting({account: 'b', count: 1, domain: 'full.example'}))).toEqual({b: 1});
  });
});

describe('within a registrable domain', () => {
  const domain = 'uni.example';

  test('a single account gets four fifths of the new hosts, and something is left for the next one', () => {
    const line = waiting({account: 'a', count: 20, domain});
    expect(admitted([], line)).toEqual({a: 8});
    const orders = made({account: 'a', count: 8, domain}, 24 * HOUR);
    expect(admitted(orders, [...line, ...waiting({account: 'b', count: 1, domain: 'uni.example'})])).toMatchObject({
      b: 1,
    });
  });

  test('a full one holds up no other domain of the account', () => {
    const line = [...waiting({account: 'a', count: 20, domain}), ...waiting({account: 'a', count: 3})];
    expect(admitted([], line)).toEqual({a: 11});
  });

  test('one with thousands of hosts does not keep the first host of another waiting', () => {
    const orders = made({account: 'a', count: 63}, HOUR);
    const line = [
      ...waiting({account: 'a', count: 9, domain: 'a1.example'}),
      ...waiting({account: 'a', count: 1, domain: 'other.example'}, {sinceMs: NOW}),
    ];
    const turns = planOrders(
      [...orders, ...made({account: 'a', count: 1, domain: 'a1.example'}, 2 * HOUR)],
      line,
      BUDGETS,
      NOW + HOUR,
    );
    const other = turns.get('a/a0.other.example/false')?.atMs ?? 0;
    const earlier = line.filter(({key}) => (turns.get(key)?.atMs ?? 0) < other);
    expect(earlier).toEqual([]);
  });

  test('a host that tries again is no new one', () => {
    const orders = made({account: 'a', count: 8, domain}, 24 * HOUR);
    const again = waiting({account: 'a', count: 1, domain});
    expect(admitted(orders, again)).toEqual({a: 1});
  });

  test('a host counts once in a week, however often it tries, and again in the next', () => {
    const host = made({account: 'a', count: 1, domain}, 0);
    const at = (agoMs: number) => host.map(order => ({...order, atMs: NOW - agoMs}));
    const often = [1, 2, 3, 4, 5, 6, 7, 8].flatMap(day => at(day * 24 * HOUR));
    const line = waiting({account: 'a', count: 9, domain});
    expect(admitted(often, line)).toEqual({a: 8}); // itself and seven more
    expect(admitted(at(8 * 24 * HOUR), line.slice(1))).toEqual({a: 8});
    expect(admitted([...at(8 * 24 * HOUR), ...at(24 * HOUR)], line.slice(1))).toEqual({a: 7});
  });

  test('a waiting order is planned for when the first of the week leaves the window', () => {
    const orders = made({account: 'a', count: 8, domain}, 24 * HOUR);
    const line = waiting({account: 'a', count: 9, domain}).slice(8);
    const turn = planOrders(orders, line, BUDGETS, NOW).get(line[0]?.key ?? '');
    expect(turn).toEqual({atMs: (orders[0]?.atMs ?? 0) + WEEK, shortage: 'domain'});
  });
});

describe('of one host', () => {
  const asked = (count: number) =>
    Array.from({length: count}, () => waiting({account: 'a', count: 1})).flatMap(([order], n) =>
      order ? [{...order, key: `${n}`}] : [],
    );

  test('five go in an hour, however many wait, and the next one when the first leaves the window', () => {
    const turns = planOrders([], asked(8), BUDGETS, NOW);
    const later = {atMs: NOW + HOUR, shortage: 'host'};
    expect([...turns.values()]).toEqual([...Array(5).fill({atMs: NOW}), ...Array(3).fill(later)]);
  });

  test('those that went before count, renewals too', () => {
    const [before] = made({account: 'a', count: 1, renewal: true}, HOUR / 2);
    if (!before) throw new Error('one went');
    const turns = planOrders([before, before, before], asked(4), BUDGETS, NOW);
    expect([...turns.values()].map(({atMs}) => atMs - NOW)).toEqual([0, 0, HOUR / 2, HOUR / 2]);
  });

  test('others are not kept waiting, of its account or of another', () => {
    const line = [...asked(8), ...waiting({account: 'a', count: 3}).slice(1), ...waiting({account: 'b', count: 1})];
    expect(admitted([], line)).toEqual({a: 7, b: 1});
  });

  test('the time is known even beyond the window of the account', () => {
    const long = {...BUDGETS, failureBudget: {failures: 1, windowSeconds: WEEK / 1000}};
    const turns = planOrders(made({account: 'a', count: 1}, HOUR), asked(1), long, NOW);
    expect([...turns.values()]).toEqual([{atMs: NOW - HOUR + WEEK, shortage: 'host'}]);
  });
});

describe('the planned times', () => {
  const orders = made({account: 'a', count: 64}, HOUR);
  const line = waiting({account: 'a', count: 10});

  test('are when orders leave the window, one after another, as long as they have waited', () => {
    const turns = planOrders(orders, line.toReversed(), BUDGETS, NOW);
    expect(line.map(({key}) => turns.get(key))).toEqual(
      orders.slice(0, 10).map(({atMs}) => ({atMs: atMs + WINDOW, shortage: 'orders'})),
    );
  });

  test('hold: orders that are placed as planned exceed no limit, and all are placed', () => {
    let left = waiting({account: 'a', count: 100});
    const done: MadeOrder[] = [...orders];
    for (let nowMs = NOW; left.length > 0; ) {
      const turns = planOrders(done, left, BUDGETS, nowMs);
      const isDue = ({key}: WaitingOrder) => turns.get(key)?.atMs === nowMs;
      done.push(...left.filter(isDue).map(order => ({...order, atMs: nowMs})));
      left = left.filter(order => !isDue(order));
      expect(done.filter(({atMs}) => atMs > nowMs - WINDOW).length).toBeLessThanOrEqual(64);
      nowMs = Math.min(...left.map(({key}) => turns.get(key)?.atMs ?? 0));
    }
    expect(done).toHaveLength(164);
  });

  test('follow only from the orders: they are the same when computed again, in any order', () => {
    const again = planOrders(orders.toReversed(), line.toReversed(), BUDGETS, NOW);
    expect(again).toEqual(planOrders(orders, line, BUDGETS, NOW));
  });
});

describe('the work is linear in the number of waiting orders', () => {
  const COUNT = 10_000;
  /** Per order: to find its queue and position, whether it may go at all, and what it reports. */
  const LOOKS_PER_ORDER = 20;
  const full = made({account: 'z', count: 64}, HOUR);
  const week = draws({account: 'old', count: 2000}).map((draw, n) => ({...draw, atMs: NOW - 4 * HOUR - n * 60_000}));

  /** How often the account or the host of an order is read: in total, and in one step at most. */
  function looksAt(orders: readonly MadeOrder[], line: readonly WaitingOrder[]) {
    let [looks, longest] = [0, 0];
    const watched = line.map(order => {
      const {host, account} = order;
      const look = <T>(value: T) => ({
        enumerable: true,
        get: () => {
          looks++;
          return value;
        },
      });
      return Object.defineProperties({...order}, {host: look(host), account: look(account)});
    });
    const steps = planInSteps(orders, watched, BUDGETS, NOW);
    for (let before = 0; ; before = looks) {
      const {done, value} = steps.next();
      longest = Math.max(longest, looks - before);
      if (!done) continue;
      expect(value.size).toBe(line.length);
      return {looks, longest};
    }
  }

  test.each([
    {what: 'hosts of one domain at its limit', many: {account: 'a', count: COUNT, domain: 'uni.example'}},
    {what: 'hosts of as many domains', many: {account: 'a', count: COUNT}},
    {what: 'renewals', many: {account: 'a', count: COUNT, renewal: true}},
  ])('$what', ({many}) => {
    const ofDomain = made({account: 'a', count: 8, domain: 'uni.example'}, 24 * HOUR);
    expect(looksAt([...week, ...ofDomain, ...full], waiting(many)).looks).toBeLessThan(LOOKS_PER_ORDER * COUNT);
  });

  test('requests for one host', () => {
    const line = waiting({account: 'a', count: COUNT}).map(order => ({
      ...order,
      host: 'a.example',
      domain: 'a.example',
    }));
    expect(looksAt([...week, ...full], line).looks).toBeLessThan(LOOKS_PER_ORDER * COUNT);
  });

  test('hundreds of accounts within the budget', () => {
    const [accounts, each] = [400, 5];
    let looks = 0;
    const line = Array.from({length: accounts}, (_, n) => waiting({account: `a${n}`, count: each})).flat();
    const watched = line.map(order =>
      Object.defineProperty({...order}, 'sinceMs', {
        enumerable: true,
        get: () => {
          looks++;
          return order.sinceMs;
        },
      }),
    );
    const budgets = {...BUDGETS, orderBudget: {...BUDGETS.orderBudget, orders: 2 * accounts * each}};
    const turns = [...planOrders([], watched, budgets, NOW).values()];
    expect(turns.every(({atMs}) => atMs === NOW)).toBe(true);
    expect(looks).toBeLessThan(100 * accounts * each); // sorting takes most of them
  });

  test('accounts with one host each', () => {
    const line = waiting({account: 'a', count: COUNT}).map((order, n) => ({...order, account: `a${n}`}));
    const {looks, longest} = looksAt([...week, ...full], line);
    expect(looks).toBeLessThan(LOOKS_PER_ORDER * COUNT);
    expect(longest, 'between two steps, other work may run').toBeLessThan(looks / 4);
  });
});
