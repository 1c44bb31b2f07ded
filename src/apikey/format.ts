/**
 * The text of an API key: `npk_`, 30 base62 characters of randomness (178 bits), and 6 of their CRC-32, like GitHub's
 * tokens. Mistyped or invented keys are rejected without a lookup, and secret scanners can recognize a key.
 * https://github.blog/2021-04-05-behind-githubs-new-authentication-token-formats/
 */
import {hash} from 'node:crypto';
import {crc32} from 'node:zlib';

const PREFIX = 'npk_';
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const RANDOM_LENGTH = 30;
const CHECK_LENGTH = 6;
const FORM = new RegExp(`^${PREFIX}([0-9A-Za-z]{${RANDOM_LENGTH}})([0-9A-Za-z]{${CHECK_LENGTH}})$`);
/** The largest multiple of 62 in a byte: higher bytes would favor the first characters. */
const UNBIASED = 256 - (256 % ALPHABET.length);
/** Beyond `npk_`: 6 of the 30 characters leave 142 bits unseen. */
const SHOWN = 6;

/** Cryptographically strong random bytes, as `crypto.randomBytes`. */
type RandomBytes = (count: number) => Uint8Array;

export function mintKey(randomBytes: RandomBytes): string {
  let random = '';
  while (random.length < RANDOM_LENGTH) {
    for (const byte of randomBytes(RANDOM_LENGTH)) {
      if (byte < UNBIASED && random.length < RANDOM_LENGTH) random += ALPHABET[byte % ALPHABET.length];
    }
  }
  return `${PREFIX}${random}${checkOf(random)}`;
}

/** Whether it has the form of a key with a correct checksum. Says nothing about whether the key was ever issued. */
export function isKey(text: string): boolean {
  const [, random, check] = FORM.exec(text) ?? [];
  return random !== undefined && checkOf(random) === check;
}

/** SHA-256 in hexadecimal. The key is random enough that a slow hash or a salt would add nothing. */
export function digestOf(key: string): string {
  return hash('sha256', key, 'hex');
}

/** The first characters, by which people recognize a key. */
export function prefixOf(key: string): string {
  return key.slice(0, PREFIX.length + SHOWN);
}

/** CRC-32 (ISO-HDLC, as in zlib) in base62, most significant digit first. */
function checkOf(random: string): string {
  let rest = crc32(random);
  let digits = '';
  for (let place = 0; place < CHECK_LENGTH; place++) {
    digits = `${ALPHABET[rest % ALPHABET.length]}${digits}`;
    rest = Math.floor(rest / ALPHABET.length);
  }
  return digits;
}
