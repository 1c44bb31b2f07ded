import {beforeEach, describe, expect, test} from 'vitest';
import {systemClock} from '../../time/clock.ts';
import {DeadServerCache} from './dead-servers.ts';

let now: number;
let dead: DeadServerCache;
beforeEach(() => {
  now = 0;
  dead = new DeadServerCache({...systemClock, monotonic: () => now});
});

const SERVER = '192.0.2.53';
const unanswered = (times: number, name: string) => {
  for (let n = 0; n < times; n++) dead.unanswered(SERVER, name);
};

describe('a server that answers nobody', () => {
  test('is left alone after eight questions, whatever they are about', () => {
    for (let n = 0; n < 8; n++) {
      expect(dead.isDead(SERVER, 'shop.other.com')).toBe(false);
      dead.unanswered(SERVER, `shop.domain${n}.com`);
    }
    expect(dead.isDead(SERVER, 'shop.other.com')).toBe(true);
    expect(dead.isDead('192.0.2.54', 'shop.other.com')).toBe(false);
  });

  test('is queried again after ten seconds', () => {
    unanswered(8, 'shop.example.com');
    now += 9_999;
    expect(dead.isDead(SERVER, 'shop.example.com')).toBe(true);
    now += 1;
    expect(dead.isDead(SERVER, 'shop.example.com')).toBe(false);
  });

  test('is another one than a server that has answered now and then', () => {
    unanswered(7, 'shop.example.com');
    dead.answered(SERVER, 'shop.example.com');
    unanswered(7, 'shop.example.com');
    expect(dead.isDead(SERVER, 'shop.example.com')).toBe(false);
  });
});

describe('a server that answers others', () => {
  beforeEach(() => dead.answered(SERVER, 'shop.victim.com'));

  // attack: hostile-dns
  test('is still queried about them, whatever a tenant has delegated to it', () => {
    unanswered(100, 'shop.attacker.com');
    expect(dead.isDead(SERVER, 'www.attacker.com')).toBe(true);
    expect(dead.isDead(SERVER, 'shop.victim.com')).toBe(false);
    expect(dead.isDead(SERVER, 'shop.new.com')).toBe(false);
  });

  test.each([
    ['co.uk', 'shop.attacker.co.uk', 'shop.victim.co.uk'],
    ['a suffix of a provider', 'attacker.github.io', 'victim.github.io'],
  ])('tells domains below %s apart', (_, attacker, victim) => {
    unanswered(8, attacker);
    expect(dead.isDead(SERVER, attacker)).toBe(true);
    expect(dead.isDead(SERVER, victim)).toBe(false);
  });

  test('is one that answers nobody when five minutes have passed without an answer', () => {
    now += 300_000;
    unanswered(8, 'shop.attacker.com');
    expect(dead.isDead(SERVER, 'shop.victim.com')).toBe(true);
  });
});

test('a resolver of ours is asked about others, though it has answered nobody yet', () => {
  dead = new DeadServerCache({...systemClock, monotonic: () => now}, true);
  unanswered(100, 'shop.attacker.com');
  expect(dead.isDead(SERVER, 'www.attacker.com')).toBe(true);
  expect(dead.isDead(SERVER, 'shop.victim.com')).toBe(false);
});
