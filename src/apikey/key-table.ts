/** Keys from a file of hashes: for tests, and for a machine without Kubernetes. */
import type {ConfigDefinition} from '../config/load-config.ts';
import {type Authenticator, type Principal, SCOPES, type Scope} from './authenticator.ts';
import {digestOf} from './format.ts';

interface KeyTableEntry {
  readonly account: string;
  /** Names the key in logs. */
  readonly keyId: string;
  /** SHA-256 of the key, in hexadecimal. */
  readonly sha256: string;
  readonly scopes: readonly Scope[];
}

interface KeyTable {
  readonly keys: readonly KeyTableEntry[];
}

export function createKeyTable({keys}: KeyTable): Authenticator {
  const principals = new Map<string, Principal>(
    keys.map(({account, keyId, sha256, scopes}) => [sha256.toLowerCase(), {account, keyId, scopes: new Set(scopes)}]),
  );
  return {
    authenticate: key => principals.get(digestOf(key)) ?? {refused: 'invalid'},
    problem: () => undefined,
  };
}

/** For `loadConfig`. */
export const keyTableDefinition: ConfigDefinition<KeyTable> = {
  schema: {
    type: 'object',
    additionalProperties: false,
    required: ['keys'],
    properties: {
      keys: {
        type: 'array',
        items: {
          type: 'object',
          additionalProperties: false,
          required: ['account', 'keyId', 'sha256'],
          properties: {
            account: {type: 'string', minLength: 1, title: 'the name of an account'},
            keyId: {type: 'string', minLength: 1, title: 'a name for the key'},
            sha256: {type: 'string', pattern: '^[0-9a-fA-F]{64}$', title: 'the SHA-256 of the key in hexadecimal'},
            scopes: {type: 'array', items: {type: 'string', enum: SCOPES}, default: SCOPES},
          },
        },
      },
    },
  },
};
