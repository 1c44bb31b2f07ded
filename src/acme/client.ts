/** An ACME client (RFC 8555). Each call is one request: nothing waits or polls, so every step can be resumed. */
import type {KeyObject} from 'node:crypto';
import type {AcmeAccount, AcmeChallenge, AcmeDirectory, Authorization, Order, RenewalWindow} from './objects.ts';

export interface AcmeSettings {
  /** The URL of the directory. Only https. */
  readonly directory: string;
  /** The private key of the account, EC P-256. */
  readonly key: KeyObject;
  /** Verifies the CA's HTTPS server, instead of the system's roots. PEM. */
  readonly caBundle?: string | undefined;
  /** For each request. */
  readonly timeoutMs: number;
  readonly userAgent: string;
}

/** A key that the CA gave out elsewhere, which binds the account to a customer (RFC 8555, section 7.3.4). */
export interface ExternalAccount {
  readonly keyId: string;
  /** Decoded, for HMAC with SHA-256. */
  readonly hmacKey: Uint8Array;
}

export interface NewAccount {
  /** URLs, as in `mailto:ops@example.com`. */
  readonly contact: readonly string[];
  readonly externalAccountBinding?: ExternalAccount | undefined;
  /** Fails with `accountDoesNotExist` instead of creating one. */
  readonly onlyExisting?: boolean | undefined;
}

export interface NewOrder {
  readonly names: readonly string[];
  readonly profile?: string | undefined;
  /** The `renewalIdOf` the certificate that this order replaces (RFC 9773, section 5). */
  readonly replaces?: string | undefined;
}

/** `account`: the URI of the account. */
export class AcmeClient {
  constructor({directory}: AcmeSettings) {
    if (!directory.startsWith('https://'))
      throw new TypeError(`the URL of an ACME directory is https, not ${directory}`);
  }

  async directory(_signal: AbortSignal): Promise<AcmeDirectory> {
    throw new Error('not written yet');
  }

  /** The existing account of the key, if it has one. */
  async createAccount(_account: NewAccount, _signal: AbortSignal): Promise<AcmeAccount> {
    throw new Error('not written yet');
  }

  async createOrder(_account: string, _order: NewOrder, _signal: AbortSignal): Promise<Order> {
    throw new Error('not written yet');
  }

  async order(_account: string, _url: string, _signal: AbortSignal): Promise<Order> {
    throw new Error('not written yet');
  }

  async authorization(_account: string, _url: string, _signal: AbortSignal): Promise<Authorization> {
    throw new Error('not written yet');
  }

  async acceptChallenge(_account: string, _url: string, _signal: AbortSignal): Promise<AcmeChallenge> {
    throw new Error('not written yet');
  }

  /** `csr`: DER. */
  async finalize(_account: string, _order: Order, _csr: Uint8Array, _signal: AbortSignal): Promise<Order> {
    throw new Error('not written yet');
  }

  /** The chain in PEM, leaf first. `preferredChain`: the common name of the root's subject. */
  async certificate(
    _account: string,
    _order: Order,
    _preferredChain: string | undefined,
    _signal: AbortSignal,
  ): Promise<string> {
    throw new Error('not written yet');
  }

  async deactivateAuthorization(_account: string, _url: string, _signal: AbortSignal): Promise<void> {
    throw new Error('not written yet');
  }

  /** From then on, the account answers only to the new key: create another client with it. */
  async changeKey(_account: string, _newKey: KeyObject, _signal: AbortSignal): Promise<void> {
    throw new Error('not written yet');
  }

  async renewalInfo(_certificateId: string, _signal: AbortSignal): Promise<RenewalWindow> {
    throw new Error('not written yet');
  }

  async close(): Promise<void> {}
}
