/** The pages around a change: the confirmation of a removal, and the YAML for a repository. */
import {stringify} from 'yaml';
import type {Project} from '../../operator/kinds/kinds.ts';
import type {DeepReadonly} from '../../runtime/kube/object.ts';
import type {UserSession} from '../access/sessions.ts';
import type {Edit} from '../projects/edit.ts';
import type {Place} from '../projects/read.ts';
import {html, type Markup} from './html.ts';
import {formToken, page} from './layout.ts';
import {projectPath} from './paths.ts';

interface Removal {
  readonly place: Place;
  readonly session: UserSession;
  /** The host, and those that redirect to it. */
  readonly hosts: readonly string[];
  readonly isServed: boolean;
  /** Of what was read. */
  readonly version: string;
  readonly problem?: string;
}

export function removalPage({place, session, hosts, isServed, version, problem}: Removal): Markup {
  const [host = '', ...others] = hosts;
  const title = `Remove ${host}?`;
  const stops = isServed
    ? `Visitors of ${host} stop reaching the project immediately.`
    : `${host} is not served yet, so no visitor notices.`;
  const body = html`<h1>Remove <bdi>${host}</bdi>?</h1>
${problem !== undefined && html`<p class="problem" role="alert">${problem}</p>`}
<ul class="plain"><li>${stops}</li>
${others.length > 0 && html`<li>These hosts redirect to it and are removed too: ${others.map((each, index) => html`${index > 0 && ', '}<bdi>${each}</bdi>`)}.</li>`}
<li>Nameplate keeps the certificate for a week, so adding the host again in that time needs no new one.</li>
<li>Nobody deletes its DNS records. Delete them at your DNS provider.</li></ul>
<form method="post" action="${projectPath(place)}/remove">${formToken(session)}
<input type="hidden" name="host" value="${host}"><input type="hidden" name="version" value="${version}">
<div class="actions"><button class="danger">Remove</button><a class="button" href="${projectPath(place)}">Keep it</a></div></form>`;
  return page({title, session, body});
}

interface Proposal {
  readonly place: Place;
  readonly session: UserSession;
  readonly project: DeepReadonly<Project>;
  readonly owner: string;
  readonly edit: Edit;
}

/** For a Project that a GitOps controller applies. */
export function proposalPage({place, session, project, owner, edit}: Proposal): Markup {
  const {domains: _, ...spec} = project.spec;
  const hasHosts = Object.keys(edit.domains).length > 0;
  const manifest = {
    apiVersion: project.apiVersion,
    kind: project.kind,
    metadata: {name: place.project, namespace: place.namespace},
    spec: {...spec, ...(hasHosts && {domains: edit.domains})},
  };
  const text = stringify(manifest);
  const body = html`<h1>Commit this change</h1>
<p>${owner} applies the project <bdi>${place.project}</bdi> from a repository. Change its manifest there to this. Keep its other labels and annotations.</p>
<pre dir="ltr">${text}</pre>
<div class="actions"><button type="button" hidden data-copy="${text}" data-copied="Copied the YAML.">Copy</button><a class="button" href="${projectPath(place)}">Back</a></div>`;
  return page({title: 'Commit this change', session, body});
}
