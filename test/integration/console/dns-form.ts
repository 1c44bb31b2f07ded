/**
 * The form of a DNS provider, as owners of domains know it: one zone, whose records have a name relative to it. It is
 * not one of Nameplate's pages.
 */
import {once} from 'node:events';
import type {AddressInfo} from 'node:net';
import {createAdaptorServer} from '@hono/node-server';
import {Hono} from 'hono';
import {html} from 'hono/html';
import type {NameServers} from '../operator/name-servers.ts';

const TYPES = ['A', 'AAAA', 'CNAME', 'TXT'];

/** Creates the zone with these records; each name has at most one of a type. */
export async function startDnsForm(
  dns: Pick<NameServers, 'addZone' | 'set'>,
  zone: string,
  first: readonly DnsRecord[],
) {
  await dns.addZone(zone);
  for (const {type, name, value} of first) await dns.set(absolute(zone, name), type, [value]);
  const records = [...first];
  const app = new Hono();
  app.get('/', context => context.html(page(zone, records, context.req.query('error') ?? '')));
  app.post('/', async context => {
    const {type = '', name = '', value = ''} = (await context.req.parseBody()) as Record<string, string>;
    const change = value === '' ? 'delete' : 'add';
    const same = records.findIndex(each => each.type === type && each.name === name);
    const kept = records.filter((_, index) => index !== same);
    const error = change === 'add' ? await problemOf(dns, zone, kept, {type, name, value}) : undefined;
    if (error !== undefined) return context.redirect(`/?${new URLSearchParams({error})}`, 303);
    if (change === 'delete') await dns.set(absolute(zone, name), type, []);
    records.splice(0, Infinity, ...kept, ...(change === 'add' ? [{type, name, value}] : []));
    return context.redirect('/', 303);
  });
  const server = createAdaptorServer({fetch: app.fetch});
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    stop: async () => {
      const closed = once(server, 'close');
      server.close();
      await closed;
    },
  };
}

interface DnsRecord {
  readonly type: string;
  /** Relative to the zone; "@" for the zone itself. */
  readonly name: string;
  readonly value: string;
}

function absolute(zone: string, name: string): string {
  return name === '@' || name === '' ? zone : `${name}.${zone}`;
}

/** Creates the record. */
async function problemOf(
  dns: Pick<NameServers, 'set'>,
  zone: string,
  others: readonly DnsRecord[],
  {type, name, value}: DnsRecord,
): Promise<string | undefined> {
  if (!TYPES.includes(type)) return 'Choose a type.';
  const beside = others.filter(each => each.name === name);
  if (beside.some(each => each.type === 'CNAME') || (type === 'CNAME' && beside.length > 0)) {
    return `A CNAME record cannot be beside other records of ${name}. Delete these first.`;
  }
  const set = dns.set(absolute(zone, name), type, [value.replace(/\.$/, '')]);
  return await set.then(
    () => undefined,
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );
}

function page(zone: string, records: readonly DnsRecord[], error: string) {
  const rows = records.map(
    ({type, name, value}) => html`<tr><td>${type}</td><td>${name}</td><td>${value}</td><td>
      <form method="post"><input type="hidden" name="type" value="${type}"><input type="hidden" name="name" value="${name}">
      <button>Delete</button></form></td></tr>`,
  );
  return html`<!doctype html><html lang="en"><meta charset="utf-8"><title>DNS of ${zone}</title>
<h1>DNS records of ${zone}</h1><p role="alert">${error}</p>
<table><tr><th>Type</th><th>Name</th><th>Value</th><th></th></tr>${rows}</table>
<h2>Add a record</h2><form method="post">
<label>Type <select name="type">${TYPES.map(type => html`<option>${type}</option>`)}</select></label>
<label>Name <input name="name" placeholder="@" required></label>
<label>Value <input name="value" required></label> <button>Add record</button></form>
<p>A name is relative to ${zone}; @ is ${zone} itself.</p></html>`;
}
