import {describe, expect, test} from 'vitest';
import {until} from '../../../cluster/wait.ts';
import type {ConformanceWorld} from './conformance.suite.ts';

interface Claimed {
  readonly id: string;
  readonly message: string;
  readonly lease: string;
  readonly leaseExpiresAt: string;
  readonly attempts: number;
}

export function leaseSuite(world: ConformanceWorld): void {
  const claim = async (key: string, body?: object): Promise<readonly Claimed[]> =>
    (await world.client.post(key, '/messages/claim', body)).body.messages;
  const settle = (key: string, verb: 'ack' | 'nack', {id}: {id: string}, body: object) =>
    world.client.post(key, `/messages/${id}/${verb}`, body);
  const read = async (key: string, {id}: {id: string}) => (await world.client.get(key, `/messages/${id}`)).body;

  async function one(key: string, body?: object): Promise<Claimed> {
    const [claimed] = await claim(key, body);
    if (!claimed) throw new Error('nothing was claimed');
    return claimed;
  }

  async function filled(count = 1) {
    const account = world.service.account();
    for (let n = 0; n < count; n++) await world.client.submit(account.key, `message ${n}`);
    return account;
  }

  describe('a lease', () => {
    test('takes the oldest message, or several on request, and hides them from other workers', async () => {
      const {key} = await filled(4);
      expect((await claim(key)).map(({message}) => message)).toEqual(['message 0']);
      expect((await claim(key, {limit: 2})).map(({message}) => message)).toEqual(['message 1', 'message 2']);
      expect((await claim(key, {limit: 100})).map(({message}) => message)).toEqual(['message 3']);
      expect(await claim(key)).toEqual([]);
    });

    test('lasts as long as requested', async () => {
      const {key} = await filled();
      const before = Date.now();
      const {leaseExpiresAt, attempts} = await one(key, {leaseSeconds: 600});
      expect(Date.parse(leaseExpiresAt) - before).toBeGreaterThanOrEqual(600_000);
      expect(Date.parse(leaseExpiresAt) - Date.now()).toBeLessThanOrEqual(600_000);
      expect(attempts).toBe(1);
    });

    test('ack: done, never claimed again; repeating it is harmless', async () => {
      const {key} = await filled();
      const claimed = await one(key);
      for (const _ of ['once', 'again']) {
        const answer = await settle(key, 'ack', claimed, {lease: claimed.lease});
        expect(answer).toMatchObject({status: 200, body: {id: claimed.id, status: 'done', attempts: 1}});
      }
      await expect(read(key, claimed)).resolves.toMatchObject({status: 'done', attempts: 1});
      expect(await claim(key)).toEqual([]);
    });

    test('nack: it waits again, in its old place', async () => {
      const {key} = await filled(2);
      const claimed = await one(key);
      const answer = await settle(key, 'nack', claimed, {lease: claimed.lease, reason: 'the printer is on fire'});
      expect(answer).toMatchObject({status: 200, body: {status: 'queued', attempts: 1}});
      await expect(read(key, claimed)).resolves.toMatchObject({status: 'queued', reason: 'the printer is on fire'});
      const again = await one(key);
      expect(again).toMatchObject({id: claimed.id, attempts: 2});
      expect(again.lease).not.toBe(claimed.lease);
    });

    test.each([
      ['short', 'x'.repeat(512), 'x'.repeat(512)],
      ['longer than what is kept', 'x'.repeat(1000), `${'x'.repeat(509)}…`],
      ['longer in bytes alone', '€'.repeat(500), `${'€'.repeat(169)}…`],
    ])('nack with a reason that is %s', async (_, reason, kept) => {
      const {key} = await filled();
      const claimed = await one(key);
      await expect(settle(key, 'nack', claimed, {lease: claimed.lease, reason})).resolves.toMatchObject({status: 200});
      await expect(read(key, claimed)).resolves.toMatchObject({reason: kept});
    });

    test('nack with a delay: not before it has passed', async () => {
      const {key} = await filled(2);
      const claimed = await one(key);
      const given = Date.now();
      await settle(key, 'nack', claimed, {lease: claimed.lease, delaySeconds: 3});
      const all: Claimed[] = [];
      await until('both are claimed', async () => all.push(...(await claim(key, {limit: 2}))) === 2);
      expect(all.map(({message}) => message).sort()).toEqual(['message 0', 'message 1']);
      expect(Date.now() - given).toBeGreaterThanOrEqual(3000);
    });

    test('of a worker that died runs out: another gets the message, the dead one can do no harm', async () => {
      const {key} = await filled();
      const dead = await one(key, {leaseSeconds: 3});
      const again = await until('it comes back', async () => (await claim(key))[0]);
      expect(again).toMatchObject({id: dead.id, attempts: 2});
      expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(dead.leaseExpiresAt));
      for (const verb of ['ack', 'nack'] as const) {
        const late = await settle(key, verb, dead, {lease: dead.lease});
        expect(late, verb).toMatchObject({status: 409, body: {code: 'lease_lost'}});
      }
      await expect(settle(key, 'ack', dead, {lease: again.lease})).resolves.toMatchObject({status: 200});
    });

    test('that has expired is gone even if nobody else has claimed', async () => {
      const {key} = await filled();
      const claimed = await one(key, {leaseSeconds: 1});
      await until('it is queued again', async () => (await read(key, claimed)).status === 'queued');
      await expect(settle(key, 'ack', claimed, {lease: claimed.lease})).resolves.toMatchObject({status: 409});
    });

    test('after the last attempt: dead, by nack', async () => {
      const {key} = await filled();
      for (const status of ['queued', 'queued', 'dead']) {
        const claimed = await one(key);
        await expect(settle(key, 'nack', claimed, {lease: claimed.lease})).resolves.toMatchObject({body: {status}});
      }
      expect(await claim(key)).toEqual([]);
    });

    test('after the last attempt: dead, by leases that ran out', async () => {
      const {key} = await filled();
      const [message] = (await world.client.get(key, '/messages')).body.messages;
      await until('it is dead', async () => {
        await claim(key, {leaseSeconds: 1});
        return (await read(key, message)).status === 'dead';
      });
      await expect(read(key, message)).resolves.toMatchObject({attempts: 3});
    });

    test('is held by one worker at a time, however many there are', async () => {
      const {key} = await filled(60);
      const workers = Array.from({length: 16}, async () => {
        const mine: Claimed[] = [];
        for (let got = await claim(key, {limit: 3}); got.length > 0; got = await claim(key, {limit: 3}))
          mine.push(...got);
        return mine;
      });
      const all = (await Promise.all(workers)).flat();
      expect(all).toHaveLength(60);
      expect(new Set(all.map(({id}) => id)).size).toBe(60);
    });

    test('of another message is no lease', async () => {
      const {key} = await filled(2);
      const [first, second] = await claim(key, {limit: 2});
      if (!first || !second) throw new Error('two were to be claimed');
      for (const verb of ['ack', 'nack'] as const) {
        await expect(settle(key, verb, first, {lease: second.lease})).resolves.toMatchObject({status: 409});
      }
    });

    test('cannot be invented for a message that nobody has claimed', async () => {
      const {key} = await filled();
      const [message] = (await world.client.get(key, '/messages')).body.messages;
      await expect(settle(key, 'ack', message, {lease: 'null'})).resolves.toMatchObject({status: 409});
      await expect(settle(key, 'ack', {id: 'x'}, {lease: 'null'})).resolves.toMatchObject({status: 404});
    });
  });

  test.concurrent.each([
    ['claim', {limit: 0}, '#/limit'],
    ['claim', {limit: 101}, '#/limit'],
    ['claim', {limit: '1'}, '#/limit'],
    ['claim', {leaseSeconds: 0}, '#/leaseSeconds'],
    ['claim', {leaseSeconds: 43_201}, '#/leaseSeconds'],
    ['claim', {leaseSeconds: 1.5}, '#/leaseSeconds'],
    ['x/ack', {}, '#/lease'],
    ['x/ack', {lease: ''}, '#/lease'],
    ['x/ack', {lease: 1}, '#/lease'],
    ['x/nack', {lease: 'a', delaySeconds: -1}, '#/delaySeconds'],
    ['x/nack', {lease: 'a', delaySeconds: 86_401}, '#/delaySeconds'],
    ['x/nack', {lease: 'a', reason: 1}, '#/reason'],
    ['x/nack', {lease: 'a', reason: 'x'.repeat(1001)}, '#/reason'],
  ])('%s with %j: 400', async (path, body, pointer) => {
    const answer = await world.client.post(world.service.account().key, `/messages/${path}`, body);
    expect(answer).toMatchObject({status: 400, body: {code: 'invalid_parameter', errors: [{pointer}]}});
  });

  test('claim takes no body, an empty object, or what it should not: 400', async () => {
    const {key} = world.service.account();
    const post = (body: string, type: string) =>
      world.client.request('/messages/claim', {method: 'POST', key, headers: {'content-type': type}, body});
    await expect(world.client.post(key, '/messages/claim')).resolves.toMatchObject({status: 200});
    await expect(post('{}', 'application/json')).resolves.toMatchObject({status: 200});
    await expect(post('[]', 'application/json')).resolves.toMatchObject({body: {code: 'invalid_json'}});
    await expect(post('{}', 'text/plain')).resolves.toMatchObject({body: {code: 'unsupported_content_type'}});
  });
}
