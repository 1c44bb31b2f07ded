/** The frame of every page. */
import type {UserSession} from '../access/sessions.ts';
import {icon, script, style} from './assets.ts';
import {html, type Markup} from './html.ts';

/** The hidden field of every form. */
export const FORM_TOKEN = 'form-token';

export interface PageOptions {
  readonly title: string;
  readonly body: Markup;
  /** Undefined: nobody is signed in. */
  readonly session?: UserSession | undefined;
  /** The addresses of the page's events, and of the page itself: it may be the response to a form. */
  readonly live?: {readonly events: string; readonly reload: string};
}

const ENDED = 'This page is no longer updated.';

export function page({title, body, session, live}: PageOptions): Markup {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · Nameplate</title>
<link rel="icon" href="${icon.path}">
<link rel="stylesheet" href="${style.path}">
<script src="${script.path}" defer></script>
</head>
<body${live === undefined ? '' : html` data-live="${live.events}" data-ended="${ENDED}"`}>
<a class="skip" href="#main">Skip to content</a>
<header>
<a href="/"><strong>Nameplate</strong></a>
${session && userBar(session)}
</header>
<main id="main">
<p id="status" class="heard" role="status"></p>
${live !== undefined && html`<p id="ended" hidden>${ENDED} <a id="reload" href="${live.reload}">Load it again</a></p>`}
${body}
</main>
</body>
</html>
`;
}

function userBar(session: UserSession): Markup {
  return html`${session.mayListAll && html`<a href="/platform">All domains</a>`}
<span class="who">Signed in as <bdi>${session.name}</bdi></span>
<form method="post" action="/sign-out">${formToken(session)}<button class="small">Sign out</button></form>`;
}

export function formToken({formToken: value}: UserSession): Markup {
  return html`<input type="hidden" name="${FORM_TOKEN}" value="${value}">`;
}

/** A page that only says something. `next`: what the reader can do. */
export function messagePage(title: string, text: string, next?: Markup, session?: UserSession): Markup {
  return page({title, session, body: html`<h1>${title}</h1><p>${text}</p>${next}`});
}
