/** When a withdrawn challenge ends without cert-manager, and who is informed. */
import pino from 'pino';
import {expect, test} from 'vitest';
import type {Clock} from '../../base/clock.ts';
import type {ReconcileContext} from '../../runtime/controller/controller.ts';
import type {Challenge} from '../model/kinds.ts';
import type {Operator} from '../state/context.ts';
import {KnownSince} from '../state/known-since.ts';
import {reconcileChallenge} from './stale-challenges.ts';

const NOW = Date.parse('2026-11-24T12:00:00Z');
const HOST = 'shop.example.com';

/** Reconciles a challenge of a former holder that has been in deletion for this long. */
async function reconciled(seconds: number) {
  const writes: string[] = [];
  const events: string[] = [];
  const deletionTimestamp = new Date(NOW - seconds * 1000).toISOString();
  const challenge = {
    metadata: {namespace: 'former', name: 'open', uid: 'u', resourceVersion: '1', deletionTimestamp},
    spec: {dnsName: HOST},
  } as Challenge;
  const claim = {metadata: {name: HOST}, spec: {account: 'next', namespace: 'next', since: ''}};
  const store = (object: unknown) => ({state: 'synced', get: () => object});
  const clock = {now: () => NOW, monotonic: () => 0} as Clock;
  const operator = {
    stores: {claims: store(claim), namespaces: store({metadata: {uid: 'former'}}), challenges: store(challenge)},
    config: {certificates: {approval: {exemptNamespaces: []}}, plans: {free: {}}, defaultPlan: 'free'},
    edge: {solverRoutes: []},
    events: {event: (_: unknown, type: string, reason: string) => events.push(`${type} ${reason}`)},
    logger: pino({level: 'silent'}),
    knownSince: new KnownSince(clock),
  } as unknown as Operator;
  const client = {
    get: async () => claim,
    patch: async (_: unknown, __: unknown, patch: object) => writes.push(JSON.stringify(patch)),
  };
  const context = {client, signal: AbortSignal.timeout(1000)} as unknown as ReconcileContext;
  const outcome = await reconcileChallenge(operator)('former/open', context);
  return {outcome, writes, events};
}

test('cert-manager has a minute to clean up a withdrawn challenge', async () => {
  expect(await reconciled(59)).toMatchObject({outcome: {kind: 'after', ms: 1000}, writes: [], events: []});
});

test('after a minute, the challenge loses its finalizer, and an Event reports it', async () => {
  expect(await reconciled(60)).toMatchObject({
    writes: ['{"metadata":{"resourceVersion":"1","finalizers":null}}'],
    events: ['Warning CleanupHangs'],
  });
});
