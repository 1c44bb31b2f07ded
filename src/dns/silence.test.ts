import {beforeEach, describe, expect, test} from 'vitest';
import {systemClock} from '../runtime/clock.ts';
import {Silence} from './silence.ts';

let now: number;
let silence: Silence;
beforeEach(() => {
  now = 0;
  silence = new Silence({...systemClock, monotonic: () => now});
});

const SERVER = '192.0.2.53';
const unanswered = (times: number, name: string) => {
  for (let n = 0; n < times; n++) silence.unanswered(SERVER, name);
};

describe('a server that answers nobody', () => {
  test('is left alone after eight questions, whatever they are about', () => {
    for (let n = 0; n < 8; n++) {
      expect(silence.holds(SERVER, 'shop.other.com')).toBe(false);
      silence.unanswered(SERVER, `shop.domain${n}.com`);
    }
    expect(silence.holds(SERVER, 'shop.other.com')).toBe(true);
    expect(silence.holds('192.0.2.54', 'shop.other.com')).toBe(false);
  });

  test('is asked again after ten seconds', () => {
    unanswered(8, 'shop.example.com');
    now += 9_999;
    expect(silence.holds(SERVER, 'shop.example.com')).toBe(true);
    now += 1;
    expect(silence.holds(SERVER, 'shop.example.com')).toBe(false);
  });

  test('is another one than a server that has answered now and then', () => {
    unanswered(7, 'shop.example.com');
    silence.answered(SERVER, 'shop.example.com');
    unanswered(7, 'shop.example.com');
    expect(silence.holds(SERVER, 'shop.example.com')).toBe(false);
  });
});

describe('a server that answers others', () => {
  beforeEach(() => silence.answered(SERVER, 'shop.victim.com'));

  test('is asked about them on, whatever a tenant has delegated to it', () => {
    unanswered(100, 'shop.attacker.com');
    expect(silence.holds(SERVER, 'www.attacker.com')).toBe(true);
    expect(silence.holds(SERVER, 'shop.victim.com')).toBe(false);
    expect(silence.holds(SERVER, 'shop.new.com')).toBe(false);
  });

  test.each([
    ['co.uk', 'shop.attacker.co.uk', 'shop.victim.co.uk'],
    ['a suffix of a provider', 'attacker.github.io', 'victim.github.io'],
  ])('tells domains below %s apart', (_, attacker, victim) => {
    unanswered(8, attacker);
    expect(silence.holds(SERVER, attacker)).toBe(true);
    expect(silence.holds(SERVER, victim)).toBe(false);
  });

  test('is one that answers nobody when five minutes have passed without an answer', () => {
    now += 300_000;
    unanswered(8, 'shop.attacker.com');
    expect(silence.holds(SERVER, 'shop.victim.com')).toBe(true);
  });
});

test('a resolver of ours is asked about others, though it has answered nobody yet', () => {
  silence = new Silence({...systemClock, monotonic: () => now}, true);
  unanswered(100, 'shop.attacker.com');
  expect(silence.holds(SERVER, 'www.attacker.com')).toBe(true);
  expect(silence.holds(SERVER, 'shop.victim.com')).toBe(false);
});
