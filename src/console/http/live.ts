/**
 * Keeps an open page of a Project current, by server-sent events from one watch in its namespace, with the user's
 * token. The watch begins at the resourceVersion that the page shows, so nothing is sent twice, and a browser that
 * connects again continues where it was. The stream ends with the session. The API server checks the right to watch only
 * once, so it is asked again each minute.
 */
import {Hono} from 'hono';
import {type SSEStreamingApi, streamSSE} from 'hono/streaming';
import {hostNamed} from '../../api/host-names.ts';
import {DOMAIN, type Domain, PROJECT, type Project} from '../../operator/kinds/kinds.ts';
import {ApiError} from '../../runtime/kube/errors.ts';
import type {UserSession} from '../access/sessions.ts';
import {hostCard, hostRow} from '../pages/host.ts';
import {hostId} from '../pages/paths.ts';
import {adviceFor, contextOf} from '../pages/project.ts';
import {isName} from '../projects/names.ts';
import {mayI, ofProject, type Place, type Rights, rightsIn, withoutNotes} from '../projects/read.ts';
import {type ConsoleParts, type Env, type RequestContext, signalOf} from './env.ts';
import {notFound} from './failure.ts';

/** The longest watch. The browser then connects again. */
const WATCH_MS = 600_000;
const RECHECK_MS = 60_000;
/** When a browser connects again if the API server does not answer. */
const RETRY_MS = 15_000;
/** The API server sends a bookmark each minute. */
const IDLE_MS = 150_000;
/** Changes within this time are one event per host, so fast changes cost the others nothing. */
const PACE_MS = 1000;
/** Changed hosts that wait for a slow reader. With more, the page must be loaded again. */
const MAX_WAITING = 200;

interface Page {
  readonly session: UserSession;
  readonly place: Place;
  readonly project: Project;
  readonly rights: Rights;
}

interface HostEvent {
  readonly id: string;
  /** Empty: the host is gone. */
  readonly card: string;
  readonly row: string;
}

type Pause = (ms: number) => Promise<void>;

export function liveRoutes(parts: ConsoleParts): Hono<Env> {
  const {config} = parts;
  const app = new Hono<Env>();
  app.get('/namespaces/:namespace/projects/:project/events', async context => {
    const {namespace, project} = context.req.param();
    const from = context.req.header('last-event-id') ?? context.req.query('from') ?? '';
    if (!isName(namespace) || !isName(project) || !/^\d{1,20}$/.test(from)) return notFound(context);
    const session = context.get('session');
    // 204 tells the browser not to connect again.
    if (session.streams >= config.sessions.streams) return context.body(null, 204);
    // Before anything that waits, or many requests at the same moment would pass the limit.
    session.streams += 1;
    const page = await pageAt(context, {namespace, project}).catch((error: unknown) => {
      session.streams -= 1;
      if (isFinal(error)) throw error;
      return 'away' as const;
    });
    if (!page) {
      session.streams -= 1;
      return notFound(context);
    }
    if (page === 'away') return context.body(`retry: ${RETRY_MS}\n\n`, 200, {'content-type': 'text/event-stream'});
    return streamSSE(context, async stream => await serve(parts, page, from, stream, signalOf(context)));
  });
  return app;
}

/** Whether a page gets this error again until it is loaded again: no right, no token, no Project, or too far behind. */
function isFinal(error: unknown): boolean {
  return error instanceof ApiError && [401, 403, 404, 410].includes(error.status);
}

async function pageAt(context: RequestContext, place: Place): Promise<Page | undefined> {
  const session = context.get('session');
  const signal = signalOf(context);
  const {namespace, project: name} = place;
  const [project, rights] = await Promise.all([
    session.client.get(PROJECT, {namespace, name}, {signal}),
    rightsIn(session.client, namespace, signal),
  ]);
  return project && {session, place, project, rights};
}

async function serve(parts: ConsoleParts, page: Page, from: string, stream: SSEStreamingApi, request: AbortSignal) {
  const {clock, logger} = parts;
  const {session, place} = page;
  const left = new AbortController();
  stream.onAbort(() => left.abort());
  const signal = AbortSignal.any([left.signal, request]);
  const pause = (ms: number) => clock.sleep(ms, signal);
  try {
    // The response begins with its first byte, and the page would wait for it until something changes.
    await stream.write(': \n\n');
    const end = await Promise.race([
      follow(page, from, signal, stream, pause),
      untilForbidden(session, place.namespace, signal, pause),
    ]);
    // Without this event, the browser connects again, and continues.
    if (end !== 'watched') await stream.writeSSE({event: 'end', data: ''});
  } catch (err) {
    if (session.signal.aborted || isFinal(err)) await stream.writeSSE({event: 'end', data: ''});
    else if (!signal.aborted) logger.debug({err}, 'A live page ended.');
  } finally {
    session.streams -= 1;
    left.abort();
  }
}

/** Sends each change from there on. Holds at most one Domain per host, however fast they change. */
async function follow(
  page: Page,
  from: string,
  signal: AbortSignal,
  stream: SSEStreamingApi,
  pause: Pause,
): Promise<'watched' | 'behind'> {
  const {session, place} = page;
  const waiting = new Map<string, Domain | undefined>();
  let at = from;
  let isOver = false;
  let isBehind = false;
  let news = Promise.withResolvers<void>();
  const options = {
    namespace: place.namespace,
    fieldSelector: ofProject(place.project),
    resourceVersion: from,
    signal,
    timeoutMs: WATCH_MS,
    idleTimeoutMs: IDLE_MS,
  };
  const watching = session.client
    .watch<Domain>(DOMAIN, options, event => {
      if (event.type === 'BOOKMARK') {
        at = event.resourceVersion;
      } else {
        const {name, resourceVersion = at} = event.object.metadata;
        at = resourceVersion;
        waiting.set(name, event.type === 'DELETED' ? undefined : withoutNotes(event.object));
        if (waiting.size > MAX_WAITING) isBehind = true;
        if (isBehind) waiting.clear();
      }
      news.resolve();
    })
    .finally(() => {
      isOver = true;
      news.resolve();
    });
  watching.catch(() => {}); // awaited below
  while (!isOver || waiting.size > 0) {
    await news.promise;
    if (isBehind) return 'behind';
    news = Promise.withResolvers();
    const hosts = [...waiting].map(([name, domain]) => eventOf(name, domain, page));
    const id = at;
    waiting.clear();
    for (const host of hosts) await stream.writeSSE({event: 'host', data: JSON.stringify(host)});
    // After them, so a browser that got only some of them gets them again. It also tells proxies that this is no idle
    // connection.
    if (!isOver) await stream.writeSSE({event: 'at', data: '', id});
    await pause(PACE_MS);
  }
  await watching;
  return 'watched';
}

function eventOf(name: string, domain: Domain | undefined, page: Page): HostEvent {
  if (!domain) return {id: hostId(hostNamed(name)), card: '', row: ''};
  const advice = adviceFor(domain);
  return {
    id: hostId(advice.host),
    card: hostCard(advice, contextOf(page, advice.host)).toString(),
    row: hostRow(advice, page.place).toString(),
  };
}

/** Resolves once the user may no longer watch. Rejects if the API server no longer accepts the token. */
async function untilForbidden(
  {client}: UserSession,
  namespace: string,
  signal: AbortSignal,
  pause: Pause,
): Promise<'forbidden'> {
  do await pause(RECHECK_MS);
  while (await mayI(client, 'watch', DOMAIN, namespace, signal));
  return 'forbidden';
}
