import type {Resolver} from 'node:dns/promises';
import type {ProofQuestion} from '../../src/dns/verdict/verdict.ts';
import type {Answer} from './cases.ts';

const MAX_HOPS = 8;

/**
 * A typical verifier on node:dns: it follows the CNAME or, if there is none, compares addresses and the TXT record or the
 * delegated challenge.
 */
export async function plainVerify(
  {host, target, txtName, txtValue, challenge}: ProofQuestion,
  resolverFor: (name: string) => Promise<Resolver>,
): Promise<Answer> {
  try {
    let name = host;
    for (let hop = 0; hop < MAX_HOPS; hop++) {
      const resolver = await resolverFor(name);
      const [next] = await orNone(resolver.resolveCname(name));
      if (next === undefined) break;
      if (next.toLowerCase() === target) return 'yes';
      name = next;
    }
    const [shown, wanted] = [
      await addressesOf(await resolverFor(host), host),
      await addressesOf(await resolverFor(target), target),
    ];
    if (shown.length === 0 || !shown.every(address => wanted.includes(address))) return 'no';
    const texts = await orNone((await resolverFor(txtName)).resolveTxt(txtName));
    if (texts.some(parts => parts.join('') === txtValue)) return 'yes';
    if (!challenge) return 'no';
    const [delegated] = await orNone((await resolverFor(challenge.name)).resolveCname(challenge.name));
    return delegated?.toLowerCase() === challenge.target ? 'yes' : 'no';
  } catch {
    return 'unknown';
  }
}

async function addressesOf(resolver: Resolver, name: string): Promise<string[]> {
  return [...(await orNone(resolver.resolve4(name))), ...(await orNone(resolver.resolve6(name)))];
}

/** A missing record is an answer; any other failure is not. */
export async function orNone<T>(records: Promise<T[]>): Promise<T[]> {
  try {
    return await records;
  } catch (error) {
    const {code} = error as NodeJS.ErrnoException;
    if (code === 'ENODATA' || code === 'ENOTFOUND') return [];
    throw error;
  }
}
