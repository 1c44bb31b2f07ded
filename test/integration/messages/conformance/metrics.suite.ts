/** What /metrics says about messages, for every engine. */
import {expect, test} from 'vitest';
import {until} from '../../../cluster/wait.ts';
import {metric} from '../raw.ts';
import type {ConformanceWorld} from './conformance.suite.ts';

export function metricSuite(world: ConformanceWorld): void {
  test('counts what is accepted and refused, and knows the backlog of all accounts', async () => {
    const {service, client} = await world.another({});
    const [mine, theirs] = [service.account(), service.account()];
    const since = performance.now();
    const backlog = async () => ({
      queued: await metric(service, 'nameplate_messages_backlog{status="queued"}'),
      leased: await metric(service, 'nameplate_messages_backlog{status="leased"}'),
    });
    const key = {'idempotency-key': 'once'};
    for (let n = 0; n < 2; n++) await client.submit(mine.key, 'x', key);
    await client.submit(mine.key, 'y');
    await client.submit(theirs.key, 'z');
    await client.submit(theirs.readKey, 'z');
    await client.submit(theirs.key, 7);
    const [{id, lease}] = (await client.post(mine.key, '/messages/claim')).body.messages;
    await until('the backlog is counted', async () => {
      const {queued, leased} = await backlog();
      return queued === 2 && leased === 1;
    });
    const refused = (reason: string) =>
      metric(service, `nameplate_messages_requests_refused_total{route="submit",reason="${reason}"}`);
    expect(await metric(service, 'nameplate_messages_accepted_total')).toBe(3);
    expect(await refused('insufficient_scope')).toBe(1);
    expect(await refused('message_required')).toBe(1);
    const age = await metric(service, 'nameplate_messages_oldest_age_seconds');
    expect(age).toBeGreaterThan(0);
    expect(age).toBeLessThanOrEqual(1 + (performance.now() - since) / 1000);
    await client.post(mine.key, `/messages/${id}/nack`, {lease, delaySeconds: 3600});
    const rest = (await client.post(mine.key, '/messages/claim', {limit: 10})).body.messages;
    const others = (await client.post(theirs.key, '/messages/claim')).body.messages;
    for (const {id, lease} of rest) await client.post(mine.key, `/messages/${id}/ack`, {lease});
    for (const {id, lease} of others) await client.post(theirs.key, `/messages/${id}/ack`, {lease});
    await until('only the delayed message is open', async () => {
      const {queued, leased} = await backlog();
      return queued === 1 && leased === 0;
    });
  });
}
