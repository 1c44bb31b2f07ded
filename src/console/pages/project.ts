/** The page of a Project: its hosts, and the form that adds one. */
import {createHash} from 'node:crypto';
import {blockerOf, sortedDomains} from '../../advice/blocker.ts';
import {adviseHost, type HostAdvice} from '../../advice/host.ts';
import {ANNOTATION} from '../../api/names.ts';
import type {Domain, Project} from '../../operator/kinds/kinds.ts';
import {listedHosts} from '../../operator/kinds/project-hosts.ts';
import type {DeepReadonly} from '../../runtime/kube/object.ts';
import type {UserSession} from '../access/sessions.ts';
import {gitOpsOwner} from '../projects/owner.ts';
import {MAX_HOSTS, type Place, type Rights} from '../projects/read.ts';
import type {FieldProblem, FormField} from '../projects/refusal.ts';
import {type CardContext, hostCard, hostRow} from './host.ts';
import {html, type Markup} from './html.ts';
import {formToken, page} from './layout.ts';
import {hostPath, namespacePath, projectPath} from './paths.ts';

export interface ProjectView {
  readonly place: Place;
  readonly session: UserSession;
  readonly rights: Rights;
  readonly project: DeepReadonly<Project>;
  readonly domains: readonly DeepReadonly<Domain>[];
  /** There are more Domains, which were not read. */
  readonly hasMore: boolean;
  /** At which the Domains were listed. */
  readonly resourceVersion: string;
  /** The host whose details are shown, if one was chosen. */
  readonly chosen?: string | undefined;
  /** Rows before this one are on earlier pages. */
  readonly from?: number;
  readonly notice?: string | undefined;
  readonly form?: AddForm;
}

export interface AddForm {
  readonly host: string;
  readonly to: string;
  readonly withTwin: boolean;
  readonly problems: readonly FieldProblem[];
}

const EMPTY_FORM: AddForm = {host: '', to: '', withTwin: false, problems: []};
/** With details; the others are rows. Together, they stay below 50 kB. */
const MAX_CARDS = 5;
const MAX_ROWS = 40;

export function adviceFor(domain: DeepReadonly<Domain>): HostAdvice {
  return adviseHost(domain, domain.metadata.annotations?.[ANNOTATION.verifyRequestedAt]);
}

/** The hosts of the page, the waiting ones first, and those that have no Domain yet before all. */
function hostsOf({project, domains}: ProjectView): readonly DeepReadonly<Domain>[] {
  const {namespace, name} = project.metadata;
  const known = new Set(domains.map(({spec}) => spec.host));
  const unseen = listedHosts(project).filter(({host}) => !known.has(host));
  const fresh = unseen.map(
    ({host, redirect}): DeepReadonly<Domain> => ({
      apiVersion: project.apiVersion,
      kind: 'Domain',
      metadata: {name: host, ...(namespace !== undefined && {namespace})},
      spec: {host, projectRef: {name}, ...(redirect && {redirect})},
    }),
  );
  return [...fresh, ...sortedDomains(domains)];
}

export function projectPage(view: ProjectView): Markup {
  const {place, session, project, notice, resourceVersion} = view;
  const {url} = project.status ?? {};
  const body = html`<p><a href="/">Your projects</a> <span aria-hidden="true">›</span> <a href="${namespacePath(place.namespace)}"><bdi>${place.namespace}</bdi></a></p>
<div class="head"><h1>Domains of <bdi>${place.project}</bdi></h1><div id="add-link" data-actions>${mayAdd(view) && html`<a class="button" href="#host">Add a domain</a>`}</div></div>
<p class="quiet">${url === undefined ? 'Not published yet.' : html`Published at ${link(url)}`}</p>
${notice !== undefined && html`<p class="notice" role="status">${notice}</p>`}
${hostList(view)}
${addForm(view)}`;
  const as = actionsVersion(view.rights, gitOpsOwner(project));
  const events = `${projectPath(place)}/events?from=${as}.${resourceVersion}`;
  return page({title: `Domains of ${place.project}`, session, body, live: {events, reload: addressOf(view)}});
}

/** Changes whenever the page would have other buttons. An open page is then told. */
export function actionsVersion(rights: Rights, owner: string | undefined): string {
  return createHash('sha256')
    .update(JSON.stringify([rights, owner]))
    .digest('base64url')
    .slice(0, 12);
}

/** Who may write the status is up to RBAC, so the text may be any address. */
function link(url: string): Markup {
  const text = html`<bdi>${url}</bdi>`;
  return /^https?:\/\//.test(url) ? html`<a href="${url}" rel="noreferrer">${text}</a>` : text;
}

function addressOf({place, chosen, from = 0}: ProjectView): string {
  if (chosen !== undefined) return hostPath(place, chosen);
  return from > 0 ? `${projectPath(place)}?from=${from}` : projectPath(place);
}

function hostList(view: ProjectView): Markup {
  const {place, chosen, from = 0} = view;
  const all = hostsOf(view);
  const found = chosen === undefined ? undefined : all.find(({spec}) => spec.host === chosen);
  const waiting = all.filter(domain => domain.status?.state === undefined || blockerOf(domain) !== undefined);
  const few = all.length <= MAX_CARDS ? all : waiting.slice(0, MAX_CARDS);
  const cards = found ? [found] : from > 0 ? [] : few;
  const rows = found ? [] : all.filter(each => !few.includes(each));
  const shown = rows.slice(from, from + MAX_ROWS);
  const more = from + MAX_ROWS < rows.length;
  const isComplete = !found && from === 0 && !more && !view.hasMore;
  return html`<div id="hosts"${isComplete && html` data-complete="yes"`}>${cards.map(each => hostCard(adviceFor(each), contextOf(view, each.spec.host)))}</div>
${shown.length > 0 && html`<div class="card"><h2>${from > 0 || cards.length === 0 ? 'Hosts' : 'Other hosts'}</h2><ul class="rows">${shown.map(each => hostRow(adviceFor(each), place))}</ul></div>`}
${more && html`<p><a href="${projectPath(place)}?from=${from + MAX_ROWS}">Next ${Math.min(MAX_ROWS, rows.length - from - MAX_ROWS)} of ${rows.length} hosts</a></p>`}
${(found || from > 0) && html`<p><a href="${projectPath(place)}">All hosts of this project</a></p>`}
${view.hasMore && html`<p>There are more hosts than a page can show: these are the first ${MAX_HOSTS}.</p>`}
${all.length === 0 && html`<p>This project has no domains yet. Add the first one below.</p>`}`;
}

function contextOf({place, session, rights, project}: ProjectView, host: string): CardContext {
  const isListed = listedHosts(project).some(listed => listed.host === host);
  return {place, session, rights, isListed};
}

function mayAdd({rights, project}: ProjectView): boolean {
  return rights.mayEdit || gitOpsOwner(project) !== undefined;
}

function addForm(view: ProjectView): Markup {
  const {place, session, project, form = EMPTY_FORM} = view;
  const owner = gitOpsOwner(project);
  if (!mayAdd(view)) {
    return html`<p class="quiet" id="adding" data-actions>You may not change this project. To add or remove a domain, ask somebody who may.</p>`;
  }
  const {host, to, withTwin, problems} = form;
  // The form is below all hosts, so a browser that shows its problems must scroll there.
  const focus = problems.length > 0 && html` autofocus`;
  const serving = listedHosts(project).filter(({redirect}) => !redirect);
  return html`<section class="card" id="adding" data-actions aria-labelledby="add"><h2 id="add">Add a domain</h2>
${owner !== undefined && html`<p>${owner} applies this project from a repository, and would revert a change made here. This form shows the YAML to commit.</p>`}
${problemList(problems, 'form')}
<form method="post" action="${projectPath(place)}/add">${formToken(session)}
<label for="host">Host</label>
<div><input type="text" id="host" name="host" value="${host}" placeholder="shop.example.com" required maxlength="300" autocomplete="off" autocapitalize="none" spellcheck="false" dir="ltr"${described('host', problems)}${focus}></div>
${problemList(problems, 'host')}
<label class="choice"><input type="checkbox" name="twin" value="yes"${withTwin ? html` checked` : ''}> Also redirect its other name here: <code>www.</code> for a domain, the domain for <code>www.</code></label>
${
  serving.length > 0 &&
  html`<label for="to">Visitors</label>
<div>${target(serving, to, described('to', problems))}</div>${problemList(problems, 'to')}`
}
<div class="actions"><button class="main">${owner === undefined ? 'Add' : 'Show the YAML'}</button></div>
</form></section>`;
}

/** A list of all hosts would be most of a page of a project with hundreds. */
function target(serving: readonly {readonly host: string}[], to: string, wrong: Markup | undefined): Markup {
  if (serving.length > MAX_ROWS) {
    return html`<input type="text" id="to" name="to" value="${to}" placeholder="see the project; or are redirected to this host" maxlength="253" autocomplete="off" autocapitalize="none" spellcheck="false" dir="ltr"${wrong}>`;
  }
  return html`<select id="to" name="to"${wrong}><option value="">see the project</option>${serving.map(
    ({host}) => html`<option value="${host}"${host === to ? html` selected` : ''}>are redirected to ${host}</option>`,
  )}</select>`;
}

function described(field: FormField, problems: readonly FieldProblem[]): Markup | undefined {
  const isWrong = problems.some(problem => problem.field === field);
  return isWrong ? html` aria-invalid="true" aria-describedby="problem-${field}"` : undefined;
}

function problemList(problems: readonly FieldProblem[], field: FormField): Markup | undefined {
  const own = problems.filter(problem => problem.field === field);
  if (own.length === 0) return undefined;
  return html`<div class="problem" id="problem-${field}" role="alert">${own.map(({message}) => html`<p dir="auto">${message}</p>`)}</div>`;
}
