/** The style and the script of all pages, under names that change with their content. */
import {createHash} from 'node:crypto';

const STYLE = `
:root {
  color-scheme: light dark;
  --text: light-dark(#1b1f24, #e8eaed);
  --quiet: light-dark(#545d68, #a3acb6);
  --page: light-dark(#f6f7f9, #14171b);
  --card: light-dark(#fff, #1d2126);
  --line: light-dark(#d5dae0, #363c44);
  --accent: light-dark(#1a56c4, #8ab4ff);
  --on-accent: light-dark(#fff, #0c1526);
  --good: light-dark(#146c37, #6fd391);
  --warn: light-dark(#855100, #f3b95f);
  --bad: light-dark(#b3261e, #ff9d94);
}
* { box-sizing: border-box; }
html { font: 1rem/1.5 system-ui, sans-serif; background: var(--page); color: var(--text); scrollbar-gutter: stable; }
body { margin: 0; }
a { color: var(--accent); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
.skip { position: absolute; inset-inline-start: 1rem; inset-block-start: -4rem; }
.skip:focus { inset-block-start: .5rem; background: var(--card); padding: .25rem .75rem; }
body > header, main { max-width: 60rem; margin-inline: auto; padding-inline: 1rem; }
body > header { display: flex; flex-wrap: wrap; gap: .5rem 1.25rem; align-items: center; padding-block: .75rem; }
body > header .who { margin-inline-start: auto; color: var(--quiet); overflow-wrap: anywhere; }
main { padding-block-end: 4rem; }
h1 { font-size: 1.6rem; line-height: 1.25; margin-block: 1rem .25rem; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin-block: 1.5rem .5rem; overflow-wrap: anywhere; }
h3 { font-size: 1rem; margin-block: 1rem .25rem; }
p { margin-block: .4rem; max-width: 72ch; overflow-wrap: anywhere; }
/* Only for screen readers: the page shows the same in another way, and must not move. */
.heard { position: absolute; inline-size: 1px; block-size: 1px; margin: 0; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.quiet { color: var(--quiet); }
.card { background: var(--card); border: 1px solid var(--line); border-radius: .6rem; padding: 1rem 1.25rem; margin-block: .75rem; }
.card > h2:first-child { margin-block-start: 0; }
.head { display: flex; flex-wrap: wrap; gap: .25rem .75rem; align-items: baseline; }
.head h1, .head h2 { margin: 0; }
.head > :has(.button) { margin-inline-start: auto; }
.state { font-weight: 600; white-space: nowrap; }
.state::before { content: ""; display: inline-block; inline-size: .65em; block-size: .65em; border-radius: 50%; background: currentColor; margin-inline-end: .4em; }
.Live { color: var(--good); }
.Unverified, .Verified, .New { color: var(--warn); }
.Blocked, .Degraded { color: var(--bad); }
.next { border-inline-start: 4px solid var(--warn); padding-inline-start: .75rem; margin-block: .75rem; }
.next.nobody, .next.ca { border-color: var(--line); }
.problem { color: var(--bad); font-weight: 500; }
.notice { border-inline-start: 4px solid var(--good); padding-inline-start: .75rem; }
.record { border: 1px solid var(--line); border-radius: .4rem; padding: .6rem .9rem; margin-block: .5rem; }
dl { display: grid; grid-template-columns: minmax(5.5rem, max-content) 1fr; gap: .3rem 1rem; margin: 0; }
dt { color: var(--quiet); }
dd { margin: 0; min-inline-size: 0; overflow-wrap: anywhere; }
code, pre { font: .92em/1.45 ui-monospace, monospace; overflow-wrap: anywhere; }
pre { white-space: pre-wrap; background: var(--page); border: 1px solid var(--line); border-radius: .4rem; padding: .75rem; }
.value { user-select: all; }
ol.path { display: flex; flex-wrap: wrap; gap: .2rem .5rem; list-style: none; padding: 0; margin-block: .4rem; }
ol.path li { font-weight: 500; }
ol.path li + li::before { content: "›" / ""; margin-inline-end: .5rem; color: var(--quiet); }
ul.plain { padding-inline-start: 1.25rem; margin-block: .4rem; }
ul.rows { list-style: none; padding: 0; margin: 0; }
ul.rows li { padding-block: .5rem; border-block-end: 1px solid var(--line); display: flex; flex-wrap: wrap; gap: .15rem .9rem; }
ul.rows li:last-child { border: 0; }
.parts { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; padding: 0; list-style: none; margin-block: .6rem; }
label, legend { font-weight: 500; }
fieldset { border: 0; padding: 0; margin: .5rem 0; }
label.choice { display: block; font-weight: 400; padding-block: .2rem; }
input[type=text], select { font: inherit; color: inherit; background: var(--page); border: 1px solid var(--quiet); border-radius: .35rem; padding: .4rem .6rem; inline-size: min(100%, 28rem); }
input[aria-invalid=true] { border-color: var(--bad); }
button, .button { font: inherit; min-block-size: 2.25rem; padding: .3rem .9rem; border-radius: .4rem; border: 1px solid var(--quiet); background: var(--card); color: inherit; cursor: pointer; text-decoration: none; display: inline-block; }
button.main { background: var(--accent); color: var(--on-accent); border-color: var(--accent); }
button.danger { background: var(--bad); color: var(--page); border-color: var(--bad); }
button.small { min-block-size: 1.75rem; padding: 0 .6rem; font-size: .85rem; }
.actions { display: flex; flex-wrap: wrap; gap: .6rem; align-items: center; margin-block-start: .75rem; }
.actions form { margin: 0; }
summary { cursor: pointer; }
[hidden] { display: none !important; }
@media (prefers-reduced-motion: no-preference) { .changed { animation: changed 1.5s; } }
@keyframes changed { from { border-color: var(--accent); } }
@media (max-width: 30rem) { dl { grid-template-columns: 1fr; gap: 0; } dd { margin-block-end: .4rem; } }
`;

/**
 * Shows the copy buttons, and keeps the page current while somebody looks at it. Without it, everything works. The page
 * itself is rendered on the server, so this script inserts only markup that the server has sent.
 */
const SCRIPT = `
'use strict';
const announce = text => { const status = document.getElementById('status'); if (status) status.textContent = text; };
const showCopy = within => { for (const button of within.querySelectorAll('[data-copy]')) button.hidden = false; };
addEventListener('click', async event => {
  const button = event.target.closest?.('[data-copy]');
  if (!button) return;
  await navigator.clipboard.writeText(button.dataset.copy);
  announce(button.dataset.copied);
  const label = button.textContent;
  button.textContent = '✓';
  setTimeout(() => { button.textContent = label; }, 1500);
});
const replace = (id, card, row) => {
  const list = document.getElementById('hosts');
  const old = document.getElementById(id);
  if (card === '') { old?.remove(); return; }
  if (!list || (!old && !list.dataset.complete)) return;
  const markup = old?.tagName === 'LI' ? row : card;
  const fresh = new DOMParser().parseFromString(markup, 'text/html').getElementById(id);
  if (!fresh || old?.dataset.version === fresh.dataset.version) return;
  const open = old ? [...old.querySelectorAll('details')].map(each => each.open) : [];
  if (old?.dataset.state === fresh.dataset.state) [...fresh.querySelectorAll('details')].forEach((each, index) => { each.open = open[index] ?? each.open; });
  const focused = old?.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
  const before = old?.dataset.state;
  showCopy(fresh);
  fresh.classList.add('changed');
  if (old) old.replaceWith(fresh); else list.append(fresh);
  if (focused) fresh.querySelector('[data-key="' + CSS.escape(focused) + '"]')?.focus({preventScroll: true});
  if (before !== fresh.dataset.state) announce(fresh.dataset.says);
};
let live = document.body.dataset.live;
let source;
const over = () => { source?.close(); announce(document.body.dataset.ended); document.getElementById('ended')?.removeAttribute('hidden'); };
// A session that ends costs one silent redirect, unless the reader has typed something, or has only just come.
const isUntouched = () => performance.now() > 10000 && ![...document.querySelectorAll('input, select')].some(field => field.matches(':focus') || (field.type === 'text' && field.value !== field.defaultValue));
// The server renders them, so a page gets its own again. What was typed stays, as does the focus on it.
const renewActions = async () => {
  const answer = await fetch(document.getElementById('reload').href, {redirect: 'error'});
  if (!answer.ok) throw new Error('status ' + answer.status);
  const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
  for (const old of document.querySelectorAll('[data-actions]')) {
    const fresh = page.getElementById(old.id);
    if (fresh === null) { old.replaceChildren(); continue; }
    const [typed, field] = [old.querySelector('#host'), fresh.querySelector('#host')];
    const isTyping = typed !== null && document.activeElement === typed;
    if (old.isEqualNode(fresh)) continue;
    old.replaceWith(fresh);
    if (typed && field) field.value = typed.value;
    if (isTyping) field?.focus({preventScroll: true});
  }
};
const connect = () => {
  if (!live || source || document.hidden) return;
  source = new EventSource(live);
  source.addEventListener('host', event => { const {id, card, row} = JSON.parse(event.data); replace(id, card, row); });
  source.addEventListener('actions', event => {
    live = live.replace(/from=[^.]*/, 'from=' + event.data);
    renewActions().catch(over);
  });
  source.addEventListener('at', event => { live = live.replace(/\\d+$/, event.lastEventId); });
  source.addEventListener('end', () => { if (isUntouched()) location.replace(document.getElementById('reload').href); else over(); });
  source.addEventListener('error', () => { if (source?.readyState === EventSource.CLOSED) over(); });
};
const disconnect = () => { source?.close(); source = undefined; };
document.addEventListener('visibilitychange', () => (document.hidden ? disconnect() : connect()));
addEventListener('pagehide', disconnect);
addEventListener('pageshow', connect);
showCopy(document);
`;

const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect x="2" y="8" width="28" height="16" rx="4" fill="#1a56c4"/><circle cx="8" cy="16" r="2" fill="#fff"/><rect x="13" y="14" width="12" height="4" rx="2" fill="#fff"/></svg>`;

export interface Asset {
  readonly path: string;
  readonly type: string;
  readonly content: string;
}

function asset(name: string, extension: string, type: string, content: string): Asset {
  const hash = createHash('sha256').update(content).digest('base64url').slice(0, 12);
  return {path: `/assets/${name}-${hash}.${extension}`, type, content};
}

export const style = asset('style', 'css', 'text/css; charset=utf-8', STYLE);
export const script = asset('live', 'js', 'text/javascript; charset=utf-8', SCRIPT);
export const icon = asset('icon', 'svg', 'image/svg+xml', ICON);
export const ASSETS: readonly Asset[] = [style, script, icon];
