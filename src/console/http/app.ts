/** The console as a function from requests to responses, without a socket. */
import {Hono} from 'hono';
import {bodyLimit} from 'hono/body-limit';
import {ASSETS} from '../pages/assets.ts';
import {messagePage} from '../pages/layout.ts';
import {CurrentRights} from './current-rights.ts';
import type {ConsoleParts, Env} from './env.ts';
import {failurePages, notFound} from './failure.ts';
import {fewAtATime, sameOrigin, securityHeaders, signedIn, usersTakeTurns} from './guard.ts';
import {liveRoutes} from './live.ts';
import {platformRoutes} from './platform-routes.ts';
import {projectRoutes} from './project-routes.ts';
import {signInRoutes} from './sign-in.ts';

/** More than any form of ours. */
const MAX_FORM_BYTES = 16_384;

export function createConsole(parts: ConsoleParts): Hono<Env> {
  const {config, provider} = parts;
  const {logoutUrl} = provider;
  const app = new Hono<Env>();
  app.use(securityHeaders(logoutUrl === undefined ? [] : [new URL(logoutUrl).origin]));
  app.use(sameOrigin(config.url));
  app.use(
    bodyLimit({
      maxSize: MAX_FORM_BYTES,
      onError: context => context.html(messagePage('Not accepted', 'This form is too long.'), 413),
    }),
  );
  for (const {path, type, content} of ASSETS) {
    app.get(path, context => {
      const headers = {'content-type': type, 'cache-control': 'public, max-age=31536000, immutable'};
      return context.body(content, 200, headers);
    });
  }
  app.route('/', signInRoutes(parts));
  app.use(signedIn(parts));
  app.use(fewAtATime());
  app.use(usersTakeTurns());
  const current = new CurrentRights(parts.clock);
  app.route('/', liveRoutes(parts, current));
  app.route('/', projectRoutes(parts, current));
  app.route('/', platformRoutes(parts));
  app.notFound(context => notFound(context));
  app.onError(failurePages(parts));
  return app;
}
