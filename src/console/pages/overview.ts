/** The first page: the user's namespaces, and the Projects in them. */
import {blockerOf, waitingFirst} from '../../advice/blocker.ts';
import type {Project} from '../../operator/kinds/kinds.ts';
import type {DeepReadonly} from '../../runtime/kube/object.ts';
import type {UserSession} from '../access/sessions.ts';
import type {NamespaceProjects, Overview} from '../projects/read.ts';
import {html, type Markup} from './html.ts';
import {page} from './layout.ts';
import {namespacePath, projectPath} from './paths.ts';

interface OverviewView {
  readonly session: UserSession;
  readonly overview: Overview;
  readonly help: string;
  /** A namespace that was typed in, and in which the user may not list Projects. */
  readonly refused?: string | undefined;
}

export function overviewPage({session, overview, help, refused}: OverviewView): Markup {
  const {namespaces, next} = overview;
  const body = html`<h1>Your projects</h1>
${namespaces.length === 0 && html`<p>There is no namespace in which you are known to have projects. Enter its name, or ask ${help} for the right to see one.</p>`}
${namespaces.map(namespaceCard)}
${next !== undefined && html`<p><a href="/?${new URLSearchParams({continue: next}).toString()}">More projects</a></p>`}
<form method="get" action="/" class="card"><label for="namespace">Open another namespace</label>
<div class="actions"><input type="text" id="namespace" name="namespace" value="${refused ?? ''}" required maxlength="63" autocomplete="off" autocapitalize="none" spellcheck="false"${refused !== undefined && html` aria-invalid="true" aria-describedby="refused"`}><button>Open</button></div>
${refused !== undefined && html`<p class="problem" id="refused" role="alert">You may not list projects in this namespace, or it does not exist. Ask ${help}.</p>`}
</form>`;
  return page({title: 'Your projects', session, body});
}

export function namespacePage(session: UserSession, found: NamespaceProjects): Markup {
  const body = html`<p><a href="/">Your projects</a></p><h1><bdi>${found.namespace}</bdi></h1>${namespaceCard(found)}`;
  return page({title: found.namespace, session, body});
}

function namespaceCard({namespace, projects}: NamespaceProjects): Markup {
  const waits = (project: Project) => blockerOf(project) !== undefined || waitingHosts(project).length > 0;
  return html`<section class="card"><h2><a href="${namespacePath(namespace)}"><bdi>${namespace}</bdi></a></h2>
${projects.length === 0 && html`<p>There is no project in this namespace. Create one as its documentation says; its domains are then here.</p>`}
<ul class="rows">${waitingFirst(projects, waits).map(project => projectRow(namespace, project))}</ul></section>`;
}

function projectRow(namespace: string, project: DeepReadonly<Project>): Markup {
  const hosts = project.status?.domains ?? [];
  const waiting = waitingHosts(project).length;
  const says =
    hosts.length === 0
      ? 'no domains'
      : waiting === 0
        ? `${hosts.length} live`
        : `${waiting} of ${hosts.length} not live`;
  return html`<li><a href="${projectPath({namespace, project: project.metadata.name})}"><bdi>${project.metadata.name}</bdi></a> <span class="quiet">${says}</span>
${project.status?.url !== undefined && html`<span class="quiet"><bdi>${project.status.url}</bdi></span>`}</li>`;
}

function waitingHosts({status}: DeepReadonly<Project>) {
  return (status?.domains ?? []).filter(({state}) => state !== 'Live');
}
