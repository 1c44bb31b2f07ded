/** The page of the platform team. The API server selects by state; other filters search a limited number of Domains. */
import {Hono} from 'hono';
import type {Actor} from '../../advice/reasons.ts';
import {ANNOTATION} from '../../api/names.ts';
import {ACME_ISSUER, DOMAIN, type Domain} from '../../operator/kinds/kinds.ts';
import type {KubeClient} from '../../runtime/kube/client.ts';
import {ACTORS, type PlatformFilter, type PlatformHost, platformPage, STATES} from '../pages/platform.ts';
import {adviceFor} from '../pages/project.ts';
import {firstPage, unlessForbidden} from '../projects/read.ts';
import {type ConsoleParts, type Env, type RequestContext, signalOf} from './env.ts';
import {notYours} from './failure.ts';

/** Hosts on a page. A filter that the API server does not know looks at more of them, in one call. */
const SHOWN = 50;
const SEARCHED = 500;
const EITHER: ReadonlySet<Actor> = new Set(['owner', 'platform']);

export function platformRoutes(parts: ConsoleParts): Hono<Env> {
  const app = new Hono<Env>();
  app.get('/platform', async context => {
    const session = context.get('session');
    const filter = filterOf(context);
    const signal = signalOf(context);
    const [found, issuers] = await Promise.all([
      unlessForbidden(domainsFor(session.client, filter, context.req.query('continue') || undefined, signal)),
      unlessForbidden(firstPage(session.client, ACME_ISSUER, {signal, pageSize: SHOWN})),
    ]);
    if (!found) return notYours(context, parts.config.help);
    return context.html(platformPage({session, filter, ...found, issuers: issuers?.items ?? []}));
  });
  return app;
}

function filterOf(context: RequestContext): PlatformFilter {
  const {state, actor = '', reason = ''} = context.req.query();
  return {
    state: STATES.find(each => each === state),
    actor: Object.hasOwn(ACTORS, actor) ? (actor as Actor) : undefined,
    reason: reason.trim().slice(0, 60),
  };
}

async function domainsFor(client: KubeClient, filter: PlatformFilter, from: string | undefined, signal: AbortSignal) {
  const {state, actor, reason} = filter;
  const isSearch = actor !== undefined || reason !== '';
  const page = await firstPage(client, DOMAIN, {
    fieldSelector: state === undefined ? undefined : `status.state=${state}`,
    pageSize: isSearch ? SEARCHED : SHOWN,
    continue: from,
    signal,
  });
  const hosts = page.items.map(hostOf).filter(({advice: {next}}) => {
    if (reason !== '' && next?.condition.reason !== reason) return false;
    const found = next?.actor ?? 'nobody';
    return actor === undefined || found === actor || (found === 'either' && EITHER.has(actor));
  });
  return {hosts, next: page.next, seen: page.items.length};
}

function hostOf(domain: Domain): PlatformHost {
  const {metadata, spec} = domain;
  return {
    namespace: metadata.namespace ?? '',
    project: spec.projectRef.name,
    isPaused: metadata.annotations?.[ANNOTATION.paused] !== undefined,
    advice: adviceFor(domain),
  };
}
