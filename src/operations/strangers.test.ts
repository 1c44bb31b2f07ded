import {expect, test} from 'vitest';
import {Strangers} from './strangers.ts';

/** How many of 10,000 requests from these addresses in turn are allowed at the same time. */
function allowed(...addresses: readonly string[]): number {
  const strangers = new Strangers({requestsPerSecond: 200, addressRequestsPerSecond: 100});
  return Array.from({length: 10_000}, (_, n) => strangers.take(addresses[n % addresses.length] ?? '', 0)).filter(
    waitMs => waitMs === 0,
  ).length;
}

// attack: message-work
test('an address is limited, whichever of its IPv6 addresses it uses', () => {
  expect(allowed('192.0.2.1')).toBe(500);
  expect(allowed('2001:db8::1', '2001:db8::2', '2001:db8:0:0:1::')).toBe(500);
});

// attack: message-work
test('so are all addresses together', () => {
  expect(allowed('192.0.2.1', '192.0.2.2', '192.0.2.3', '2001:db8::1')).toBe(1000);
});

// attack: message-work
test('bytes that are dropped are limited per address and in total', () => {
  const strangers = new Strangers({requestsPerSecond: 200, addressRequestsPerSecond: 100});
  const dropped = (address: string) =>
    Array.from({length: 100}, () => strangers.takeBytes(address, 1 << 20, 0)).filter(waitMs => waitMs === 0).length;
  expect([dropped('192.0.2.1'), dropped('192.0.2.2'), dropped('192.0.2.3')]).toEqual([20, 20, 0]);
});
