/** The records to create, each beside what was found. */
import type {HostAdvice} from '../../advice/host.ts';
import type {Provider} from '../../advice/providers.ts';
import type {Alternative, RecordAdvice} from '../../advice/records.ts';
import {html, type Markup} from './html.ts';

export function recordsSection({host, records, alternatives, provider, isVerified}: HostAdvice): Markup | undefined {
  if (records.length === 0) return undefined;
  const open = isVerified ? '' : html` open`;
  const count = records.length === 1 ? 'The DNS record' : `The ${records.length} DNS records`;
  return html`<details${open}><summary>${count}${isVerified ? '' : ' to create'}</summary>
${!isVerified && providerSteps(provider)}
${records.map(record => recordCard(host, record))}
${alternatives.map(each => alternative(host, each))}
</details>`;
}

function providerSteps(provider: Provider | undefined): Markup {
  if (!provider) return html`<p>Sign in where the domain's DNS is managed, and create this there.</p>`;
  return html`<p>The name servers are those of <strong>${provider.name}</strong>. There, open:</p>
<ol class="path">${provider.path.map(step => html`<li>${step}</li>`)}</ol>
${provider.note !== undefined && html`<p>${provider.note}</p>`}`;
}

/** The words are those of the CRD. */
const WHEN: Readonly<Record<Alternative['to'], string>> = {
  ALIAS: 'If your provider has no ALIAS records (ANAME, CNAME flattening), create these instead',
  addresses: 'If your provider has ALIAS records (ANAME, CNAME flattening), create this one instead of A and AAAA',
  TXT: 'Instead of the TXT record, you can delegate the ACME challenge',
};

function alternative(host: string, {to, records}: Alternative): Markup {
  return html`<details><summary>${WHEN[to]}</summary>${records.map(record => recordCard(host, record))}</details>`;
}

function recordCard(host: string, {required, label, type, observed, isFound}: RecordAdvice): Markup {
  const key = `${host} ${required.type} ${required.value}`;
  return html`<div class="record"><dl>
<dt>Type</dt><dd>${type}</dd>
<dt>Name</dt><dd>${label === '' ? 'leave it empty' : copyable(label, 'name', key)} <span class="quiet">(in full: <bdi>${required.name}</bdi>)</span></dd>
<dt>Value</dt><dd>${copyable(required.value, 'value', key)}</dd>
<dt>TTL</dt><dd>${required.ttl} seconds</dd>
<dt>Found</dt><dd>${found(observed, isFound)}</dd>
</dl></div>`;
}

function found(observed: RecordAdvice['observed'], isFound: boolean): Markup | string {
  if (observed.length === 0) return isFound ? '✓ this record' : 'not yet';
  return html`${isFound && '✓ this record, and '}${observed.map(
    ({type, value, server}) =>
      html`<div>✗ ${type} <code><bdi>${value}</bdi></code> <span class="quiet">at <bdi>${server}</bdi></span></div>`,
  )}`;
}

function copyable(text: string, what: string, key: string): Markup {
  return html`<code class="value" dir="ltr">${text}</code>
<button type="button" class="small" hidden data-copy="${text}" data-copied="Copied the ${what}." data-key="${key} ${what}" aria-label="Copy the ${what} ${text}">Copy</button>`;
}
