/** The pages of a Project, and the changes that they offer. */
import {createHash} from 'node:crypto';
import {Hono} from 'hono';
import {DOMAIN, PROJECT, type Project} from '../../operator/kinds/kinds.ts';
import {listedHosts} from '../../operator/kinds/project-hosts.ts';
import type {DeepReadonly} from '../../runtime/kube/object.ts';
import {proposalPage, removalPage} from '../pages/change.ts';
import {namespacePage, overviewPage} from '../pages/overview.ts';
import {hostPath, namespacePath, projectPath} from '../pages/paths.ts';
import {type AddForm, projectPage} from '../pages/project.ts';
import {addHost, type Edit, hostsThatEndWith, removeHost} from '../projects/edit.ts';
import {isName} from '../projects/names.ts';
import {gitOpsOwner} from '../projects/owner.ts';
import {overviewFor, type Place, projectsIn, readProject, requestCheck} from '../projects/read.ts';
import {CHANGED_MEANWHILE, explainRefusedChange, hostTyped} from '../projects/refusal.ts';
import type {CurrentRights} from './current-rights.ts';
import {type ConsoleParts, type Env, type RequestContext, signalOf} from './env.ts';
import {notFound, notYours} from './failure.ts';
import {foreignForm, formOf} from './guard.ts';

const NOTICES: Readonly<Record<string, (host: string) => string>> = {
  add: host => `Added ${host}. Nameplate sets it up now.`,
  verify: host => `Requested a check of ${host}.`,
  remove: host => `Removed ${host}.`,
};

export function projectRoutes(parts: ConsoleParts, current: CurrentRights): Hono<Env> {
  const {config, clock} = parts;
  const app = new Hono<Env>();

  app.get('/', async context => {
    const session = context.get('session');
    const signal = signalOf(context);
    const typed = context.req.query('namespace')?.trim();
    if (typed !== undefined && isName(typed) && (await projectsIn(session.client, typed, signal))) {
      return context.redirect(namespacePath(typed), 303);
    }
    const overview = await overviewFor(session.client, session.namespaces, context.req.query('continue'), signal);
    return context.html(overviewPage({session, overview, help: config.help, refused: typed}));
  });

  app.get('/namespaces/:namespace', async context => {
    const {namespace} = context.req.param();
    if (!isName(namespace)) return notFound(context);
    const session = context.get('session');
    const found = await projectsIn(session.client, namespace, signalOf(context));
    return found ? context.html(namespacePage(session, found)) : notYours(context, config.help);
  });

  app.get('/namespaces/:namespace/projects/:project', async context => {
    const place = placeOf(context);
    if (!place) return notFound(context);
    const {host, did = '', about = '', from = '0'} = context.req.query();
    // Nobody else's words: anybody can send a link.
    const subject = hostIn(about);
    const notice = subject !== undefined && Object.hasOwn(NOTICES, did) ? NOTICES[did]?.(subject) : undefined;
    return await showProject(context, place, current, {
      chosen: host,
      notice,
      from: /^\d{1,6}$/.test(from) ? Number(from) : 0,
    });
  });

  app.post('/namespaces/:namespace/projects/:project/add', async context => {
    const place = placeOf(context);
    const fields = await formOf(context);
    if (!fields) return foreignForm(context);
    return place ? await add(context, place, fields, current) : notFound(context);
  });

  app.post('/namespaces/:namespace/projects/:project/verify', async context => {
    const place = placeOf(context);
    const fields = await formOf(context);
    if (!fields) return foreignForm(context);
    const host = hostIn(fields.host);
    if (!place || host === undefined) return notFound(context);
    await requestCheck(context.get('session').client, place, host, clock.now(), signalOf(context));
    return done(context, place, 'verify', host);
  });

  app.get('/namespaces/:namespace/projects/:project/remove', async context => {
    const place = placeOf(context);
    const host = hostIn(context.req.query('host'));
    if (!place || host === undefined) return notFound(context);
    return await confirmRemoval(context, place, host);
  });

  app.post('/namespaces/:namespace/projects/:project/remove', async context => {
    const place = placeOf(context);
    const fields = await formOf(context);
    if (!fields) return foreignForm(context);
    const host = hostIn(fields.host);
    if (!place || host === undefined) return notFound(context);
    return await remove(context, place, host, fields.version ?? '');
  });

  return app;
}

function placeOf(context: RequestContext): Place | undefined {
  const {namespace = '', project = ''} = context.req.param() as Partial<Place>;
  return isName(namespace) && isName(project) ? {namespace, project} : undefined;
}

/** Of a Domain that exists, so nothing that the parser of typed hosts would change. */
function hostIn(text: string | undefined): string | undefined {
  return text !== undefined && /^(?:\*\.)?(?!\.)[a-z0-9.-]{1,253}(?<!\.)$/.test(text) ? text : undefined;
}

function done(context: RequestContext, place: Place, did: string, about: string) {
  return context.redirect(`${projectPath(place)}?${new URLSearchParams({did, about}).toString()}`, 303);
}

interface Shown {
  readonly chosen?: string | undefined;
  readonly notice?: string | undefined;
  readonly from?: number;
  readonly form?: AddForm;
}

async function showProject(context: RequestContext, place: Place, current: CurrentRights, shown: Shown) {
  const session = context.get('session');
  const signal = signalOf(context);
  const [read, rights] = await Promise.all([
    readProject(session.client, place, signal),
    current.ask(session, place.namespace).rights,
  ]);
  if (!read) return notFound(context);
  const status = shown.form === undefined ? 200 : 422;
  return context.html(projectPage({place, session, rights, ...read, ...shown}), status);
}

async function projectAt(context: RequestContext, {namespace, project: name}: Place) {
  return await context.get('session').client.get(PROJECT, {namespace, name}, {signal: signalOf(context)});
}

async function add(
  context: RequestContext,
  place: Place,
  fields: Readonly<Record<string, string>>,
  current: CurrentRights,
) {
  const {host: typed = '', to = '', twin} = fields;
  const form = {host: typed, to, withTwin: twin === 'yes'};
  const parsed = hostTyped(typed);
  if (!parsed.ok) {
    const problems = [{field: 'host', message: `${sentenceCase(parsed.problem)}.`}] as const;
    return await showProject(context, place, current, {form: {...form, problems}});
  }
  const project = await projectAt(context, place);
  if (!project) return notFound(context);
  const {host} = parsed;
  const edit = addHost(project, {host, redirectTo: to === '' ? undefined : to, withTwin: form.withTwin});
  const owner = gitOpsOwner(project);
  if (owner !== undefined) {
    return context.html(proposalPage({place, session: context.get('session'), project, owner, edit}));
  }
  const problems = await apply(context, place, edit);
  if (problems) return await showProject(context, place, current, {form: {...form, host, problems}});
  return done(context, place, 'add', host);
}

function sentenceCase(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;
}

/** Undefined if the API server has accepted the change. */
async function apply(context: RequestContext, {namespace, project: name}: Place, {patch}: Edit) {
  try {
    await context.get('session').client.jsonPatch(PROJECT, {namespace, name}, patch, {signal: signalOf(context)});
    return undefined;
  } catch (error) {
    const problems = explainRefusedChange(error);
    if (!problems) throw error;
    return problems;
  }
}

/** Of what the confirmation showed. */
function versionOf({metadata, spec}: DeepReadonly<Project>): string {
  return createHash('sha256')
    .update(JSON.stringify([metadata.uid, spec.domains]))
    .digest('base64url');
}

async function confirmRemoval(context: RequestContext, place: Place, host: string, problem?: string) {
  const session = context.get('session');
  const signal = signalOf(context);
  const [project, domain] = await Promise.all([
    projectAt(context, place),
    session.client.get(DOMAIN, {namespace: place.namespace, name: host}, {signal}),
  ]);
  if (!project) return notFound(context);
  const isListed = listedHosts(project).some(listed => listed.host === host);
  const belongs = isListed || domain?.spec.projectRef.name === place.project;
  if (!belongs) return notFound(context);
  const owner = gitOpsOwner(project);
  if (owner !== undefined && isListed) {
    return context.html(proposalPage({place, session, project, owner, edit: removeHost(project, host)}));
  }
  const state = domain?.status?.state;
  const isServed = state === 'Live' || state === 'Degraded';
  const hosts = isListed ? hostsThatEndWith(project, host) : [host];
  const version = versionOf(project);
  return context.html(
    removalPage({place, session, hosts, isServed, version, ...(problem !== undefined && {problem})}),
    problem === undefined ? 200 : 409,
  );
}

async function remove(context: RequestContext, place: Place, host: string, version: string) {
  const project = await projectAt(context, place);
  if (!project) return notFound(context);
  const isListed = listedHosts(project).some(listed => listed.host === host);
  // The address of a page is no permission to change what the page does not offer.
  if (isListed && gitOpsOwner(project) !== undefined) return context.redirect(hostPath(place, host), 303);
  if (version !== versionOf(project)) return await confirmRemoval(context, place, host, CHANGED_MEANWHILE);
  if (!isListed) return await deleteDomain(context, place, host);
  const [problem] = (await apply(context, place, removeHost(project, host))) ?? [];
  if (problem) return await confirmRemoval(context, place, host, problem.message);
  return done(context, place, 'remove', host);
}

/** A Domain that somebody has created: no Project lists it. */
async function deleteDomain(context: RequestContext, {namespace, project}: Place, host: string) {
  const {client} = context.get('session');
  const signal = signalOf(context);
  const domain = await client.get(DOMAIN, {namespace, name: host}, {signal});
  if (domain?.spec.projectRef.name !== project) return notFound(context);
  const {uid} = domain.metadata;
  await client.delete(DOMAIN, {namespace, name: host}, {signal, preconditions: uid === undefined ? {} : {uid}});
  return done(context, {namespace, project}, 'remove', host);
}
