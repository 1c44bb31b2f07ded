import {Registry} from 'prom-client';
import {expect, test} from 'vitest';
import {ManualClock} from '../../../test/support/manual-clock.ts';
import type {Resolve} from '../../dns/dns.ts';
import {watchAcmeDomain} from './acme-domain.ts';

const DOMAIN = 'acme.example.net';
type Reply = Awaited<ReturnType<Resolve>>;

const replies = (rcode: number, answers: readonly object[] = []) =>
  ({ok: true, message: {rcode, answers}}) as unknown as Reply;
const SILENCE: Reply = {ok: false, failure: 'timeout', detail: 'no answer'};
/** Our name server, as a resolver sees it. */
const OURS = (name: string) => replies(/^[a-z2-7]{32}\./.test(name) ? 0 : 3);

async function watch(answer: (name: string) => Reply, domain = DOMAIN) {
  const clock = new ManualClock();
  const registry = new Registry();
  const state = {answer, asked: 0};
  const resolve: Resolve = async name => {
    state.asked++;
    return state.answer(name);
  };
  const end = new AbortController();
  const {run, warning} = watchAcmeDomain({domain, resolve, clock, registry});
  const running = run(end.signal);
  await clock.advance(0);
  const gauge = async () => /^nameplate_acme_domain_delegated (\d)$/m.exec(await registry.metrics())?.[1];
  const stop = async () => {
    end.abort();
    await running;
  };
  return {state, clock, warning, gauge, stop};
}

test.each([
  ['our name server', OURS, undefined, '1'],
  ['no zone', () => replies(3), 'RCODE 3', '0'],
  ['name servers that do not answer the resolver', () => replies(2), 'RCODE 2', '0'],
  ['a zone with a wildcard', () => replies(0, [{}]), 'RCODE 0', '0'],
  ['a zone in which every name exists', () => replies(0), 'RCODE 0', '0'],
  ['resolvers that do not answer', () => SILENCE, undefined, undefined],
])('the delegation leads to %s', async (_, answer, says, delegated) => {
  const {warning, gauge, stop} = await watch(answer);
  if (says === undefined) expect(warning()).toBeUndefined();
  else expect(warning()).toContain(says);
  expect(await gauge()).toBe(delegated);
  await stop();
});

test('the warning goes when the zone is delegated, and silence changes nothing', async () => {
  const {state, clock, warning, stop} = await watch(() => replies(3));
  expect(warning()).toContain(DOMAIN);
  state.answer = () => SILENCE;
  await clock.advance(30_000);
  expect(warning()).toContain(DOMAIN);
  state.answer = OURS;
  await clock.advance(30_000);
  expect(warning()).toBeUndefined();
  await stop();
});

test('without an ACME domain, nothing is asked or shown', async () => {
  const {state, gauge, warning, stop} = await watch(OURS, '');
  expect([state.asked, await gauge(), warning()]).toEqual([0, undefined, undefined]);
  await stop();
});
