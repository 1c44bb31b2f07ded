/** What the routes share. */
import type {Context} from 'hono';
import type {Logger} from 'pino';
import type {Clock} from '../../time/clock.ts';
import type {IdentityProvider} from '../access/identity-provider.ts';
import type {LoginTickets} from '../access/login-ticket.ts';
import type {Sessions, UserSession} from '../access/sessions.ts';
import type {ActAsUser} from '../access/user-client.ts';
import type {ConsoleConfig} from '../generated/config.ts';

export interface ConsoleParts {
  readonly config: ConsoleConfig;
  readonly sessions: Sessions;
  readonly act: ActAsUser;
  readonly tickets: LoginTickets;
  readonly provider: IdentityProvider;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface Env {
  Variables: {session: UserSession};
}
export type RequestContext = Context<Env>;

export const SESSION_COOKIE = 'nameplate-console';
export const LOGIN_COOKIE = 'nameplate-login';
/** Lax: the identity provider's redirect must bring the login's cookie. */
export const COOKIE = {prefix: 'host', path: '/', secure: true, httpOnly: true, sameSite: 'Lax'} as const;

/** Of the request that a handler answers: it ends if the browser leaves. */
export function signalOf(context: RequestContext): AbortSignal {
  return AbortSignal.any([context.req.raw.signal, context.get('session').signal]);
}
