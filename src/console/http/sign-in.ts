/** Sign-in and sign-out. */
import {Hono} from 'hono';
import {deleteCookie, getCookie, setCookie} from 'hono/cookie';
import {DOMAIN} from '../../operator/kinds/kinds.ts';
import {ApiError} from '../../runtime/kube/errors.ts';
import {LOGIN_SECONDS, localPath} from '../access/login-ticket.ts';
import type {SignedIn} from '../access/user-client.ts';
import {html} from '../pages/html.ts';
import {messagePage} from '../pages/layout.ts';
import {mayI, whoAmI} from '../projects/read.ts';
import {COOKIE, type ConsoleParts, type Env, LOGIN_COOKIE, type RequestContext, SESSION_COOKIE} from './env.ts';
import {foreignForm, formOf, signedIn} from './guard.ts';

const AGAIN = html`<p><a href="/">Sign in again</a></p>`;

export function signInRoutes(parts: ConsoleParts): Hono<Env> {
  const {sessions, tickets, provider, clock} = parts;
  const app = new Hono<Env>();

  app.get('/sign-in', async context => {
    const path = localPath(context.req.query('to'));
    const now = clock.now();
    const known = getCookie(context, LOGIN_COOKIE, 'host');
    // Two tabs share the cookie, so neither login ends the other.
    const ticket = tickets.isCurrent(known, now) ? known : tickets.issue(now);
    setCookie(context, LOGIN_COOKIE, ticket, {...COOKIE, maxAge: LOGIN_SECONDS});
    return context.redirect(await provider.loginUrl(tickets.secretsOf(ticket), tickets.stateFor(ticket, path)), 303);
  });

  app.get('/callback', async context => {
    const ticket = getCookie(context, LOGIN_COOKIE, 'host');
    const state = context.req.query('state') ?? '';
    const path = tickets.isCurrent(ticket, clock.now()) ? tickets.pathIn(state, ticket) : undefined;
    if (ticket === undefined || path === undefined) {
      const text = 'This sign-in took too long, or began in another browser.';
      return context.html(messagePage('Not signed in', text, AGAIN), 400);
    }
    // The cookie stays until it expires: another tab may be signing in with it. The provider accepts each code once.
    return await signIn(context, parts, new URL(context.req.url).search, {ticket, state, path});
  });

  app.post('/sign-out', signedIn(parts), async context => {
    if ((await formOf(context)) === undefined) return foreignForm(context);
    sessions.end(context.get('session').id);
    deleteCookie(context, SESSION_COOKIE, COOKIE);
    return context.redirect(provider.logoutUrl ?? '/signed-out', 303);
  });

  app.get('/signed-out', context => context.html(messagePage('Signed out', 'Your session here has ended.', AGAIN)));

  return app;
}

interface Login {
  readonly ticket: string;
  readonly state: string;
  readonly path: string;
}

async function signIn(context: RequestContext, parts: ConsoleParts, query: string, {ticket, state, path}: Login) {
  const {sessions, tickets, provider, logger, clock} = parts;
  const answer = await provider.complete(query, tickets.secretsOf(ticket), state).catch((err: unknown) => {
    // The error of the library may have the response; the message has no secret.
    logger.warn(
      {reason: err instanceof Error ? err.message : String(err)},
      'A sign-in failed at the identity provider.',
    );
    return undefined;
  });
  if (answer === undefined || answer.expiresAtMs <= clock.now()) {
    const text = 'The identity provider did not confirm who you are.';
    return context.html(messagePage('Not signed in', text, AGAIN), 403);
  }
  const former = getCookie(context, SESSION_COOKIE, 'host');
  if (former !== undefined) sessions.end(former);
  // Always a new id, so an id that somebody else has put into the browser is worth nothing.
  const session = sessions.begin(answer);
  try {
    await whoAmI(session.client, session.signal);
    session.mayListAll = await mayI(session.client, 'list', DOMAIN, undefined, session.signal);
  } catch (error) {
    sessions.end(session.id);
    if (error instanceof ApiError && error.status === 401) return refusedToken(context, parts, answer);
    throw error;
  }
  setCookie(context, SESSION_COOKIE, session.id, COOKIE);
  return context.redirect(path, 303);
}

/** The API server says no more than 401, so this says what must be true. */
function refusedToken(context: RequestContext, {config, logger}: ConsoleParts, {user}: SignedIn) {
  const {issuer, clientId} = config.oidc;
  const needed = `Its AuthenticationConfiguration must list the issuer ${issuer} with the audience ${clientId}, the certificate authority of that issuer, and claim mappings that fit this user`;
  logger.error({user, issuer, audience: clientId}, `The API server does not accept the ID token. ${needed}.`);
  const text = `The Kubernetes API server does not accept you. ${needed}. Ask ${config.help}.`;
  return context.html(messagePage('Not signed in', text, AGAIN), 403);
}
