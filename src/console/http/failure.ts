/** What a user sees if the API server does not do what a page needs. */
import {LogSample} from '../../operations/log-sample.ts';
import {ApiError, isForbidden, isNotFound, TransportError} from '../../runtime/kube/errors.ts';
import {DeadlineError} from '../../time/deadline.ts';
import type {UserSession} from '../access/sessions.ts';
import {html} from '../pages/html.ts';
import {messagePage} from '../pages/layout.ts';
import type {ConsoleParts, RequestContext} from './env.ts';
import {signInAgain} from './guard.ts';

export function failurePages(parts: ConsoleParts) {
  const logSample = new LogSample();
  return (error: unknown, context: RequestContext) => failurePage(error, context, parts, logSample);
}

function failurePage(error: unknown, context: RequestContext, parts: ConsoleParts, logSample: LogSample) {
  const {config, logger, sessions, clock} = parts;
  const session = context.get('session') as UserSession | undefined;
  if (error instanceof ApiError && error.status === 401 && session) {
    sessions.end(session.id);
    return signInAgain(context);
  }
  if (isForbidden(error)) return notYours(context, config.help);
  if (isNotFound(error)) return notFound(context);
  const again =
    context.req.method === 'GET'
      ? html`<p><a href="">Try again</a></p>`
      : html`<p><a href="/">Go to your projects</a></p>`;
  const more = logSample.take(session?.user ?? 'strangers', clock.monotonic());
  if (error instanceof TransportError || error instanceof DeadlineError || error instanceof ApiError) {
    if (more) logger.warn({err: error, ...more}, 'The API server did not serve a page.');
    const text = `The Kubernetes API server did not answer as it should. If this lasts, tell ${config.help}.`;
    return context.html(messagePage('Not available now', text, again, session), 503);
  }
  if (more) logger.error({err: error, path: context.req.path, ...more}, 'A request failed unexpectedly.');
  return context.html(
    messagePage('Something failed', `This is a fault of the console. Tell ${config.help}.`, again, session),
    500,
  );
}

export function notFound(context: RequestContext) {
  const text = 'There is no such page, or the project was deleted.';
  return context.html(messagePage('Not found', text, html`<p><a href="/">Go to your projects</a></p>`), 404);
}

export function notYours(context: RequestContext, help: string) {
  const text = `You do not have the right to see this, or it does not exist. Ask ${help}.`;
  const home = html`<p><a href="/">Go to your projects</a></p>`;
  return context.html(messagePage('Not yours to see', text, home, context.get('session')), 403);
}
