/** What one account may send and store. Each test has a service with low limits. */
import {describe, expect, test} from 'vitest';
import {until} from '../../../cluster/wait.ts';
import type {ConformanceWorld} from './conformance.suite.ts';

export function limitSuite(world: ConformanceWorld): void {
  describe('an account', () => {
    test('over its request rate learns when to retry; others are not affected', async () => {
      const account = {requestsPerSecond: 2, burstSeconds: 2};
      const {service, client} = await world.another({limits: {account}});
      const [mine, theirs] = [service.account(), service.account()];
      const since = performance.now();
      const answers = await Promise.all(Array.from({length: 50}, () => client.submit(mine.key, 'x')));
      const seconds = (performance.now() - since) / 1000;
      const refused = answers.filter(({status}) => status === 429);
      const passed = answers.length - refused.length;
      expect(passed, 'a burst of two seconds').toBeGreaterThanOrEqual(4);
      expect(passed, 'and what drips in meanwhile').toBeLessThanOrEqual(4 + 2 * seconds);
      expect(refused[0]).toMatchObject({
        body: {code: 'rate_limited'},
        headers: {'retry-after': '1', 'ratelimit-policy': '"requests";q=2;w=1', ratelimit: '"requests";r=0;t=1'},
      });
      await expect(client.submit(theirs.key, 'x')).resolves.toMatchObject({status: 202});
      await until('it may send again', async () => (await client.submit(mine.key, 'x')).status === 202);
    });

    test('over its byte rate gets an error that says so; small requests may still fit', async () => {
      const account = {bytesPerSecond: 10, burstSeconds: 1000};
      const {service, client} = await world.another({limits: {bodyBytes: 10_000, account}});
      const {key} = service.account();
      await expect(client.submit(key, 'x'.repeat(9000))).resolves.toMatchObject({status: 202});
      const refused = await client.submit(key, 'x'.repeat(9000));
      expect(refused).toMatchObject({status: 429, body: {code: 'rate_limited'}});
      expect(refused.headers['ratelimit-policy']).toBe('"bytes";q=10;w=1');
      expect(Number(refused.headers['retry-after'])).toBeGreaterThan(600);
      await expect(client.submit(key, 'x')).resolves.toMatchObject({status: 202});
    });

    test('may store so much, and more once something is deleted', async () => {
      const {service, client} = await world.another({
        limits: {account: {storedBytes: 10_000}},
        retention: {doneSeconds: 0},
      });
      const [mine, theirs] = [service.account(), service.account()];
      await expect(client.submit(mine.key, 'x'.repeat(9000))).resolves.toMatchObject({status: 202});
      const refused = await client.submit(mine.key, 'x'.repeat(9000));
      expect(refused).toMatchObject({status: 429, body: {code: 'quota_exceeded'}});
      expect(refused.headers['retry-after']).toBe('60');
      await expect(client.submit(theirs.key, 'x'.repeat(9000))).resolves.toMatchObject({status: 202});
      const [{id, lease}] = (await client.post(mine.key, '/messages/claim')).body.messages;
      await client.post(mine.key, `/messages/${id}/ack`, {lease});
      await until(
        'what is done is deleted',
        async () => (await client.get(mine.key, `/messages/${id}`)).status === 404,
      );
      await expect(client.submit(mine.key, 'x'.repeat(9000))).resolves.toMatchObject({status: 202});
    });

    test('may use an idempotency key anew once it is forgotten', async () => {
      const {service, client} = await world.another({retention: {idempotencySeconds: 10}});
      const {key} = service.account();
      await expect(client.submit(key, 'a', {'idempotency-key': 'k'})).resolves.toMatchObject({status: 202});
      const sendOther = () => client.submit(key, 'b', {'idempotency-key': 'k'});
      await expect(sendOther()).resolves.toMatchObject({status: 422});
      await until('the key is forgotten', async () => (await sendOther()).status === 202);
    });
  });
}
