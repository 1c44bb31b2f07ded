import {describe, expect, test} from 'vitest';
import type {ConformanceWorld} from './conformance.suite.ts';

export function listSuite(world: ConformanceWorld): void {
  async function fill(count: number, text = (n: number) => `message ${n}`) {
    const account = world.service.account();
    const ids: string[] = [];
    for (let n = 0; n < count; n++) ids.push((await world.client.submit(account.key, text(n))).body.id);
    return {...account, ids};
  }

  async function pages(key: string, query: string): Promise<string[][]> {
    const got: string[][] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const {body} = await world.client.get(key, `/messages?${query}${cursor && `&cursor=${cursor}`}`);
      got.push(body.messages.map(({id}: {id: string}) => id));
      cursor = body.nextCursor;
    }
    return got;
  }

  describe('a list', () => {
    test('of none is an empty page', async () => {
      const {key} = world.service.account();
      await expect(world.client.get(key, '/messages')).resolves.toMatchObject({
        status: 200,
        text: '{"messages":[],"nextCursor":null}',
      });
    });

    test('comes oldest first, page by page, each message once', async () => {
      const {key, ids} = await fill(7);
      expect([...ids].sort()).toEqual(ids);
      await expect(pages(key, 'limit=3')).resolves.toEqual([ids.slice(0, 3), ids.slice(3, 6), ids.slice(6)]);
      await expect(pages(key, 'limit=7'), 'the last page knows that it is the last').resolves.toEqual([ids]);
      await expect(pages(key, '')).resolves.toEqual([ids]);
    });

    test('continues where it was while messages arrive', async () => {
      const {key, ids} = await fill(2);
      const first = (await world.client.get(key, '/messages?limit=1')).body;
      const later = (await world.client.submit(key, 'later')).body.id;
      const rest = (await world.client.get(key, `/messages?cursor=${first.nextCursor}`)).body;
      expect(rest.messages.map(({id}: {id: string}) => id)).toEqual([ids[1], later]);
    });

    test('shows only one status when asked', async () => {
      const {key, ids} = await fill(3);
      const [claimed] = (await world.client.post(key, '/messages/claim')).body.messages;
      await expect(pages(key, 'status=leased')).resolves.toEqual([[ids[0]]]);
      await expect(pages(key, 'status=queued&limit=1')).resolves.toEqual([[ids[1]], [ids[2]]]);
      await world.client.post(key, `/messages/${ids[0]}/ack`, {lease: claimed.lease});
      await expect(pages(key, 'status=done')).resolves.toEqual([[ids[0]]]);
      await expect(pages(key, 'status=dead')).resolves.toEqual([[]]);
    });

    test('of long messages has short pages, and all of them', async () => {
      const {key, ids} = await fill(10, () => 'x'.repeat(250_000));
      const got = await pages(key, 'limit=100');
      expect(got.flat()).toEqual(ids);
      expect(Math.max(...got.map(page => page.length))).toBeLessThan(10);
    });

    test.concurrent.each([
      ['limit=1', 200],
      ['limit=100', 200],
      ['limit=0', 400],
      ['limit=101', 400],
      ['limit=-1', 400],
      ['limit=1.5', 400],
      ['limit=', 400],
      ['limit=1&limit=2', 400],
      ['cursor=x', 400],
      ['cursor=', 400],
      ['cursor=msg_01890a5d-ac96-774b-bcce-b302099a8057', 200],
      ['status=gone', 400],
      ['status=queued', 200],
      ['statsu=done', 400],
    ])('?%s: %i', async (query, status) => {
      const answer = await world.client.get(world.service.account().key, `/messages?${query}`);
      expect(answer.status).toBe(status);
      if (status === 400)
        expect(answer.body).toMatchObject({code: 'invalid_parameter', errors: [{parameter: query.split('=')[0]}]});
    });
  });

  describe('reading', () => {
    test.concurrent.each([
      ['an id that does not exist', 'msg_01890a5d-ac96-774b-bcce-b302099a8057'],
      ['what is no id', 'x'],
      ['an id in upper case', 'MSG_01890A5D-AC96-774B-BCCE-B302099A8057'],
      ['an encoded slash', 'a%2Fb'],
    ])('%s: 404', async (_, id) => {
      const answer = await world.client.get(world.service.account().key, `/messages/${id}`);
      expect(answer).toMatchObject({status: 404, body: {code: 'message_not_found'}});
    });
  });
}
