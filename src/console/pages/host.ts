/** One host on the page of its Project. */
import {createHash} from 'node:crypto';
import type {HostAdvice, NextStep} from '../../advice/host.ts';
import type {UserSession} from '../access/sessions.ts';
import type {Place, Rights} from '../projects/read.ts';
import {html, type Markup} from './html.ts';
import {formToken} from './layout.ts';
import {hostId, hostPath, projectPath} from './paths.ts';
import {recordsSection} from './record.ts';

export interface CardContext {
  readonly place: Place;
  readonly session: UserSession;
  readonly rights: Rights;
  /** Whether a Project lists the host; otherwise, somebody has created the Domain. */
  readonly isListed: boolean;
}

/** Before the operator has seen a host. */
const UNSEEN = 'New';
const MARKS = {True: '✓', False: '✗', Unknown: '·'} as const;
const MEANINGS = {True: 'done', False: 'not done', Unknown: 'waiting'} as const;
const WAITS_FOR: Readonly<Record<NextStep['actor'], string>> = {
  owner: 'What to do next',
  platform: 'Waiting for the platform team',
  either: 'What to do next, by you or the platform team',
  ca: 'Waiting for the certificate authority',
  nobody: 'In progress',
};

export function stateWord({state}: HostAdvice): string {
  return state ?? UNSEEN;
}

export function hostCard(advice: HostAdvice, context: CardContext): Markup {
  const {host, redirectTo, next} = advice;
  const word = stateWord(advice);
  return html`<article class="card" ${identity(advice)}>
<div class="head"><h2><bdi>${host}</bdi></h2><span class="state ${word}">${word}</span>
${redirectTo !== undefined && html`<span class="quiet">redirects to <bdi>${redirectTo}</bdi></span>`}
${word === 'Live' && html`<a href="https://${host}/" rel="noreferrer">Open</a>`}</div>
${nextStep(advice, next)}
${recordsSection(advice)}
${progress(advice)}
${actions(advice, context)}
</article>`;
}

/** The script replaces an element only by one with another version. */
function identity(advice: HostAdvice): Markup {
  const word = stateWord(advice);
  const version = createHash('sha256').update(JSON.stringify(advice)).digest('base64url').slice(0, 12);
  return html`id="${hostId(advice.host)}" data-version="${version}" data-state="${word}" data-says="${advice.host}: ${word}"`;
}

function nextStep({state, isChecking, nextAttemptAt}: HostAdvice, next: NextStep | undefined): Markup {
  if (state === undefined) return html`<p>Nameplate has not seen this host yet. No action needed.</p>`;
  const checking = isChecking && html`<p>Nameplate is checking this host now.</p>`;
  if (!next) return checking || html`<p>Nothing is waiting. No action needed.</p>`;
  const {actor, condition} = next;
  const attempt = nextAttemptAt !== undefined && html`<p>Next attempt: ${time(nextAttemptAt)}.</p>`;
  return html`<div class="next ${actor}"><h3>${WAITS_FOR[actor]}</h3><p dir="auto">${condition.message}</p>${attempt}${checking}</div>`;
}

function progress({parts, expiresAt, renewsAt}: HostAdvice): Markup {
  const expiry =
    expiresAt !== undefined &&
    html`<p class="quiet">The certificate expires ${time(expiresAt)}${renewsAt !== undefined && html`; renewal ${time(renewsAt)}`}.</p>`;
  return html`<ul class="parts" aria-label="Progress">${parts.map(
    ({name, condition: {status}}) =>
      html`<li><span aria-hidden="true">${MARKS[status]}</span> ${name}<span class="quiet">: ${MEANINGS[status]}</span></li>`,
  )}</ul>
${expiry}
${
  parts.length > 0 &&
  html`<details><summary>Details</summary><dl>${parts.map(
    ({name, condition: {reason, message}}) => html`<dt>${name}</dt><dd dir="auto">${reason}. ${message}</dd>`,
  )}</dl></details>`
}`;
}

function actions(advice: HostAdvice, {place, session, rights, isListed}: CardContext): Markup {
  const {host, isVerified} = advice;
  const verify = rights.mayVerify && advice.state !== undefined;
  const remove = isListed ? rights.mayEdit : rights.mayDelete;
  return html`<div class="actions" id="actions-${host}" data-actions>
${verify && html`<form method="post" action="${projectPath(place)}/verify">${formToken(session)}<input type="hidden" name="host" value="${host}"><button${isVerified ? '' : html` class="main"`} data-key="${host} verify" aria-label="${isVerified ? 'Re-verify' : 'Verify'} ${host}">${isVerified ? 'Re-verify' : 'Verify'}</button></form>`}
${remove && html`<a class="button" data-key="${host} remove" href="${projectPath(place)}/remove?${new URLSearchParams({host}).toString()}" aria-label="Remove ${host}">Remove</a>`}
</div>`;
}

/** One line, for a page with many hosts. */
export function hostRow(advice: HostAdvice, place: Place): Markup {
  const word = stateWord(advice);
  return html`<li ${identity(advice)}><a data-key="${advice.host}" href="${hostPath(place, advice.host)}"><bdi>${advice.host}</bdi></a> <span class="state ${word}">${word}</span>
${advice.redirectTo !== undefined && html`<span class="quiet">redirects to <bdi>${advice.redirectTo}</bdi></span>`}
${advice.next && html`<span class="quiet">${advice.next.condition.reason}</span>`}</li>`;
}

export function time(text: string): Markup {
  return html`<time datetime="${text}">${text.replace('T', ' ').replace('Z', ' UTC')}</time>`;
}
