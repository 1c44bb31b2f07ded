/** How messages name records and servers. Untrusted text is escaped and truncated. */
import {escapeText} from '../names/wire-names.ts';
import type {SilentServer} from '../resolve/directory.ts';
import type {ResourceRecord} from '../wire/codec.ts';

const MAX_LISTED = 4;
const MAX_NAME = 100;

/** An untrusted name, truncated. A canonical name is already printable ASCII. */
export function quoteName(name: string): string {
  return name.length <= MAX_NAME ? name : `${name.slice(0, MAX_NAME - 3)}...`;
}

/** A record in zone file notation, without TTL and class. */
export function formatRecord(record: ResourceRecord): string {
  return `${quoteName(record.name)}. ${record.type} ${formatValue(record)}`;
}

export function formatValue(record: ResourceRecord): string {
  switch (record.type) {
    case 'A':
    case 'AAAA':
      return record.address;
    case 'CNAME':
    case 'NS':
    case 'DNAME':
      return record.target === '.' ? '.' : `${quoteName(record.target)}.`;
    case 'SOA':
      return `minimum ${record.minimum}`;
    case 'TXT':
      return `"${escapeText(record.text)}"`;
    case 'CAA':
      return `${record.critical ? 128 : 0} ${escapeText(record.tag, 30)} "${escapeText(record.value)}"`;
  }
}

export function listed(items: readonly string[]): string {
  const unique = [...new Set(items)];
  const rest = unique.length - MAX_LISTED;
  return rest > 0 ? `${unique.slice(0, MAX_LISTED).join(', ')} and ${rest} more` : unique.join(', ');
}

export function listServers(answers: readonly {readonly server: string}[]): string {
  return listed(answers.map(({server}) => quoteName(server)));
}

export function listSilent(silent: readonly SilentServer[]): string {
  return listed(silent.map(({server, detail}) => `${quoteName(server)}: ${detail}`).sort());
}
