import type {Clock} from '../../time/clock.ts';
import {TtlCache} from '../../time/ttl-cache.ts';
import {followChain} from './cname-chain.ts';
import type {Directory} from './directory.ts';
import {VerdictSession} from './session.ts';

/** `known: false`: the lookup of the platform's own target failed, so no address can be judged. */
export type TargetAddresses =
  | {readonly known: true; readonly addresses: ReadonlySet<string>}
  | {readonly known: false; readonly detail: string};

export interface Targets {
  addressesOf(target: string, directory: Directory, signal: AbortSignal): Promise<TargetAddresses>;
}

const FRESH_MS = 60_000;
/** A target behind a load balancer shows only some addresses at a time, and a provider that flattens shows old ones. */
const REMEMBER_MS = 3_600_000;
const CACHE_ENTRIES = 10_000;
const BUDGET = 60;

/**
 * The addresses that the accounts' targets have now or had within the last hour, and `edges`: those of both edges,
 * while the platform moves.
 */
export function createTargets(clock: Clock, edges: readonly string[] = []): Targets {
  const fresh = new TtlCache<TargetAddresses>(clock, CACHE_ENTRIES);
  const seen = new TtlCache<ReadonlyMap<string, number>>(clock, CACHE_ENTRIES);

  function remember(target: string, addresses: readonly string[]): ReadonlySet<string> {
    const now = clock.monotonic();
    const lastSeen = new Map([...(seen.get(target) ?? [])].filter(([, at]) => at > now - REMEMBER_MS));
    for (const address of addresses) lastSeen.set(address, now);
    seen.set(target, lastSeen, REMEMBER_MS);
    return new Set([...lastSeen.keys(), ...edges]);
  }

  async function addressesOf(target: string, directory: Directory, signal: AbortSignal): Promise<TargetAddresses> {
    const cached = fresh.get(target);
    if (cached !== undefined) return cached;
    const session = new VerdictSession({transport: directory.transport, budget: BUDGET, signal});
    const end = await followChain(target, undefined, directory, session);
    if (end.kind !== 'addresses' && end.kind !== 'nothing') {
      return {known: false, detail: `the addresses of ${target} could not be looked up`};
    }
    const found: TargetAddresses = {
      known: true,
      addresses: remember(target, end.kind === 'addresses' ? end.addresses : []),
    };
    fresh.set(target, found, FRESH_MS);
    return found;
  }

  return {addressesOf};
}
