/**
 * Whether resolvers reach our name server through the delegation of the ACME domain. It is reported once, for the
 * platform team: without it, no host can be validated over DNS.
 */
import {randomInt} from 'node:crypto';
import type {Registry} from 'prom-client';
import type {Resolve} from '../../dns/dns.ts';
import {metricsIn} from '../../operations/metrics.ts';
import type {Clock} from '../../time/clock.ts';

interface Parts {
  /** `platform.acmeDomain`; empty: there is none. */
  readonly domain: string;
  readonly resolve: Resolve;
  readonly clock: Clock;
  readonly registry: Registry;
}

const CHECK_MS = 300_000;
const RETRY_MS = 30_000;
const NXDOMAIN = 3;
const LETTERS = 'abcdefghijklmnopqrstuvwxyz234567';

/** `run` checks until the signal aborts, and never rejects. `warning`: for the readiness check. */
export function watchAcmeDomain({domain, resolve, clock, registry}: Parts) {
  /** Undefined: not known. */
  let problem: string | false | undefined;
  if (domain !== '') {
    metricsIn(registry).reading(
      'nameplate_acme_domain_delegated',
      '0 if resolvers do not reach the name server of the ACME domain.',
      () => (problem === undefined ? undefined : problem === false ? 1 : 0),
    );
  }

  /** Our name server says that each well-formed name exists, and no other: no other server does both. */
  async function check(signal: AbortSignal): Promise<void> {
    const names = [32, 31].map(length => `${randomLabel(length)}.${domain}`);
    const [formed, other] = await Promise.all(names.map(name => resolve(name, 'TXT', signal)));
    if (!formed?.ok || !other?.ok) return; // the resolvers' fault, or no news
    const isOurs = formed.message.rcode === 0 && formed.message.answers.length === 0;
    if (isOurs && other.message.rcode === NXDOMAIN) problem = false;
    else problem = `a resolver gets RCODE ${formed.message.rcode} for ${names[0]}`;
  }

  return {
    run: async (signal: AbortSignal): Promise<void> => {
      while (domain !== '' && !signal.aborted) {
        await check(signal);
        await clock.sleep(problem === false ? CHECK_MS : RETRY_MS, signal).catch(() => undefined);
      }
    },
    warning: (): string | undefined =>
      typeof problem === 'string'
        ? `Resolvers do not reach the name server of config.platform.acmeDomain, ${domain}: ${problem}. Delegate the zone to it (docs/dns.md#the-acme-domain). Until then, no host is validated over DNS.`
        : undefined,
  };
}

function randomLabel(length: number): string {
  return Array.from({length}, () => LETTERS[randomInt(LETTERS.length)]).join('');
}
