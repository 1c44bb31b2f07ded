/** The addresses that a host's visitors get, regardless of the records that its owner should create. */
import {followChain} from './cname-chain.ts';
import type {Directory} from './directory.ts';
import {VerdictSession} from './session.ts';

/** `known: false`: the name servers did not answer, or did not agree. No addresses: the host points nowhere. */
export type Lookup = {readonly known: true; readonly addresses: readonly string[]} | {readonly known: false};

const BUDGET = 60;

/** Rejects only if the signal aborts. */
export async function lookUp(host: string, directory: Directory, signal: AbortSignal): Promise<Lookup> {
  const session = new VerdictSession({transport: directory.transport, budget: BUDGET, signal});
  const end = await followChain(host, undefined, directory, session);
  if ((end.kind !== 'addresses' && end.kind !== 'nothing') || end.missed.length > 0) return {known: false};
  return {known: true, addresses: end.kind === 'addresses' ? end.addresses : []};
}
