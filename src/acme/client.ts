/**
 * A client of an ACME CA (RFC 8555). One call is one request, so every step can be resumed: nothing waits, polls, or is
 * retried, except that a request whose nonce was refused is sent again with the nonce that came with the refusal.
 *
 * Every call rejects with `AcmeError` if the CA refuses, with `CaUnreachable` if there is no answer or none that a CA
 * may give, or with the reason of its signal.
 */
import type {KeyObject} from 'node:crypto';
import type {Dispatcher} from 'undici';
import {type Clock, systemClock} from '../time/clock.ts';
import {abortable} from '../time/deadline.ts';
import {sharedCall} from '../time/shared-call.ts';
import {Answers} from './answers.ts';
import {type CaAnswer, CaConnection, type CaRequest} from './connection.ts';
import {AcmeError} from './errors.ts';
import {jwkOf} from './identifiers.ts';
import {type KeyHeader, keyChangeOf, signEs256, signHs256} from './jws.ts';
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
  /** Signed requests pass it. It may refuse to send them. */
  readonly gate?: Dispatcher.DispatcherComposeInterceptor | undefined;
  readonly clock?: Clock | undefined;
}

/** A key that the CA gave out elsewhere, which binds the account to a customer (RFC 8555, section 7.3.4). */
interface ExternalAccount {
  readonly keyId: string;
  /** Decoded, for HMAC with SHA-256. */
  readonly hmacKey: Uint8Array;
}

interface NewAccount {
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

const MAX_TRIES = 6;
const MAX_NONCES = 32;
/** How long calls use the directory that one of them read. */
const DIRECTORY_MS = 3_600_000;
const PEM_CHAIN = 'application/pem-certificate-chain';

/** `account`: the URI of the account. URLs come from the CA's answers, and must be at the origin of its directory. */
export class AcmeClient {
  readonly #key: KeyObject;
  readonly #directoryUrl: URL;
  readonly #ca: CaConnection;
  readonly #answers: Answers;
  readonly #clock: Clock;
  readonly #closed = new AbortController();
  /** Used from the last to the first, because a CA forgets old ones. */
  readonly #nonces: string[] = [];
  #read: {readonly directory: AcmeDirectory; readonly at: number} | undefined;
  readonly #sharedDirectory = sharedCall(() => this.directory(this.#closed.signal));

  constructor({directory, key, clock = systemClock, ...connection}: AcmeSettings) {
    this.#directoryUrl = new URL(directory);
    if (this.#directoryUrl.protocol !== 'https:') throw new TypeError(`${directory}: an ACME directory needs https`);
    assertSigningKey(key);
    this.#key = key;
    this.#clock = clock;
    this.#ca = new CaConnection(this.#directoryUrl, connection);
    this.#answers = new Answers(this.#ca, () => clock.now());
  }

  /** Whether the URL can be one of this CA: it is at the origin of its directory. */
  has(url: string): boolean {
    return this.#ca.has(url);
  }

  /** Always asks the CA. */
  async directory(signal: AbortSignal): Promise<AcmeDirectory> {
    const directory = this.#answers.directory(await this.#send({method: 'GET', url: this.#directoryUrl}, signal));
    this.#read = {directory, at: this.#clock.monotonic()};
    return directory;
  }

  /** The account of the key, which is created if the CA has none. It is valid. Its contact is that of its creation. */
  async createAccount(account: NewAccount, signal: AbortSignal): Promise<AcmeAccount> {
    const {newAccount: url} = await this.#directory(signal);
    const {contact, externalAccountBinding: binding, onlyExisting = false} = account;
    const jwk = jwkOf(this.#key);
    const payload = {
      termsOfServiceAgreed: true,
      ...(onlyExisting && {onlyReturnExisting: true}),
      ...(contact.length > 0 && {contact}),
      ...(binding && {externalAccountBinding: signHs256(binding.hmacKey, {kid: binding.keyId, url}, jwk)}),
    };
    return this.#answers.account(await this.#post(url, {jwk}, payload, signal));
  }

  /** The CA may return an earlier order of the account for the same names, in any state but `invalid`. */
  async createOrder(account: string, order: NewOrder, signal: AbortSignal): Promise<Order> {
    const {newOrder} = await this.#directory(signal);
    const {names, profile, replaces} = order;
    const payload = {
      identifiers: names.map(value => ({type: 'dns', value})),
      ...(profile !== undefined && {profile}),
      ...(replaces !== undefined && {replaces}),
    };
    const created = this.#answers.order(await this.#post(newOrder, {kid: account}, payload, signal));
    this.#assertNames(created, names);
    return created;
  }

  async order(account: string, url: string, signal: AbortSignal): Promise<Order> {
    const answer = await this.#post(url, {kid: account}, '', signal);
    return this.#answers.order(answer, answer.url.href);
  }

  async authorization(account: string, url: string, signal: AbortSignal): Promise<Authorization> {
    return this.#answers.authorization(await this.#post(url, {kid: account}, '', signal));
  }

  /** Requests the validation of a challenge. */
  async acceptChallenge(account: string, url: string, signal: AbortSignal): Promise<AcmeChallenge> {
    return this.#answers.challenge(await this.#post(url, {kid: account}, {}, signal));
  }

  /** `csr`: DER. */
  async finalize(account: string, order: Order, csr: Uint8Array, signal: AbortSignal): Promise<Order> {
    const payload = {csr: Buffer.from(csr).toString('base64url')};
    const answer = await this.#post(order.finalize, {kid: account}, payload, signal);
    const finalized = this.#answers.order(answer, order.url);
    this.#assertNames(finalized, order.names);
    return finalized;
  }

  /**
   * The chain in PEM, leaf first. For whom and for which key it is, the caller must check.
   *
   * `preferredChain`: the common name of the issuer at the end of the chain. To find it, this sends a request for each
   * of the chains that the CA offers. If none has it, the result is the CA's default.
   */
  async certificate(
    account: string,
    order: Order,
    preferredChain: string | undefined,
    signal: AbortSignal,
  ): Promise<string> {
    const fetchChain = async (url: string) => {
      const answer = await this.#post(url, {kid: account}, '', signal, PEM_CHAIN);
      const chain = this.#answers.chain(answer);
      const root = chain.at(-1)?.toLegacyObject().issuer.CN;
      return {answer, pem: chain.join(''), isPreferred: preferredChain === undefined || root === preferredChain};
    };
    if (order.certificate === undefined) throw this.#ca.unusable('the order has no certificate');
    const {answer, pem, isPreferred} = await fetchChain(order.certificate);
    if (isPreferred) return pem;
    for (const url of this.#answers.alternates(answer)) {
      const alternate = await fetchChain(url.href);
      if (alternate.isPreferred) return alternate.pem;
    }
    return pem;
  }

  /** The CA will validate the name again before the account's next certificate for it. */
  async deactivateAuthorization(account: string, url: string, signal: AbortSignal): Promise<void> {
    await this.#post(url, {kid: account}, {status: 'deactivated'}, signal);
  }

  /**
   * From then on, the account answers only to the new key: create another client with it. Which key the account has,
   * only `createAccount` with `onlyExisting` and each of the keys can tell: if this call fails, the CA may have changed
   * it; and Pebble 2.10.1 reports success when it refuses the key of another account.
   */
  async changeKey(account: string, newKey: KeyObject, signal: AbortSignal): Promise<void> {
    assertSigningKey(newKey);
    const {keyChange} = await this.#directory(signal);
    if (keyChange === undefined) throw this.#ca.unusable('the directory has no "keyChange"');
    const payload = keyChangeOf(account, this.#key, newKey, keyChange);
    await this.#post(keyChange, {kid: account}, payload, signal);
  }

  /** When to renew a certificate. `certificateId`: its `renewalIdOf`. */
  async renewalInfo(certificateId: string, signal: AbortSignal): Promise<RenewalWindow> {
    const {renewalInfo} = await this.#directory(signal);
    if (renewalInfo === undefined) throw this.#ca.unusable('the directory has no "renewalInfo"');
    if (!/^[\w-]+\.[\w-]+$/.test(certificateId))
      throw new TypeError(`${certificateId}: not a certificate's identifier`);
    const url = this.#ca.parse(`${renewalInfo.replace(/\/$/, '')}/${certificateId}`, 'the renewal information');
    return this.#answers.renewalWindow(await this.#send({method: 'GET', url}, signal));
  }

  /** Ends the calls in progress with `CaUnreachable`. */
  async close(): Promise<void> {
    this.#closed.abort(this.#ca.unusable('the client is closed'));
    await this.#ca.close();
  }

  async #directory(signal: AbortSignal): Promise<AcmeDirectory> {
    const isFresh = this.#read && this.#clock.monotonic() - this.#read.at < DIRECTORY_MS;
    return this.#read && isFresh ? this.#read.directory : abortable(this.#sharedDirectory(), signal);
  }

  async #post(
    url: string,
    keyHeader: KeyHeader,
    payload: object | '',
    signal: AbortSignal,
    accept?: string,
  ): Promise<CaAnswer> {
    const target = this.#ca.parse(url, 'the URL to send a signed request to');
    let nonce = this.#nonces.pop() ?? (await this.#newNonce(signal));
    for (let tries = 1; ; tries++) {
      const jws = signEs256(this.#key, {...keyHeader, nonce, url: target.href}, payload);
      const answer = await this.#ca.send({method: 'POST', url: target, body: JSON.stringify(jws), accept}, signal);
      const failure = this.#answers.failureOf(answer);
      const next = this.#answers.nonceOf(answer);
      const isBadNonce = failure instanceof AcmeError && failure.problem.type === 'badNonce';
      if (next !== undefined && isBadNonce && tries < MAX_TRIES) {
        nonce = next;
        continue;
      }
      if (next !== undefined) this.#keep(next);
      if (failure) throw failure;
      return answer;
    }
  }

  /** Without a signature. */
  async #send(request: CaRequest, signal: AbortSignal): Promise<CaAnswer> {
    const answer = await this.#ca.send(request, signal);
    const failure = this.#answers.failureOf(answer);
    if (failure) throw failure;
    return answer;
  }

  async #newNonce(signal: AbortSignal): Promise<string> {
    const {newNonce} = await this.#directory(signal);
    const url = this.#ca.parse(newNonce, '"newNonce"');
    const nonce = this.#answers.nonceOf(await this.#send({method: 'HEAD', url}, signal));
    if (nonce === undefined) throw this.#ca.unusable('no nonce came from "newNonce"');
    return nonce;
  }

  #keep(nonce: string): void {
    this.#nonces.push(nonce);
    if (this.#nonces.length > MAX_NONCES) this.#nonces.shift();
  }

  #assertNames(order: Order, names: readonly string[]): void {
    const wanted = [...new Set(names.map(name => name.toLowerCase()))].sort();
    if (order.names.join() !== wanted.join()) {
      throw this.#ca.unusable(`the order is for ${order.names.join(', ')} instead of ${wanted.join(', ')}`);
    }
  }
}

function assertSigningKey(key: KeyObject): void {
  if (key.type !== 'private' || key.asymmetricKeyDetails?.namedCurve !== 'prime256v1') {
    throw new TypeError('the key of an ACME account must be a private key on P-256');
  }
}
