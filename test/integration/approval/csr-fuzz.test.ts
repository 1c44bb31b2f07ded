/** Random mutations of certificate requests from OpenSSL and from attackers. SOAK=1 runs a hundred times as many. */
import {randomInt} from 'node:crypto';
import {expect, test} from 'vitest';
import {MAX_ELEMENTS, requestedNames} from '../../../src/operator/kinds/csr.ts';
import {mutate, pick, seededRandom} from '../dns/mutate.ts';
import {hostileRequests, pemOf, requestFor} from './hostile-csr.ts';
import {signingRequest} from './signing-request.ts';

const ROUNDS = process.env.SOAK ? 100 : 1;
const SEED = Number(process.env.FUZZ_SEED ?? randomInt(2 ** 31));
const HOURS = 3_600_000;

function derOf(request: string): Uint8Array {
  const pem = Buffer.from(request, 'base64').toString();
  return Buffer.from(pem.replace(/-----[^-]+-----|\s/g, ''), 'base64');
}

// attack: signing-request, operator-work
test('the judge of certificate requests reads a bounded number of elements, and only hosts, whatever the bytes', {
  timeout: HOURS,
}, async () => {
  console.log(`fuzz: FUZZ_SEED=${SEED} repeats this run`);
  const random = seededRandom(SEED);
  const honest = await Promise.all(
    [
      {names: ['DNS:a.test']},
      {commonName: 'a.test', names: ['DNS:a.test', 'DNS:b.test']},
      {names: ['DNS:a.test', 'IP:192.0.2.1', 'URI:spiffe://a.test/b', 'email:a@b.test']},
      {subject: '/O=system:masters/OU=ops', commonName: 'a.test', names: ['DNS:a.test']},
    ].map(async request => derOf(await signingRequest(request))),
  );
  const names = ['..', '', '*.a.test', 'a.test/..', `${'a'.repeat(64)}.test`].map(requestFor);
  const attackers = [...Object.values(hostileRequests), ...names];
  const count = {read: 0, refused: 0};
  for (let n = 0; n < 10_000 * ROUNDS; n++) {
    const der = mutate(n % 20 === 0 ? pick(attackers, random) : pick(honest, random), random, pick(honest, random));
    const meter = {elements: 0};
    count[isRead(der, meter) ? 'read' : 'refused']++;
    if (meter.elements > MAX_ELEMENTS + 1) {
      throw new Error(`FUZZ_SEED=${SEED}, ${meter.elements} elements in ${Buffer.from(der).toString('hex')}`);
    }
  }
  // Both must happen; otherwise the mutations are too coarse or too fine to find anything.
  expect(count.read).toBeGreaterThan(1000);
  expect(count.refused).toBeGreaterThan(1000);
});

/** False: refused with an error that `decide` expects. */
function isRead(der: Uint8Array, meter: {elements: number}): boolean {
  let dnsNames: readonly string[] = [];
  try {
    ({dnsNames} = requestedNames(pemOf(der), meter));
  } catch (error) {
    if (error instanceof Error && !error.message.includes('call stack')) return false;
    throw new Error(`FUZZ_SEED=${SEED}, ${Buffer.from(der).toString('hex')}`, {cause: error});
  }
  const strange = dnsNames.find(name => !isPathSegment(name));
  if (strange === undefined) return true;
  throw new Error(`FUZZ_SEED=${SEED}, the name ${JSON.stringify(strange)} in ${Buffer.from(der).toString('hex')}`);
}

/** A name becomes the last part of a claim's URL. */
function isPathSegment(name: string): boolean {
  return name !== '' && name.length <= 255 && new URL(`http://any/claims/${name}`).pathname === `/claims/${name}`;
}
