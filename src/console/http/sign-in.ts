/** Sign-in and sign-out. */
import {Hono} from 'hono';
import {deleteCookie, getCookie, setCookie} from 'hono/cookie';
import {LogSample} from '../../operations/log-sample.ts';
import {Strangers} from '../../operations/strangers.ts';
import {DOMAIN} from '../../operator/kinds/kinds.ts';
import {ApiError} from '../../runtime/kube/errors.ts';
import {LOGIN_SECONDS, localPath} from '../access/login-ticket.ts';
import type {SignedIn} from '../access/user-client.ts';
import {html} from '../pages/html.ts';
import {messagePage} from '../pages/layout.ts';
import {mayI, whoAmI} from '../projects/read.ts';
import {COOKIE, type ConsoleParts, type Env, LOGIN_COOKIE, type RequestContext, SESSION_COOKIE} from './env.ts';
import {addressOf, foreignForm, formOf, signedIn} from './guard.ts';

/**
 * Of requests that cost one at the identity provider. Anybody can begin a login and then send any code. An office that
 * loads all its pages after a restart is one address.
 */
const LIMITS = {requestsPerSecond: 100, addressRequestsPerSecond: 20};

const AGAIN = html`<p><a href="/">Sign in again</a></p>`;

export function signInRoutes(parts: ConsoleParts): Hono<Env> {
  const {sessions, tickets, provider, clock} = parts;
  const strangers = new Strangers(LIMITS);
  const logSample = new LogSample();
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
    if (strangers.take(addressOf(context), clock.monotonic()) > 0) {
      const text = 'Too many people are signing in from your network, or in total. Wait a moment.';
      return context.html(messagePage('Not signed in', text, AGAIN), 429, {'retry-after': '5'});
    }
    // The cookie stays until it expires: another tab may be signing in with it. The provider accepts each code once.
    return await signIn(context, {...parts, logSample}, new URL(context.req.url).search, {ticket, state, path});
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

interface SignInParts extends ConsoleParts {
  readonly logSample: LogSample;
}

async function signIn(context: RequestContext, parts: SignInParts, query: string, {ticket, state, path}: Login) {
  const {sessions, act, tickets, provider, clock} = parts;
  const answer = await provider.complete(query, tickets.secretsOf(ticket), state).catch((err: unknown) => {
    // The error of the library may have the response; the message has no secret.
    log(parts, 'warn', 'A sign-in failed at the identity provider.', {
      reason: err instanceof Error ? err.message : String(err),
    });
    return undefined;
  });
  if (answer === undefined || answer.expiresAtMs <= clock.now()) {
    const text = 'The identity provider did not confirm who you are.';
    return context.html(messagePage('Not signed in', text, AGAIN), 403);
  }
  const {signal} = context.req.raw;
  const client = act(answer);
  let mayListAll: boolean;
  try {
    await whoAmI(client, signal);
    mayListAll = await mayI(client, 'list', DOMAIN, undefined, signal);
  } catch (error) {
    void client.close();
    if (error instanceof ApiError && error.status === 401) return refusedToken(context, parts, answer);
    throw error;
  }
  const former = getCookie(context, SESSION_COOKIE, 'host');
  if (former !== undefined) sessions.end(former);
  // Always a new id, so an id that somebody else has put into the browser is worth nothing. It begins only now: an
  // account of the identity provider that the API server refuses must not end a session of somebody else.
  const session = sessions.begin(answer, client, mayListAll);
  setCookie(context, SESSION_COOKIE, session.id, COOKIE);
  return context.redirect(path, 303);
}

/** Anybody can cause these lines. */
function log({logger, logSample, clock}: SignInParts, level: 'warn' | 'error', message: string, fields: object): void {
  const more = logSample.take('strangers', clock.monotonic());
  if (more) logger[level]({...fields, ...more}, message);
}

/** The API server says no more than 401, so this says what must be true. */
function refusedToken(context: RequestContext, parts: SignInParts, {user}: SignedIn) {
  const {help, oidc} = parts.config;
  const {issuer, clientId} = oidc;
  const needed = `Its AuthenticationConfiguration must list the issuer ${issuer} with the audience ${clientId}, the certificate authority of that issuer, and claim mappings that fit this user`;
  const problem = `The API server does not accept the ID token. ${needed}.`;
  log(parts, 'error', problem, {user, issuer, audience: clientId});
  const text = `The Kubernetes API server does not accept you. ${needed}. Ask ${help}.`;
  return context.html(messagePage('Not signed in', text, AGAIN), 403);
}
