/** One account can neither see, nor touch, nor even notice anything of another. */
import {describe, expect, test} from 'vitest';
import type {ConformanceWorld} from './conformance.suite.ts';

export function accountSuite(world: ConformanceWorld): void {
  describe('another account', () => {
    async function two() {
      const [mine, theirs] = [world.service.account(), world.service.account()];
      const {body} = await world.client.submit(theirs.key, 'theirs', {'idempotency-key': 'shared'});
      return {mine, theirs, id: body.id as string};
    }

    // attack: foreign-messages
    test('reads the message as if it were not there', async () => {
      const {mine, id} = await two();
      const unknown = await world.client.get(mine.key, `/messages/${id.slice(0, -1)}0`);
      const foreign = await world.client.get(mine.key, `/messages/${id}`);
      expect(foreign.status).toBe(404);
      expect({...foreign.body, requestId: ''}).toEqual({...unknown.body, requestId: ''});
    });

    // attack: foreign-messages
    test('lists none of it, also by its cursor and status', async () => {
      const {mine, id} = await two();
      const before = `${id.slice(0, 4)}0${id.slice(5)}`;
      for (const query of ['', `?cursor=${before}`, '?status=queued', `?status=queued&cursor=${before}`]) {
        const {body} = await world.client.get(mine.key, `/messages${query}`);
        expect(body, query).toEqual({messages: [], nextCursor: null});
      }
    });

    // attack: foreign-messages
    test('claims none of it, and cannot settle it, even knowing id and lease', async () => {
      const {mine, theirs, id} = await two();
      await expect(world.client.post(mine.key, '/messages/claim')).resolves.toMatchObject({body: {messages: []}});
      const [{lease}] = (await world.client.post(theirs.key, '/messages/claim')).body.messages;
      for (const verb of ['ack', 'nack']) {
        const answer = await world.client.post(mine.key, `/messages/${id}/${verb}`, {lease});
        expect(answer, verb).toMatchObject({status: 404, body: {code: 'message_not_found'}});
      }
      await expect(world.client.post(theirs.key, `/messages/${id}/ack`, {lease})).resolves.toMatchObject({status: 200});
    });

    // attack: foreign-messages
    test('has its own idempotency keys', async () => {
      const {mine, id} = await two();
      const same = await world.client.submit(mine.key, 'theirs', {'idempotency-key': 'shared'});
      expect(same.status).toBe(202);
      expect(same.body.id).not.toBe(id);
      expect(same.headers['idempotency-replayed']).toBeUndefined();
    });
  });
}
