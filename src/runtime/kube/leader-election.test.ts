/** When a holder notices that it has lost the lease. The election on a real API server: test/integration/runtime. */
import {pino} from 'pino';
import {Registry} from 'prom-client';
import {expect, test} from 'vitest';
import {ManualClock} from '../../../test/support/manual-clock.ts';
import type {CallOptions} from './calls.ts';
import type {KubeClient} from './client.ts';
import {TransportError} from './errors.ts';
import {LeaderElector} from './leader-election.ts';

test.each([0, 500, 900, 1999])(
  'a holder that reaches nothing from %i ms after a renewal on gives up at its renew deadline',
  async offsetMs => {
    const clock = new ManualClock();
    /** A call that ends at its deadline. */
    const hang = async (_: unknown, __: unknown, {timeoutMs = 15_000}: CallOptions = {}) => {
      await clock.sleep(timeoutMs);
      throw new TransportError('a call', new Error('no answer'));
    };
    let calls: (...given: Parameters<typeof hang>) => Promise<unknown> = async () => ({metadata: {}, spec: {}});
    const client = {
      get: async (...given: Parameters<typeof hang>) => (calls === hang ? hang(...given) : undefined),
      create: async (...given: Parameters<typeof hang>) => calls(...given),
      replace: async (...given: Parameters<typeof hang>) => calls(...given),
    };
    const elector = new LeaderElector({
      ...{clock, identity: 'us', registry: new Registry(), logger: pino({level: 'silent'}), random: () => 0},
      lease: {namespace: 'a', name: 'lease'},
      client: client as unknown as KubeClient,
    });
    let lostAtMs: number | undefined;
    const ended = elector.run(new AbortController().signal, async lost => {
      await new Promise(resolve => lost.addEventListener('abort', resolve));
      lostAtMs = clock.monotonic();
      return {release: false};
    });
    await clock.advance(6_000 + offsetMs);
    const renewedAtMs = Math.floor(clock.monotonic() / 2_000) * 2_000;
    calls = hang;
    await clock.advance(20_000);
    expect(await ended).toBe(false);
    expect(lostAtMs).toBeLessThanOrEqual(renewedAtMs + 10_000);
  },
);
