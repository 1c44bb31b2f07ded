import {createServer, type Server} from 'node:http';
import type {AddressInfo} from 'node:net';
import {afterEach, expect, test} from 'vitest';
import {ManualClock} from '../../../test/support/manual-clock.ts';
import type {KubeClient} from '../../runtime/kube/client.ts';
import {Responders} from './responders.ts';

const api = {client: {} as KubeClient, signal: new AbortController().signal};
const HALF_A_MINUTE = 31_000;
const servers: Server[] = [];

afterEach(async () => {
  for (const server of servers.splice(0)) await new Promise(resolve => server.close(resolve));
});

/** A replica that answers with a thumbprint, which a test may change; with 503 if it is empty. */
async function startReplica(thumbprint: string) {
  const replica = {address: '', thumbprint, asked: 0};
  const server = createServer(({url = ''}, response) => {
    replica.asked += 1;
    response.shouldKeepAlive = false;
    response.statusCode = replica.thumbprint === '' ? 503 : 200;
    response.end(`${url.split('/').at(-1)}.${replica.thumbprint}`);
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  servers.push(server);
  replica.address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return replica;
}

function respondersOf(...replicas: {readonly address: string}[]) {
  const clock = new ManualClock();
  const addresses = replicas.map(({address}) => address);
  return {clock, responders: new Responders({namespace: 'nameplate', service: 'challenges', addresses, clock})};
}

test('a replica with the thumbprint of another key is never ignored, however long it lasts', async () => {
  const [first, second] = [await startReplica('new'), await startReplica('old')];
  const {clock, responders} = respondersOf(first, second);
  const wrong = `the replica ${second.address} of challenges answers with the thumbprint of another key`;
  for (let n = 0; n < 5; n++) {
    expect(await responders.problem(api, 'new')).toBe(wrong);
    await clock.advance(HALF_A_MINUTE);
  }
  second.thumbprint = 'new';
  expect(await responders.problem(api, 'new')).toBeUndefined();
  expect(await responders.problem(api, 'old')).toContain(first.address);
});

test('a silent replica is ignored after half a minute, but only if another one answers', async () => {
  const [first, second] = [await startReplica('new'), await startReplica('')];
  const {clock, responders} = respondersOf(first, second);
  expect(await responders.problem(api, 'new')).toBe(`the replica ${second.address} of challenges does not answer`);
  await clock.advance(HALF_A_MINUTE);
  expect(await responders.problem(api, 'new')).toBeUndefined();
  first.thumbprint = '';
  await clock.advance(HALF_A_MINUTE);
  expect(await responders.problem(api, 'new')).toContain('does not answer');
});

test('replicas are asked once for all that wait, and not again for a moment', async () => {
  const replica = await startReplica('new');
  const {clock, responders} = respondersOf(replica);
  await Promise.all(Array.from({length: 20}, () => responders.problem(api, 'new')));
  await responders.problem(api, 'new');
  expect(replica.asked).toBe(1);
  replica.thumbprint = 'old';
  await clock.advance(10_001);
  for (let n = 0; n < 5; n++) expect(await responders.problem(api, 'new')).toBeDefined();
  expect(replica.asked).toBe(2);
});

test('a check for one key answers nothing about another key', async () => {
  const {responders} = respondersOf(await startReplica('new'));
  const [former, current] = await Promise.all([responders.problem(api, 'old'), responders.problem(api, 'new')]);
  expect(former).toBeDefined();
  expect(current).toBeUndefined();
});
