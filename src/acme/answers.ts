/** Reads what a CA answered. Throws `CaUnreachable` for what no CA may answer. */
import {X509Certificate} from 'node:crypto';
import type {CaAnswer, CaConnection} from './connection.ts';
import {AcmeError, type CaUnreachable, printableAscii, problemOf, recordOf} from './errors.ts';
import type {AcmeAccount, AcmeChallenge, AcmeDirectory, Authorization, Order, RenewalWindow} from './objects.ts';

/** Of orders, and so of authorizations. */
const MAX_NAMES = 100;
const MAX_CHALLENGES = 20;
const MAX_CERTIFICATES = 10;
const MAX_ALTERNATES = 8;
const MAX_SHORT_TEXT = 64;
/** Let's Encrypt has no longer window. */
const MAX_RETRY_AFTER_MS = 7 * 86_400_000;

const NAME = /^(?=.{1,255}$)(\*\.)?[a-z0-9_-]+(\.[a-z0-9_-]+)*$/;
const TOKEN = /^[A-Za-z0-9_-]{1,256}$/;
const NONCE = /^[A-Za-z0-9_-]{1,256}$/;
const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;
const RFC_3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$/;
const PEM = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/g;

const ORDER_STATES = ['pending', 'ready', 'processing', 'valid', 'invalid'] as const;
const AUTHORIZATION_STATES = ['pending', 'valid', 'invalid', 'deactivated', 'expired', 'revoked'] as const;
const CHALLENGE_STATES = ['pending', 'processing', 'valid', 'invalid'] as const;
const ACCOUNT_STATES = ['valid', 'deactivated', 'revoked'] as const;

/** The status codes that say everything that a client needs to know of a resource. */
const TELLING: ReadonlySet<number> = new Set([404, 409, 410]);

/** The reader of one CA's answers. `now`: the wall clock, for dates of CAs that do not send theirs. */
export class Answers {
  readonly #ca: CaConnection;
  readonly #now: () => number;

  constructor(ca: CaConnection, now: () => number) {
    this.#ca = ca;
    this.#now = now;
  }

  /** Why the answer is none, if so. */
  failureOf(answer: CaAnswer): AcmeError | CaUnreachable | undefined {
    const {status} = answer;
    if (status >= 200 && status < 300) return undefined;
    const retryAfterMs = this.#retryAfterMs(answer);
    const json = jsonOf(answer);
    const problem = problemOf(json);
    if (problem && status >= 400) return new AcmeError(problem, status, retryAfterMs);
    const what = `HTTP ${status} from ${answer.url.pathname}`;
    if (!TELLING.has(status)) return this.#ca.unusable(`${what}, which is no answer of ACME`, retryAfterMs);
    return new AcmeError({type: 'about:blank', detail: printableAscii(what)}, status, retryAfterMs);
  }

  nonceOf(answer: CaAnswer): string | undefined {
    const nonce = answer.header('replay-nonce');
    return nonce !== undefined && NONCE.test(nonce) ? nonce : undefined;
  }

  directory(answer: CaAnswer): AcmeDirectory {
    const body = this.#body(answer, 'directory');
    return {
      newNonce: this.#url(body, 'newNonce'),
      newAccount: this.#url(body, 'newAccount'),
      newOrder: this.#url(body, 'newOrder'),
      ...(body.keyChange !== undefined && {keyChange: this.#url(body, 'keyChange')}),
      ...(body.renewalInfo !== undefined && {renewalInfo: this.#url(body, 'renewalInfo')}),
    };
  }

  /** Throws an AcmeError if the account is not valid anymore. Some CAs refuse only what such an account requests. */
  account(answer: CaAnswer): AcmeAccount {
    const body = this.#body(answer, 'account');
    const [uri, status] = [this.#location(answer), this.#oneOf(body, 'status', ACCOUNT_STATES)];
    if (status === 'valid') return {uri};
    const detail = printableAscii(`the account ${uri} is ${status}`);
    throw new AcmeError({type: 'unauthorized', detail}, answer.status, undefined);
  }

  /** `url`: of the order, if the answer does not name it. */
  order(answer: CaAnswer, url?: string): Order {
    const body = this.#body(answer, 'order');
    const authorizations = this.#list(body, 'authorizations', MAX_NAMES);
    const error = problemOf(body.error);
    return {
      url: url ?? this.#location(answer),
      status: this.#oneOf(body, 'status', ORDER_STATES),
      names: this.#list(body, 'identifiers', MAX_NAMES)
        .map(identifier => this.#name(identifier))
        .sort(),
      authorizations: authorizations.map(authorization => this.#ca.parse(authorization, 'an authorization').href),
      finalize: this.#url(body, 'finalize'),
      ...(body.certificate !== undefined && {certificate: this.#url(body, 'certificate')}),
      ...(error && {error}),
      retryAfterMs: this.#retryAfterMs(answer),
    };
  }

  authorization(answer: CaAnswer): Authorization {
    const body = this.#body(answer, 'authorization');
    const challenges = this.#list(body, 'challenges', MAX_CHALLENGES);
    return {
      status: this.#oneOf(body, 'status', AUTHORIZATION_STATES),
      challenges: challenges.map(challenge => this.#challenge(recordOf(challenge))),
      retryAfterMs: this.#retryAfterMs(answer),
    };
  }

  challenge(answer: CaAnswer): AcmeChallenge {
    return this.#challenge(this.#body(answer, 'challenge'));
  }

  /** The chain, as its certificates in PEM and nothing else. */
  chain({text}: CaAnswer): readonly X509Certificate[] {
    const blocks = text.match(PEM) ?? [];
    const isPlain = text.replace(PEM, '').trim() === '';
    if (blocks.length === 0 || blocks.length > MAX_CERTIFICATES || !isPlain) {
      throw this.#ca.unusable('the certificate is not a chain in PEM');
    }
    try {
      return blocks.map(block => new X509Certificate(block));
    } catch (error) {
      throw this.#ca.unusable('the chain has a certificate that cannot be read', undefined, error);
    }
  }

  /** The URLs of other chains for the same certificate (RFC 8555, section 7.4.2). */
  alternates(answer: CaAnswer): readonly URL[] {
    const links = answer.headers('link').flatMap(value => value.split(/,(?=\s*<)/));
    const alternate = links.filter(link => /;\s*rel\s*=\s*"?alternate"?\s*(;|$)/i.test(link));
    return alternate.slice(0, MAX_ALTERNATES).map(link => {
      const [, url] = /^\s*<([^>]*)>/.exec(link) ?? [];
      return this.#ca.parse(url, 'the link to an alternate chain', answer.url);
    });
  }

  renewalWindow(answer: CaAnswer): RenewalWindow {
    const {suggestedWindow} = this.#body(answer, 'renewal information');
    const {start, end} = recordOf(suggestedWindow);
    const [startMs, endMs] = [instantOf(start), instantOf(end)];
    if (!(startMs < endMs)) throw this.#ca.unusable('the suggested window of renewal is none');
    return {startMs, endMs, retryAfterMs: this.#retryAfterMs(answer)};
  }

  #challenge(body: Readonly<Record<string, unknown>>): AcmeChallenge {
    const {type, token = ''} = body;
    const error = problemOf(body.error);
    if (typeof type !== 'string') throw this.#ca.unusable('a challenge has no type');
    if (typeof token !== 'string' || (token !== '' && !TOKEN.test(token))) {
      throw this.#ca.unusable('the token of a challenge is not base64url');
    }
    return {
      type: printableAscii(type, MAX_SHORT_TEXT),
      url: this.#url(body, 'url'),
      status: this.#oneOf(body, 'status', CHALLENGE_STATES),
      token,
      ...(error && {error}),
    };
  }

  #body(answer: CaAnswer, what: string): Readonly<Record<string, unknown>> {
    const json = jsonOf(answer);
    if (typeof json !== 'object' || json === null) throw this.#ca.unusable(`the ${what} is not JSON`);
    return recordOf(json);
  }

  #location(answer: CaAnswer): string {
    return this.#ca.parse(answer.header('location'), 'the header Location', answer.url).href;
  }

  #url(body: Readonly<Record<string, unknown>>, name: string): string {
    return this.#ca.parse(body[name], `"${name}"`).href;
  }

  #oneOf<T extends string>(body: Readonly<Record<string, unknown>>, name: string, values: readonly T[]): T {
    const found = values.find(value => value === body[name]);
    if (found === undefined) throw this.#ca.unusable(`"${name}" is not one of ${values.join(', ')}`);
    return found;
  }

  #list(body: Readonly<Record<string, unknown>>, name: string, max: number): readonly unknown[] {
    const list = body[name];
    if (!Array.isArray(list)) throw this.#ca.unusable(`"${name}" is not a list`);
    if (list.length > max) throw this.#ca.unusable(`"${name}" has more than ${max} items`);
    return list;
  }

  #name(identifier: unknown): string {
    const {type, value} = recordOf(identifier);
    const name = typeof value === 'string' ? value.toLowerCase() : '';
    if (type !== 'dns' || !NAME.test(name)) throw this.#ca.unusable('an identifier is not a host');
    return name;
  }

  /** From seconds or an HTTP date (RFC 9110, section 10.2.3), at least 0 and at most a week. */
  #retryAfterMs(answer: CaAnswer): number | undefined {
    const value = answer.header('retry-after');
    if (value === undefined) return undefined;
    if (/^\d+$/.test(value)) return Math.min(Number(value) * 1000, MAX_RETRY_AFTER_MS);
    if (!HTTP_DATE.test(value)) return undefined;
    const date = Date.parse(answer.header('date') ?? ''); // The clock of the CA, since it computed the other date.
    const waitMs = Date.parse(value) - (Number.isNaN(date) ? this.#now() : date);
    return Number.isNaN(waitMs) ? undefined : Math.min(Math.max(0, waitMs), MAX_RETRY_AFTER_MS);
  }
}

/** `undefined` if it is not JSON. */
function jsonOf(answer: CaAnswer): unknown {
  if (!/^application\/([\w.-]+\+)?json\b/i.test(answer.header('content-type') ?? '')) return undefined;
  try {
    return JSON.parse(answer.text);
  } catch {
    return undefined;
  }
}

function instantOf(value: unknown): number {
  return typeof value === 'string' && RFC_3339.test(value) ? Date.parse(value) : Number.NaN;
}
