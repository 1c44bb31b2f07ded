/** Rules for every request and every response, whatever its route. */
import {isIP} from 'node:net';
import {getConnInfo} from '@hono/node-server/conninfo';
import type {MiddlewareHandler} from 'hono';
import {getCookie} from 'hono/cookie';
import {FairQueue} from '../../fairness/fair-queue.ts';
import {isEqual} from '../access/login-ticket.ts';
import {html} from '../pages/html.ts';
import {FORM_TOKEN, messagePage} from '../pages/layout.ts';
import {type ConsoleParts, type Env, type RequestContext, SESSION_COOKIE} from './env.ts';

/**
 * `formTargets`: origins to which a form's response may redirect. The referrer policy is not `no-referrer`, because
 * browsers then send `Origin: null` with every form.
 */
export function securityHeaders(formTargets: readonly string[]): MiddlewareHandler<Env> {
  const policy = [
    "default-src 'none'",
    "style-src 'self'",
    "script-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    `form-action ${["'self'", ...formTargets].join(' ')}`,
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; ');
  const headers = {
    'content-security-policy': policy,
    'referrer-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'strict-transport-security': 'max-age=31536000',
    'permissions-policy': 'camera=(), geolocation=(), microphone=()',
  };
  return async (context, next) => {
    await next();
    for (const [name, value] of Object.entries(headers)) context.res.headers.set(name, value);
    if (!context.res.headers.has('cache-control')) context.res.headers.set('cache-control', 'no-store');
  };
}

/**
 * A form comes from our own pages, or it is refused before anything is read. Another site may link to a page. It may not
 * frame one, or load it with the user's cookie, which browsers also send from a sibling of the console's host.
 */
export function sameOrigin(url: string): MiddlewareHandler<Env> {
  return async (context, next) => {
    const header = (name: string) => context.req.header(name);
    const site = header('sec-fetch-site');
    const isOwn = site === undefined || site === 'same-origin';
    if (context.req.method === 'GET' || context.req.method === 'HEAD') {
      const isLink = header('sec-fetch-mode') === 'navigate' && header('sec-fetch-dest') === 'document';
      if (isOwn || site === 'none' || isLink) return await next();
      return context.html(messagePage('Not accepted', 'Another site has requested this page. Open it directly.'), 403);
    }
    if (header('origin') === url && isOwn) return await next();
    return context.html(
      messagePage('Not accepted', 'This form does not come from this site. Nothing was changed.'),
      403,
    );
  };
}

/**
 * The browser's address, as the edge saw it: an edge replaces this header or adds an entry, so what a browser writes
 * into it is never the last. Without the header, the address of the connection.
 */
export function addressOf(context: RequestContext): string {
  const seen = context.req.header('x-forwarded-for')?.split(',').at(-1)?.trim() ?? '';
  return isIP(seen) === 0 ? (getConnInfo(context).remote.address ?? '') : seen;
}

/** Finds the session. Without one, a page leads to the sign-in, and a form says that it was not sent. */
export function signedIn({sessions}: ConsoleParts): MiddlewareHandler<Env> {
  return async (context, next) => {
    const session = sessions.find(getCookie(context, SESSION_COOKIE, 'host'));
    if (session) {
      context.set('session', session);
      return await next();
    }
    return signInAgain(context);
  };
}

/** A user's requests in progress, so that the pages of one cannot delay those of all others for long. */
const BUSY = 12;

export function fewAtATime(): MiddlewareHandler<Env> {
  const busy = new Map<string, number>();
  return async (context, next) => {
    const {user} = context.get('session');
    const others = busy.get(user) ?? 0;
    if (others >= BUSY) {
      const text = `${BUSY} of your pages are loading already. Load this one again in a moment.`;
      return context.html(messagePage('Too many requests', text), 429, {'retry-after': '1'});
    }
    busy.set(user, others + 1);
    try {
      return await next();
    } finally {
      const left = (busy.get(user) ?? 1) - 1;
      if (left > 0) busy.set(user, left);
      else busy.delete(user);
    }
  };
}

/**
 * Requests in progress in total. Each may hold a page of a list, which is long if a tenant wants it to be, and they
 * share the memory of one pod. The others wait, and users take turns.
 */
const BUSY_IN_TOTAL = 6;

export function usersTakeTurns(): MiddlewareHandler<Env> {
  const waiting = new FairQueue<() => void>();
  let busy = 0;
  let count = 0;
  return async (context, next) => {
    const {user} = context.get('session');
    if (busy >= BUSY_IN_TOTAL) {
      await new Promise<void>(resolve => {
        waiting.add(user, `${++count}`, resolve);
      });
    } else {
      busy += 1;
    }
    try {
      return await next();
    } finally {
      const [, begin] = waiting.takeFirst() ?? [];
      // The next one takes the place of this one.
      if (begin) begin();
      else busy -= 1;
    }
  };
}

export function signInAgain(context: RequestContext): Response | Promise<Response> {
  const {pathname, search} = new URL(context.req.url);
  // A stream cannot follow a redirect to another site.
  if (context.req.header('accept')?.includes('text/event-stream')) return context.body(null, 204);
  if (context.req.method === 'GET') {
    return context.redirect(`/sign-in?${new URLSearchParams({to: `${pathname}${search}`})}`, 303);
  }
  const again = html`<p><a href="/">Sign in again</a>, then repeat the change.</p>`;
  return context.html(messagePage('Your session has ended', 'Nothing was changed.', again), 401);
}

/** The fields of a form that belongs to this session. Undefined otherwise, also if another session's page had it. */
export async function formOf(context: RequestContext): Promise<Readonly<Record<string, string>> | undefined> {
  const parsed = await context.req.parseBody();
  const fields = Object.fromEntries(
    Object.entries(parsed).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
  return isEqual(fields[FORM_TOKEN] ?? '', context.get('session').formToken) ? fields : undefined;
}

export function foreignForm(context: RequestContext): Response | Promise<Response> {
  const again = html`<p><a href="/">Load the page again</a>, then repeat the change.</p>`;
  return context.html(
    messagePage('Not accepted', 'This form is from another session. Nothing was changed.', again),
    403,
  );
}
