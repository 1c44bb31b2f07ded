import {hash} from 'node:crypto';
import type {Idempotency} from '../store/store.ts';
import {type Answer, problem} from './answer.ts';

/**
 * The header Idempotency-Key (draft-ietf-httpapi-idempotency-key-header-07): a quoted RFC 8941 string. Most clients
 * omit the quotes, so both forms are accepted and mean the same key.
 */
const QUOTED = /^"(?<key>[!#-[\]-~ ]{1,255})"$/;
const BARE = /^(?<key>[!#-+\--[\]-~]{1,255})$/;

/** Undefined without the header; a response if it is malformed. The fingerprint is of the body's bytes. */
export function idempotencyOf(header: string | undefined, body: Buffer): Idempotency | Answer | undefined {
  if (header === undefined) return undefined;
  const {key} = (QUOTED.exec(header) ?? BARE.exec(header))?.groups ?? {};
  if (key === undefined) {
    return problem(400, 'invalid_idempotency_key', 'Idempotency-Key must be 1 to 255 printable ASCII characters.', {
      errors: [{detail: 'must be 1 to 255 printable ASCII characters, quoted or not', header: 'Idempotency-Key'}],
    });
  }
  return {key, fingerprint: hash('sha256', body, 'base64url')};
}
