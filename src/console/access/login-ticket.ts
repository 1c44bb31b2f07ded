/**
 * Binds a login to the browser that began it. One cookie from before the login has a random value; `state`, `nonce`, and
 * the PKCE verifier are derived from it, so the console keeps nothing for those who never come back, and nobody can fill
 * its memory.
 */
import {createHmac, timingSafeEqual} from 'node:crypto';
import {secret} from './sessions.ts';

/** How long a person may take to sign in. */
export const LOGIN_SECONDS = 600;

export interface LoginSecrets {
  readonly nonce: string;
  readonly verifier: string;
}

export class LoginTickets {
  /** Lives as long as the process. After a restart, a login that is in progress begins again. */
  readonly #key = secret();

  /** A value for the cookie. */
  issue(nowMs: number): string {
    return `${nowMs}.${secret()}`;
  }

  /** Whether a login with this cookie can still end. */
  isCurrent(ticket: string | undefined, nowMs: number): ticket is string {
    const issuedMs = Number(/^(\d{1,15})\.[\w-]{43}$/.exec(ticket ?? '')?.[1] ?? Number.NaN);
    return issuedMs <= nowMs && nowMs < issuedMs + LOGIN_SECONDS * 1000;
  }

  secretsOf(ticket: string): LoginSecrets {
    return {nonce: this.#derive('nonce', ticket), verifier: this.#derive('verifier', ticket)};
  }

  /** Returns with the user from the identity provider, and says where the user wanted to go. */
  stateFor(ticket: string, path: string): string {
    const encoded = Buffer.from(path).toString('base64url');
    return `${this.#derive('state', ticket, encoded)}.${encoded}`;
  }

  /** Undefined: another browser began this login, or somebody changed it. */
  pathIn(state: string, ticket: string): string | undefined {
    const [mac = '', encoded = ''] = state.split('.');
    return isEqual(mac, this.#derive('state', ticket, encoded))
      ? Buffer.from(encoded, 'base64url').toString()
      : undefined;
  }

  #derive(...parts: readonly string[]): string {
    return createHmac('sha256', this.#key).update(parts.join('\n')).digest('base64url');
  }
}

/** Takes the same time wherever the texts differ. */
export function isEqual(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}

/**
 * A path of the console, for a redirect after the login. Anything that a browser would take to another site becomes the
 * first page.
 */
export function localPath(path: string | undefined): string {
  return path !== undefined && path.length <= 1000 && /^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/.test(path) ? path : '/';
}
