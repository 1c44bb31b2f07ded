/**
 * Keeps an open page of a Project current, by server-sent events from a watch of its Domains and one of itself, with the
 * user's token. The watch begins at the resourceVersion that the page shows, so nothing is sent twice, and a browser
 * that connects again continues where it was. The stream ends with the session. The API server checks the right to watch
 * only once, so rights are asked again each minute: without the right to watch, the stream ends, and if another right
 * changes, or a GitOps controller takes the Project over, the page gets its buttons again.
 */
import {Hono} from 'hono';
import {type SSEStreamingApi, streamSSE} from 'hono/streaming';
import {hostNamed} from '../../api/host-names.ts';
import {DOMAIN, type Domain, PROJECT, type Project} from '../../operator/kinds/kinds.ts';
import {listedHosts} from '../../operator/kinds/project-hosts.ts';
import {ApiError} from '../../runtime/kube/errors.ts';
import type {Clock} from '../../time/clock.ts';
import type {UserSession} from '../access/sessions.ts';
import {hostCard, hostRow} from '../pages/host.ts';
import {hostId} from '../pages/paths.ts';
import {actionsVersion, adviceFor} from '../pages/project.ts';
import {isName} from '../projects/names.ts';
import {gitOpsOwner} from '../projects/owner.ts';
import {ofProject, type Place, type Rights, withoutNotes} from '../projects/read.ts';
import type {CurrentRights} from './current-rights.ts';
import {type ConsoleParts, type Env, type RequestContext, signalOf} from './env.ts';
import {notFound} from './failure.ts';

/** The longest watch. The browser then connects again. */
const WATCH_MS = 1_200_000;
/** When a browser connects again if the API server does not answer. */
const RETRY_MS = 15_000;
/** The API server sends a bookmark each minute. */
const IDLE_MS = 150_000;
/** Changes within this time are one event per host, so fast changes cost the others nothing. */
const PACE_MS = 1000;
/** Changed hosts that wait for a slow reader. With more, the page must be loaded again. */
const MAX_WAITING = 200;

/** What decides about the buttons of an open page. It does not hold the Project, which is as large as a tenant likes. */
interface Page {
  readonly session: UserSession;
  readonly place: Place;
  /** At which the Project was read. */
  readonly version: string;
  rights: Rights;
  owner: string | undefined;
  listed: ReadonlySet<string>;
  /** The version of the buttons that the page shows. */
  shown: string;
}

interface HostEvent {
  readonly id: string;
  /** Empty: the host is gone. */
  readonly card: string;
  readonly row: string;
}

type Pause = (ms: number) => Promise<void>;

export function liveRoutes(parts: ConsoleParts, current: CurrentRights): Hono<Env> {
  const {config} = parts;
  const app = new Hono<Env>();
  app.get('/namespaces/:namespace/projects/:project/events', async context => {
    const {namespace, project} = context.req.param();
    // What the page shows: its buttons, and the Domains up to this resourceVersion.
    const [, shown, read = ''] = /^(?:([\w-]{12})\.)?(\d+)$/.exec(context.req.query('from') ?? '') ?? [];
    const from = context.req.header('last-event-id') ?? read;
    if (!isName(namespace) || !isName(project) || !/^\d{1,20}$/.test(from)) return notFound(context);
    const session = context.get('session');
    // 204 tells the browser not to connect again.
    if (session.streams >= config.sessions.streams) return context.body(null, 204);
    // Before anything that waits, or many requests at the same moment would pass the limit.
    session.streams += 1;
    const page = await pageAt(context, {namespace, project}, current).catch((error: unknown) => {
      session.streams -= 1;
      if (isFinal(error)) throw error;
      return 'away' as const;
    });
    if (!page) {
      session.streams -= 1;
      return notFound(context);
    }
    if (page === 'away') return context.body(`retry: ${RETRY_MS}\n\n`, 200, {'content-type': 'text/event-stream'});
    page.shown = shown ?? versionOf(page);
    return streamSSE(context, async stream => await serve({...parts, current}, page, from, stream, signalOf(context)));
  });
  return app;
}

/** Whether a page gets this error again until it is loaded again: no right, no token, no Project, or too far behind. */
function isFinal(error: unknown): boolean {
  return error instanceof ApiError && [401, 403, 404, 410].includes(error.status);
}

async function pageAt(context: RequestContext, place: Place, current: CurrentRights): Promise<Page | undefined> {
  const session = context.get('session');
  const {namespace, project: name} = place;
  const [project, rights] = await Promise.all([
    session.client.get(PROJECT, {namespace, name}, {signal: signalOf(context)}),
    current.recent(session, namespace).rights,
  ]);
  if (!project) return undefined;
  const version = project.metadata.resourceVersion ?? '';
  return {session, place, version, rights, ...partsOf(project), shown: ''};
}

function partsOf(project: Project): Pick<Page, 'owner' | 'listed'> {
  return {owner: gitOpsOwner(project), listed: new Set(listedHosts(project).map(({host}) => host))};
}

function versionOf({rights, owner}: Page): string {
  return actionsVersion(rights, owner);
}

interface LiveParts extends ConsoleParts {
  readonly current: CurrentRights;
}

async function serve(parts: LiveParts, page: Page, from: string, stream: SSEStreamingApi, request: AbortSignal) {
  const {clock, logger, current} = parts;
  const {session} = page;
  const left = new AbortController();
  stream.onAbort(() => left.abort());
  const signal = AbortSignal.any([left.signal, request]);
  const pause = (ms: number) => clock.sleep(ms, signal);
  // Once per change, also if the browser had another version when it connected.
  const tell = async () => {
    const version = versionOf(page);
    if (version === page.shown) return;
    page.shown = version;
    await stream.writeSSE({event: 'actions', data: version});
  };
  try {
    // The response begins with its first byte, and the page would wait for it until something changes.
    await stream.write(': \n\n');
    await tell();
    const end = await Promise.race([
      follow(page, from, signal, stream, pause),
      followProject(page, signal, tell),
      followRights(page, current, clock, signal, tell),
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
  const {place, session, rights, listed} = page;
  const advice = adviceFor(domain);
  const context = {place, session, rights, isListed: listed.has(advice.host)};
  return {
    id: hostId(advice.host),
    card: hostCard(advice, context).toString(),
    row: hostRow(advice, place).toString(),
  };
}

/** Resolves once the Project is gone, or the watch ends. */
async function followProject(page: Page, signal: AbortSignal, tell: () => Promise<void>): Promise<'watched' | 'gone'> {
  const {session, place, version} = page;
  const options = {
    namespace: place.namespace,
    fieldSelector: `metadata.name=${place.project}`,
    resourceVersion: version,
    signal,
    timeoutMs: WATCH_MS,
    idleTimeoutMs: IDLE_MS,
  };
  const gone = Promise.withResolvers<'gone'>();
  const watching = session.client.watch<Project>(PROJECT, options, event => {
    if (event.type === 'BOOKMARK') return;
    if (event.type === 'DELETED') return gone.resolve('gone');
    Object.assign(page, partsOf(event.object));
    void tell();
  });
  return await Promise.race([watching.then(() => 'watched' as const), gone.promise]);
}

/** Resolves once the user may no longer watch. Rejects if the API server no longer accepts the token. */
async function followRights(
  page: Page,
  current: CurrentRights,
  clock: Clock,
  signal: AbortSignal,
  tell: () => Promise<void>,
): Promise<'forbidden'> {
  const {session, place} = page;
  while (page.rights.mayWatch) {
    const {until} = current.recent(session, place.namespace);
    await clock.sleep(Math.max(0, until - clock.monotonic()), signal);
    page.rights = await current.recent(session, place.namespace).rights;
    await tell();
  }
  return 'forbidden';
}
