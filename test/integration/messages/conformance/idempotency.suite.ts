import {describe, expect, test} from 'vitest';
import type {ConformanceWorld} from './conformance.suite.ts';

export function idempotencySuite(world: ConformanceWorld): void {
  const submit = (key: string, message: string, idempotencyKey: string) =>
    world.client.submit(key, message, {'idempotency-key': idempotencyKey});
  const count = async (key: string) => (await world.client.get(key, '/messages?limit=100')).body.messages.length;

  describe('Idempotency-Key', () => {
    test('repeated with the same body: the same response, marked, and one message', async () => {
      const {key} = world.service.account();
      const first = await submit(key, 'hello', 'a');
      const again = await submit(key, 'hello', 'a');
      expect(first.headers['idempotency-replayed']).toBeUndefined();
      expect(again).toMatchObject({status: 202, text: first.text, headers: {'idempotency-replayed': 'true'}});
      await expect(count(key)).resolves.toBe(1);
    });

    test('the answer stays the same once the message is processed', async () => {
      const {key} = world.service.account();
      const first = await submit(key, 'hello', 'a');
      const [{id, lease}] = (await world.client.post(key, '/messages/claim')).body.messages;
      await world.client.post(key, `/messages/${id}/ack`, {lease});
      await expect(submit(key, 'hello', 'a')).resolves.toMatchObject({status: 202, text: first.text});
    });

    test('with another body: 422, and nothing is stored', async () => {
      const {key} = world.service.account();
      await submit(key, 'hello', 'a');
      const other = await submit(key, 'hello ', 'a');
      expect(other).toMatchObject({status: 422, body: {code: 'idempotency_key_reused'}});
      await expect(count(key)).resolves.toBe(1);
    });

    test('with other members next to the same message: 422', async () => {
      const {key} = world.service.account();
      await submit(key, 'hello', 'a');
      const body = {message: 'hello', to: 'b'};
      const other = await world.client.request('/messages', {
        method: 'POST',
        key,
        body,
        headers: {'idempotency-key': 'a'},
      });
      expect(other.status).toBe(422);
    });

    test('another key: another message', async () => {
      const {key} = world.service.account();
      const ids = [await submit(key, 'x', 'a'), await submit(key, 'x', 'b'), await world.client.submit(key, 'x')];
      expect(new Set(ids.map(({body}) => body.id)).size).toBe(3);
    });

    test('a refused request does not use the key up', async () => {
      const {key} = world.service.account();
      await expect(submit(key, '', 'a')).resolves.toMatchObject({status: 400});
      await expect(submit(key, 'hello', 'a')).resolves.toMatchObject({status: 202});
    });

    test('quotes around it do not matter', async () => {
      const {key} = world.service.account();
      const bare = await submit(key, 'x', 'a-b');
      const quoted = await submit(key, 'x', '"a-b"');
      expect(quoted.body.id).toBe(bare.body.id);
    });

    test.concurrent.each([
      ['255 characters', 'k'.repeat(255), 202],
      ['256 characters', 'k'.repeat(256), 400],
      ['empty', '', 400],
      ['empty in quotes', '""', 400],
      ['a space', 'a b', 400],
      ['a space in quotes', '"a b"', 202],
      ['a quote that does not end', '"a', 400],
      ['not ASCII', 'é', 400],
    ])('%s: %2$i', async (_, idempotencyKey, status) => {
      const answer = await submit(world.service.account().key, 'x', idempotencyKey);
      expect(answer.status).toBe(status);
      if (status === 400) expect(answer.body.code).toBe('invalid_idempotency_key');
    });

    test('sent twice: 400', async () => {
      const {key} = world.service.account();
      const answer = await world.client.submit(key, 'x', {'idempotency-key': ['a', 'a']});
      expect(answer).toMatchObject({status: 400, body: {code: 'invalid_idempotency_key'}});
    });

    test('64 concurrent clients with one key: one message, and 64 identical responses', async () => {
      const {key} = world.service.account();
      const answers = await Promise.all(Array.from({length: 64}, () => submit(key, 'hello', 'once')));
      expect(answers.map(({status}) => status)).toEqual(Array.from({length: 64}, () => 202));
      expect(new Set(answers.map(({text}) => text)).size).toBe(1);
      expect(answers.filter(({headers}) => headers['idempotency-replayed'] === undefined)).toHaveLength(1);
      await expect(count(key)).resolves.toBe(1);
    });

    test('64 concurrent clients with one key and two bodies: one body wins, and the other is rejected', async () => {
      const {key} = world.service.account();
      const answers = await Promise.all(Array.from({length: 64}, (_, n) => submit(key, `body ${n % 2}`, 'once')));
      const statuses = answers.map(({status}) => status).sort();
      expect(statuses).toEqual([...Array(32).fill(202), ...Array(32).fill(422)]);
      await expect(count(key)).resolves.toBe(1);
    });
  });
}
