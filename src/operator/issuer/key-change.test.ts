/** Which key an account gets, and when, with a CA and an API server in memory. */
import {generateKeyPairSync, type KeyObject} from 'node:crypto';
import pino from 'pino';
import {expect, test} from 'vitest';
import {ManualClock} from '../../../test/support/manual-clock.ts';
import {AcmeError} from '../../acme/errors.ts';
import {thumbprintOf} from '../../acme/identifiers.ts';
import type {KubeObject} from '../../runtime/kube/object.ts';
import {type AccountKey, AccountKeyError} from './account-key.ts';
import type {IssuerContext} from './context.ts';
import {keyChanger} from './key-change.ts';

const SERVER = 'https://ca.test/dir';
const [FIRST, SECOND] = ['https://ca.test/account/1', 'https://ca.test/account/2'];
const keyOf = (secret: string): AccountKey => {
  const {privateKey: key} = generateKeyPairSync('ec', {namedCurve: 'P-256'});
  return {secret, key, thumbprint: thumbprintOf(key)};
};
const [current, former] = [keyOf('current'), keyOf('former')];
const keys = {current, former: [former]};

/** `at`: the accounts at the CA, by their keys. */
function start({
  at,
  recorded,
  openOrders = 0,
  changes = {isPossible: true},
}: {
  at: readonly (readonly [AccountKey, string])[];
  recorded?: string;
  openOrders?: number;
  changes?: {isPossible: boolean};
}) {
  const clock = new ManualClock();
  const accounts = new Map(at.map(([{thumbprint}, uri]) => [thumbprint, uri]));
  const configMap = {data: {thumbprint: former.thumbprint}};
  const order = {spec: {issuance: {order: 'https://ca.test/order/1'}}};
  const clientOf = (_: unknown, _key: KeyObject, thumbprint: string) => ({
    directory: async () => (changes.isPossible ? {keyChange: 'https://ca.test/key-change'} : {}),
    createAccount: async () => {
      const uri = accounts.get(thumbprint);
      if (uri === undefined) throw new AcmeError({type: 'accountDoesNotExist', detail: ''}, 400, undefined);
      return {uri};
    },
    changeKey: async (uri: string, newKey: KeyObject) => {
      if (accounts.has(thumbprintOf(newKey)))
        throw new AcmeError({type: 'malformed', detail: 'in use'}, 409, undefined);
      accounts.delete(thumbprint);
      accounts.set(thumbprintOf(newKey), uri);
    },
  });
  const context = {
    accounts: {get: () => undefined, clientOf},
    client: {
      get: async () => configMap,
      patch: async (_: unknown, _key: unknown, patch: typeof configMap) => Object.assign(configMap, patch),
      list: async function* () {
        yield {items: Array.from({length: openOrders}, () => order)};
      },
    },
    ...{clock, namespace: 'nameplate', logger: pino({level: 'silent'}), signal: new AbortController().signal},
    config: {certificates: {acme: {challenges: {configMap: 'challenges'}}}},
  } as unknown as IssuerContext;
  const issuer = {
    metadata: {name: 'ca'},
    spec: {server: SERVER},
    status: recorded === undefined ? {} : {accountServer: SERVER, accountURI: recorded},
  } as unknown as KubeObject & {spec: {server: string}};
  const changeKey = keyChanger();
  return {clock, configMap, run: () => changeKey(context, issuer, keys)};
}

test('the account gets the current key, and the responder its thumbprint', async () => {
  const {run, configMap} = start({at: [[former, FIRST]], recorded: FIRST});
  expect(await run()).toEqual({kind: 'found', uri: FIRST, key: current});
  expect(configMap.data.thumbprint).toBe(current.thumbprint);
});

test.each([
  ['the key', former],
  ['only the thumbprint of the responder', current],
])('%s changes only after a minute, in which the CA may validate what an earlier process accepted', async (_, has) => {
  const {run, configMap, clock} = start({at: [[has, FIRST]], openOrders: 1});
  expect(await run()).toMatchObject({kind: 'waiting', wakeInMs: 60_000});
  await clock.advance(59_000);
  expect(await run()).toMatchObject({kind: 'waiting', wakeInMs: 1_000});
  expect(configMap.data.thumbprint).toBe(former.thumbprint);
  await clock.advance(1_000);
  expect(await run()).toMatchObject({kind: 'found', key: current});
  expect(configMap.data.thumbprint).toBe(current.thumbprint);
});

test('an account is created only if none is recorded', async () => {
  expect(await start({at: []}).run()).toEqual({kind: 'absent'});
  await expect(start({at: [], recorded: FIRST}).run()).rejects.toThrow(AccountKeyError);
  await expect(start({at: [[current, SECOND]], recorded: FIRST}).run()).rejects.toThrow(AccountKeyError);
});

test.each([
  ['cannot change keys', {at: [[former, FIRST]] as const, changes: {isPossible: false}}, 'it cannot change keys'],
  [
    'has another account with the key',
    {
      at: [
        [former, FIRST],
        [current, SECOND],
      ] as const,
    },
    'malformed: in use',
  ],
])('at a CA that %s, the account keeps its key, and so does the responder', async (_, world, refusal) => {
  const {run, configMap} = start({...world, recorded: FIRST});
  expect(await run()).toEqual({kind: 'found', uri: FIRST, key: former, refusal});
  expect(configMap.data.thumbprint).toBe(former.thumbprint);
});
