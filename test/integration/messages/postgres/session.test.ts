/** What a failed statement does to the others. */
import {expect, test} from 'vitest';
import {Session} from '../../../../src/messages/store/postgres/session/session.ts';
import {sharedServer} from './shared-server.ts';
import {connectionTo} from './store.ts';

const server = sharedServer();

const DIVIDE = {name: 'divide', text: 'SELECT 1 / $1::int AS result'};
const NEW = {name: 'new', text: 'SELECT $1::int AS result'};

test('after a statement that failed, the session and the statements that it skipped can be used', async () => {
  const database = await server().createDatabase();
  const never = new AbortController().signal;
  using session = await Session.open(await connectionTo(server(), database), never, () => undefined);
  const both = (divisor: number) => () => Promise.all([session.query(DIVIDE, [divisor]), session.query(NEW, [2])]);
  const write = async (divisor: number) => ({value: await both(divisor)(), promises: true});
  const nothing = async () => undefined;
  const failure = {refusal: 'down', message: expect.stringContaining('division by zero')};
  await expect(
    session.commit(both(0), () => write(1)),
    'while it reads',
  ).rejects.toMatchObject(failure);
  await expect(
    session.commit(nothing, () => write(0)),
    'while it writes',
  ).rejects.toMatchObject(failure);
  await expect(session.read(both(0)), 'without a transaction').rejects.toMatchObject(failure);
  const unawaited = async () => {
    session.send(DIVIDE, [0]);
    session.send(NEW, [2]);
    return {value: undefined, promises: true};
  };
  await expect(session.commit(nothing, unawaited), 'unnoticed until COMMIT').rejects.toMatchObject(failure);
  expect(session.isBroken).toBe(false);
  await expect(
    session.commit(both(1), found => write(1).then(done => ({...done, value: [found, done.value]}))),
  ).resolves.toEqual(Array.from({length: 2}, () => [[{result: 1}], [{result: 2}]]));
});
