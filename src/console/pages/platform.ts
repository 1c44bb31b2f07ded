/** The page of the platform team: all Domains that the user may list, by state, page by page. */
import type {HostAdvice, HostState} from '../../advice/host.ts';
import type {Actor} from '../../advice/reasons.ts';
import type {ACMEIssuer} from '../../operator/kinds/kinds.ts';
import type {DeepReadonly} from '../../runtime/kube/object.ts';
import type {UserSession} from '../access/sessions.ts';
import {stateWord} from './host.ts';
import {html, type Markup} from './html.ts';
import {page} from './layout.ts';
import {hostPath} from './paths.ts';

export const STATES: readonly HostState[] = ['Blocked', 'Unverified', 'Verified', 'Live', 'Degraded'];
export const ACTORS: Readonly<Record<Actor, string>> = {
  owner: 'the owner',
  platform: 'the platform team',
  either: 'the owner or the platform team',
  ca: 'the certificate authority',
  nobody: 'nobody',
};

export interface PlatformFilter {
  readonly state: HostState | undefined;
  readonly actor: Actor | undefined;
  readonly reason: string;
}

export interface PlatformHost {
  readonly namespace: string;
  readonly project: string;
  readonly isPaused: boolean;
  readonly advice: HostAdvice;
}

interface PlatformView {
  readonly session: UserSession;
  readonly filter: PlatformFilter;
  readonly hosts: readonly PlatformHost[];
  readonly next: string | undefined;
  /** How many Domains were looked at. */
  readonly seen: number;
  readonly issuers: readonly DeepReadonly<ACMEIssuer>[];
}

export function platformPage({session, filter, hosts, next, seen, issuers}: PlatformView): Markup {
  const body = html`<h1>All domains</h1>
${issuers.map(issuerCard)}
${filterForm(filter)}
<section class="card"><h2>Domains</h2>
${hosts.length === 0 && html`<p>None of the ${seen} domains on this page match.</p>`}
<ul class="rows">${hosts.map(hostLine)}</ul></section>
${next !== undefined && html`<p><a href="/platform?${query(filter, next)}">Next page</a></p>`}`;
  return page({title: 'All domains', session, body});
}

function query({state, actor, reason}: PlatformFilter, next: string): string {
  return new URLSearchParams({state: state ?? '', actor: actor ?? '', reason, continue: next}).toString();
}

function filterForm({state, actor, reason}: PlatformFilter): Markup {
  const options = (values: readonly (readonly [string, string])[], chosen: string | undefined) =>
    values.map(
      ([value, text]) => html`<option value="${value}"${value === chosen && html` selected`}>${text}</option>`,
    );
  return html`<form method="get" action="/platform" class="card actions">
<label>State <select name="state"><option value="">any</option>${options(
    STATES.map(each => [each, each]),
    state,
  )}</select></label>
<label>Waits for <select name="actor"><option value="">anybody</option>${options(Object.entries(ACTORS), actor)}</select></label>
<label>Reason <input type="text" name="reason" value="${reason}" maxlength="60" placeholder="RecordMissing" autocomplete="off"></label>
<button>Show</button></form>`;
}

function hostLine({namespace, project, isPaused, advice}: PlatformHost): Markup {
  const word = stateWord(advice);
  return html`<li><a href="${hostPath({namespace, project}, advice.host)}"><bdi>${advice.host}</bdi></a> <span class="state ${word}">${word}</span> <span class="quiet"><bdi>${namespace}</bdi>/<bdi>${project}</bdi></span>
${advice.next && html`<span>${advice.next.condition.reason}</span> <span class="quiet">waits for ${ACTORS[advice.next.actor]}</span>`}${isPaused && html`<span class="quiet">paused</span>`}</li>`;
}

function issuerCard({metadata, status}: DeepReadonly<ACMEIssuer>): Markup {
  const {left, leftForRenewals, waiting} = status?.orders ?? {};
  return html`<section class="card"><h2>ACMEIssuer <bdi>${metadata.name}</bdi></h2>
${left !== undefined && html`<p>Orders left: ${left} for new hosts, ${leftForRenewals ?? 0} for renewals. Waiting: ${waiting ?? 0}.</p>`}
<dl>${(status?.conditions ?? []).map(({type, reason, message}) => html`<dt>${type}</dt><dd dir="auto">${reason}. ${message}</dd>`)}</dl></section>`;
}
