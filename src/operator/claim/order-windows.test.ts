import {describe, expect, test} from 'vitest';
import {atOnce} from '../../runtime/controller/turns.ts';
import {
  type CaLimits,
  decideOrders,
  ordersLeft,
  type PlacedOrder,
  type PlannedOrder,
  type WaitingOrder,
} from './order-windows.ts';

const HOUR = 3_600_000;
const WINDOW = 3 * HOUR;
const WEEK = 7 * 24 * HOUR;
const NOW = Date.parse('2026-11-21T12:00:00Z');
/** Of 100 orders, new hosts may have 80, of which a single tenant gets 64. */
const LIMITS: CaLimits = {
  ...{orders: 100, windowSeconds: WINDOW / 1000, renewalReserve: 20},
  ...{newHostsPerDomain: 10, domainWindowSeconds: WEEK / 1000},
  ...{ordersPerHost: 5, hostWindowSeconds: HOUR / 1000},
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
function placed(many: Many, agoMs: number): PlacedOrder[] {
  return draws(many).map((draw, n) => ({...draw, atMs: NOW - agoMs - (many.count - 1 - n) * 1000}));
}

function decide(orders: readonly PlacedOrder[], line: readonly WaitingOrder[], nowMs = NOW, limits = LIMITS) {
  return atOnce(decideOrders(orders, line, limits, nowMs));
}

/** How many orders of each account may be placed now. */
function admitted(orders: readonly PlacedOrder[], line: readonly WaitingOrder[], nowMs = NOW): Record<string, number> {
  const {now, later} = decide(orders, line, nowMs);
  expect(now.length + later.size, 'each order is decided').toBe(line.length);
  const counts: Record<string, number> = Object.fromEntries(line.map(({account}) => [account, 0]));
  for (const {account} of now) counts[account] = (counts[account] ?? 0) + 1;
  return counts;
}

/** When each order may be placed, in the order of the line. */
function planned(orders: readonly PlacedOrder[], line: readonly WaitingOrder[], limits = LIMITS): PlannedOrder[] {
  const {now, later} = decide(orders, line, NOW, limits);
  const isNow = new Set(now.map(({key}) => key));
  return line.map(({key}) => {
    const {atMs, shortage = 'orders'} = later.get(key) ?? {atMs: isNow.has(key) ? NOW : Number.NaN};
    return {atMs, shortage};
  });
}

test('what is left for new hosts excludes the reserve for renewals, as far as renewals have not used it', () => {
  const left = (orders: readonly PlacedOrder[]) => atOnce(ordersLeft(orders, LIMITS, NOW));
  expect(left([])).toEqual({forRenewals: 100, forNew: 80});
  expect(left(placed({account: 'a', count: 30}, HOUR))).toEqual({forRenewals: 70, forNew: 50});
  expect(left(placed({account: 'a', count: 15, renewal: true}, HOUR))).toEqual({forRenewals: 85, forNew: 80});
  expect(left(placed({account: 'a', count: 90}, HOUR))).toEqual({forRenewals: 10, forNew: 0});
  expect(left(placed({account: 'a', count: 90}, WINDOW + 1000))).toEqual({forRenewals: 100, forNew: 80});
});

test('a decision also says what is left after it', () => {
  expect(decide([], waiting({account: 'a', count: 30})).left).toEqual({forRenewals: 70, forNew: 50});
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

test('an order that was recorded by a clock that is ahead counts from now, not longer than any other', () => {
  const ahead = placed({account: 'a', count: 64}, -24 * HOUR);
  const line = waiting({account: 'a', count: 1});
  expect(planned(ahead, line)).toEqual([{atMs: NOW + WINDOW, shortage: 'orders'}]);
  expect(admitted(ahead, waiting({account: 'b', count: 1}))).toEqual({b: 1});
});

describe('between accounts', () => {
  const thousands = waiting({account: 'a', count: 3000});
  const first = waiting({account: 'b', count: 1});

  test('a single one gets four fifths', () => {
    expect(admitted([], thousands)).toEqual({a: 64});
  });

  // attack: ca-limits
  test('one with thousands of hosts does not keep the first host of another waiting, before or after', () => {
    expect(admitted([], [...thousands, ...first])).toEqual({a: 63, b: 1});
    expect(admitted(placed({account: 'a', count: 64}, HOUR), [...thousands, ...first])).toEqual({a: 0, b: 1});
  });

  test('two with thousands of hosts each leave something to a third, and get the same', () => {
    const others = waiting({account: 'b', count: 3000}, {sinceMs: NOW});
    const {a = 0, b = 0} = admitted([], [...thousands, ...others]);
    expect(Math.abs(a - b)).toBeLessThanOrEqual(1);
    expect(a + b).toBeLessThan(80);
    expect(a + b).toBeGreaterThan(66);
  });

  test('an account that has had many lets another catch up as the window slides', () => {
    const orders = [...placed({account: 'a', count: 64}, HOUR), ...placed({account: 'b', count: 12}, HOUR / 2)];
    const line = [...thousands, ...waiting({account: 'b', count: 3000})];
    const {a = 0, b = 0} = admitted(orders, line, NOW + 2 * HOUR - 44_000); // 20 orders of a have left the window
    expect(a).toBe(0);
    expect(b).toBeGreaterThan(10);
  });

  test('the last one is for an account that has had none', () => {
    const orders = [...placed({account: 'a', count: 60}, HOUR), ...placed({account: 'c', count: 19}, HOUR)];
    expect(admitted(orders, [...waiting({account: 'c', count: 5}), ...first])).toEqual({b: 1, c: 0});
  });
});

describe('renewals', () => {
  const spent = [...placed({account: 'a', count: 60}, HOUR), ...placed({account: 'c', count: 20}, HOUR)];

  test('have a reserve that new hosts cannot take', () => {
    const line = [...waiting({account: 'd', count: 5}), ...waiting({account: 'e', count: 30, renewal: true})];
    expect(admitted(spent, line)).toEqual({d: 0, e: 16});
  });

  test('go first where both could', () => {
    const almost = [...spent.slice(0, -1), ...placed({account: 'b', count: 20, renewal: true}, HOUR)];
    const line = [...waiting({account: 'd', count: 1}), ...waiting({account: 'e', count: 1, renewal: true})];
    expect(admitted(almost, line)).toEqual({d: 0, e: 1});
  });

  test('of one account leave something to those of another', () => {
    const line = waiting({account: 'a', count: 3000, renewal: true});
    const {a = 0} = admitted([], line);
    expect(a).toBe(80);
    const orders = placed({account: 'a', count: a}, HOUR);
    expect(admitted(orders, [...line, ...waiting({account: 'b', count: 1, renewal: true})])).toEqual({a: 0, b: 1});
  });

  // attack: ca-limits
  test('that keep failing leave something to the first host of another account', () => {
    const due = waiting({account: 'a', count: 20, renewal: true});
    const tries = Array.from({length: 5}, (_, n) => due.map(order => ({...order, key: `${order.key}/${n}`}))).flat();
    const first = waiting({account: 'b', count: 1});
    expect(admitted([], [...tries, ...first])).toEqual({a: 80, b: 1});
    expect(admitted(placed({account: 'a', count: 80, renewal: true}, HOUR), [...tries, ...first])).toEqual({
      a: 0,
      b: 1,
    });
  });

  test('that the CA does not count go at once, in any number, and take nothing from others', () => {
    const exempt = waiting({account: 'a', count: 3000, renewal: true}, {exempt: true});
    const line = [
      ...exempt,
      ...waiting({account: 'b', count: 16, renewal: true}),
      ...waiting({account: 'c', count: 1}),
    ];
    expect(admitted(spent, line)).toEqual({a: 3000, b: 16, c: 0});
    const done = exempt.map(order => ({...order, atMs: NOW - HOUR / 2}));
    expect(atOnce(ordersLeft(done, LIMITS, NOW))).toEqual({forRenewals: 100, forNew: 80});
    const [first] = exempt;
    if (!first) throw new Error('one');
    const again = Array.from({length: 6}, (_, n) => ({...first, key: `again/${n}`}));
    expect(planned(done, again).filter(({shortage, atMs}) => shortage === 'host' && atMs > NOW)).toHaveLength(2);
  });

  test('are no new hosts of their domain', () => {
    const orders = placed({account: 'a', count: 10, domain: 'full.example', renewal: true}, HOUR);
    expect(admitted(orders, waiting({account: 'b', count: 1, domain: 'full.example'}))).toEqual({b: 1});
  });
});

describe('hosts with a certificate that is not due', () => {
  const moving = ['a', 'b', 'c', 'd'].flatMap(account =>
    waiting({account, count: 500}, {canWait: true, sinceMs: NOW - HOUR}),
  );

  test('leave a quarter to new hosts, whoever they belong to, and the whole reserve to renewals', () => {
    const counts = Object.values(admitted([], moving));
    const total = counts.reduce((sum, count) => sum + count, 0);
    expect(total).toBeGreaterThan(50);
    expect(total).toBeLessThanOrEqual(60);
    const before = placed({account: 'a', count: 60}, HOUR);
    const line = [...moving, ...waiting({account: 'b', count: 8}), ...waiting({account: 'e', count: 4})];
    expect(admitted(before, line)).toEqual({a: 0, b: 8, c: 0, d: 0, e: 4});
  });

  test('go after new hosts, however long they have waited', () => {
    const before = placed({account: 'z', count: 59}, HOUR);
    const added = Array.from({length: 21}, (_, n) => waiting({account: `new${n}`, count: 1})).flat();
    const {now} = decide(before, [...moving, ...added]);
    expect(now.filter(({canWait}) => !canWait)).toHaveLength(21);
    expect(decide(before, moving).now).toHaveLength(1);
  });

  test('are planned at the rate at which they go', () => {
    const orders = placed({account: 'z', count: 60}, HOUR);
    const times = planned(orders, waiting({account: 'a', count: 61}, {canWait: true})).map(({atMs}) => atMs);
    expect(times[0]).toBe((orders[0]?.atMs ?? 0) + WINDOW);
    expect(times[60], 'one more than go in a window').toBe((orders[0]?.atMs ?? 0) + 2 * WINDOW);
  });

  test('go even if there is hardly a budget', () => {
    const [order] = moving;
    if (!order) throw new Error('one');
    expect(decide([], [order], NOW, {...LIMITS, orders: 2, renewalReserve: 1}).now).toEqual([order]);
  });
});

describe('within a registrable domain', () => {
  const domain = 'uni.example';

  test('a single account gets four fifths of the new hosts, and something is left for the next one', () => {
    const line = waiting({account: 'a', count: 20, domain});
    expect(admitted([], line)).toEqual({a: 8});
    const orders = placed({account: 'a', count: 8, domain}, 24 * HOUR);
    expect(admitted(orders, [...line, ...waiting({account: 'b', count: 1, domain})])).toMatchObject({b: 1});
  });

  test('a full one holds up no other domain of the account', () => {
    const line = [...waiting({account: 'a', count: 20, domain}), ...waiting({account: 'a', count: 3})];
    expect(admitted([], line)).toEqual({a: 11});
  });

  test('a host that tries again is no new one', () => {
    const orders = placed({account: 'a', count: 8, domain}, 24 * HOUR);
    expect(admitted(orders, waiting({account: 'a', count: 1, domain}))).toEqual({a: 1});
  });

  test('a host counts once in a week, however often it tries, and again in the next', () => {
    const host = placed({account: 'a', count: 1, domain}, 0);
    const at = (agoMs: number) => host.map(order => ({...order, atMs: NOW - agoMs}));
    const often = [1, 2, 3, 4, 5, 6, 7, 8].flatMap(day => at(day * 24 * HOUR));
    const line = waiting({account: 'a', count: 9, domain});
    expect(admitted(often, line)).toEqual({a: 8}); // itself and seven more
    expect(admitted(at(8 * 24 * HOUR), line.slice(1))).toEqual({a: 8});
    expect(admitted([...at(8 * 24 * HOUR), ...at(24 * HOUR)], line.slice(1))).toEqual({a: 7});
  });

  test('a waiting order is planned for when the first of the week leaves the window', () => {
    const orders = placed({account: 'a', count: 8, domain}, 24 * HOUR);
    const line = waiting({account: 'a', count: 9, domain}).slice(8);
    expect(planned(orders, line)).toEqual([{atMs: (orders[0]?.atMs ?? 0) + WEEK, shortage: 'domain'}]);
  });
});

describe('of one host', () => {
  const asked = (count: number) =>
    Array.from({length: count}, () => waiting({account: 'a', count: 1})).flatMap(([order], n) =>
      order ? [{...order, key: `${n}`}] : [],
    );

  test('five go in an hour, however many wait, and the next one when the first leaves the window', () => {
    const times = planned([], asked(8)).map(({atMs}) => atMs - NOW);
    expect(times).toEqual([0, 0, 0, 0, 0, HOUR, HOUR, HOUR]);
  });

  test('those that went before count, renewals too', () => {
    const [before] = placed({account: 'a', count: 1, renewal: true}, HOUR / 2);
    if (!before) throw new Error('one went');
    const times = planned([before, before, before], asked(4)).map(({atMs}) => atMs - NOW);
    expect(times).toEqual([0, 0, HOUR / 2, HOUR / 2]);
  });

  test('others are not kept waiting, of its account or of another', () => {
    const line = [...asked(8), ...waiting({account: 'a', count: 3}).slice(1), ...waiting({account: 'b', count: 1})];
    expect(admitted([], line)).toEqual({a: 7, b: 1});
  });

  test('the time is known even beyond the window of the account', () => {
    const long = {...LIMITS, ordersPerHost: 1, hostWindowSeconds: WEEK / 1000};
    const times = planned(placed({account: 'a', count: 1}, HOUR), asked(1), long);
    expect(times).toEqual([{atMs: NOW - HOUR + WEEK, shortage: 'host'}]);
  });
});

describe('the planned times', () => {
  const orders = placed({account: 'a', count: 64}, HOUR);
  const line = waiting({account: 'a', count: 10});

  test('are when orders leave the window, one after another, as long as they have waited', () => {
    const {later} = decide(orders, line.toReversed());
    expect(line.map(({key}) => later.get(key))).toEqual(
      orders.slice(0, 10).map(({atMs}) => ({atMs: atMs + WINDOW, shortage: 'orders'})),
    );
  });

  test('follow only from the orders: they are the same when computed again, in any order', () => {
    expect(decide(orders.toReversed(), line.toReversed())).toEqual(decide(orders, line));
  });
});

/** https://en.wikipedia.org/wiki/Linear_congruential_generator, with the numbers of Numerical Recipes. */
function randomOf(seed: number): (below: number) => number {
  let state = seed;
  return below => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** The most entries in any window of the length. The times are in ascending order. */
function mostWithin(times: readonly number[], windowMs: number): number {
  let [most, from] = [0, 0];
  for (const [to, atMs] of times.entries()) {
    while ((times[from] ?? 0) <= atMs - windowMs) from++;
    most = Math.max(most, to - from + 1);
  }
  return most;
}

describe('whatever happens', () => {
  const SMALL: CaLimits = {
    ...{orders: 12, windowSeconds: 100, renewalReserve: 3},
    ...{newHostsPerDomain: 4, domainWindowSeconds: 700, ordersPerHost: 2, hostWindowSeconds: 50},
  };

  // attack: ca-limits
  test.each(Array.from({length: 20}, (_, seed) => ({seed})))('no window exceeds its limit ($seed)', ({seed}) => {
    const random = randomOf(seed + 1);
    const done: PlacedOrder[] = [];
    let line: WaitingOrder[] = [];
    let nowMs = NOW;
    let later: ReadonlyMap<string, PlannedOrder> = new Map();
    for (let step = 0; step < 400; step++) {
      // Hosts come, some of them again, in a few domains and accounts; some give up.
      for (let n = random(6); n > 0; n--) {
        const [domain, account, host] = [`d${random(5)}.example`, `a${random(4)}`, random(40)];
        const renewal = random(5) === 0;
        const rank = renewal ? {exempt: random(2) === 0} : {canWait: random(3) === 0};
        line.push({key: `${step}/${n}`, host: `h${host}.${domain}`, account, domain, renewal, ...rank, sinceMs: nowMs});
      }
      line = line.filter(() => random(20) > 0);
      const decision = decide(done, line, nowMs, SMALL);
      for (const {atMs} of decision.later.values()) expect(atMs).toBeGreaterThan(nowMs);
      // A crash or a race may keep an order from being recorded.
      const recorded = decision.now.filter(() => random(10) > 0);
      done.push(...recorded.map(order => ({...order, atMs: nowMs})));
      const gone = new Set(recorded.map(({key}) => key));
      line = line.filter(({key}) => !gone.has(key));
      later = decision.later;
      nowMs += 1000 * random(15);
    }
    const timesOf = (orders: readonly PlacedOrder[]) => orders.map(({atMs}) => atMs);
    expect(done.length).toBeGreaterThan(100);
    expect(later.size, 'the limits matter').toBeGreaterThan(0);
    const counted = done.filter(({exempt}) => !exempt);
    expect(mostWithin(timesOf(counted), 1000 * SMALL.windowSeconds)).toBeLessThanOrEqual(SMALL.orders);
    const isNew = ({renewal}: PlacedOrder) => !renewal;
    for (const orders of Map.groupBy(done, ({host}) => host).values()) {
      expect(mostWithin(timesOf(orders), 1000 * SMALL.hostWindowSeconds)).toBeLessThanOrEqual(SMALL.ordersPerHost);
    }
    for (const orders of Map.groupBy(done.filter(isNew), ({domain}) => domain).values()) {
      for (const [to, {atMs}] of orders.entries()) {
        const inWindow = orders.slice(0, to + 1).filter(it => it.atMs > atMs - 1000 * SMALL.domainWindowSeconds);
        const hosts = new Set(inWindow.map(({host}) => host));
        expect(hosts.size).toBeLessThanOrEqual(SMALL.newHostsPerDomain);
      }
    }
  });

  // attack: ca-limits
  test.each(Array.from({length: 10}, (_, seed) => ({seed})))('nobody waits forever ($seed)', ({seed}) => {
    const random = randomOf(seed + 100);
    let line = Array.from({length: 60}, (_, n): WaitingOrder => {
      const [domain, account] = [`d${random(30)}.example`, `a${random(3)}`];
      const rank = {renewal: random(4) === 0, canWait: random(3) === 0};
      return {key: `${n}`, host: `h${n}.${domain}`, account, domain, ...rank, sinceMs: NOW - n};
    });
    const done: PlacedOrder[] = [];
    let nowMs = NOW;
    for (let pass = 0; line.length > 0; pass++) {
      expect(pass).toBeLessThan(200);
      const {now, later} = decide(done, line, nowMs, SMALL);
      done.push(...now.map(order => ({...order, atMs: nowMs})));
      const gone = new Set(now.map(({key}) => key));
      line = line.filter(({key}) => !gone.has(key));
      // The next pass is at the earliest of the planned times: then, something goes, or another time is planned.
      nowMs = Math.min(...[...later.values()].map(({atMs}) => atMs));
    }
    expect(done).toHaveLength(60);
  });
});

// attack: operator-work
describe('20,000 waiting orders take bounded time', () => {
  const COUNT = 20_000;
  const full = placed({account: 'z', count: 64}, HOUR);
  const week = draws({account: 'old', count: 2000}).map((draw, n) => ({...draw, atMs: NOW - 4 * HOUR - n * 60_000}));
  const one = {host: 'a.example', domain: 'a.example'};

  /** How often the account or the host of an order is read. */
  function looksAt(orders: readonly PlacedOrder[], line: readonly WaitingOrder[]): number {
    let looks = 0;
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
    const {now, later} = decide(orders, watched);
    expect(now.length + later.size).toBe(line.length);
    return looks;
  }

  test.each([
    {what: 'hosts of one domain at its limit', line: waiting({account: 'a', count: COUNT, domain: 'uni.example'})},
    {what: 'hosts of as many domains', line: waiting({account: 'a', count: COUNT})},
    {what: 'renewals', line: waiting({account: 'a', count: COUNT, renewal: true})},
    {what: 'requests for one host', line: waiting({account: 'a', count: COUNT}, one)},
    {
      what: 'accounts with one host each',
      line: waiting({account: 'a', count: COUNT}).map((order, n) => ({...order, account: `a${n}`})),
    },
  ])('$what', ({line}) => {
    const ofDomain = placed({account: 'a', count: 8, domain: 'uni.example'}, 24 * HOUR);
    expect(looksAt([...week, ...ofDomain, ...full], line)).toBeLessThan(20 * COUNT);
  });

  test('in many short steps, between which other work may run', () => {
    const steps = decideOrders([...week, ...full], waiting({account: 'a', count: COUNT}), LIMITS, NOW);
    let count = 0;
    while (!steps.next().done) count++;
    expect(count).toBeGreaterThan(COUNT / 512);
  });
});
