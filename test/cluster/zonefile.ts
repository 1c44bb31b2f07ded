import {isIPv4, isIPv6} from 'node:net';

/** The text of a zone file: one record per line, absolute names, the SOA first. Pure. */

export interface ZoneRecord {
  /** Absolute, without the trailing dot. */
  readonly name: string;
  readonly ttl: number;
  readonly type: string;
  /** As in a zone file. */
  readonly value: string;
}

export interface ZoneFile {
  readonly zone: string;
  readonly primary: string;
  readonly serial: number;
  readonly records: readonly ZoneRecord[];
}

const NEGATIVE_TTL = 1;

export function formatZone({zone, primary, serial, records}: ZoneFile): string {
  const soa = `${dotted(zone)} ${NEGATIVE_TTL} IN SOA ${dotted(primary)} hostmaster.dns.test. ${serial} 60 60 600 ${NEGATIVE_TTL}`;
  const lines = records.map(({name, ttl, type, value}) => `${dotted(name)} ${ttl} IN ${type} ${value}`);
  return `${[soa, ...lines].join('\n')}\n`;
}

export function parseZone(text: string): ZoneFile {
  const [soa = '', ...lines] = text.trimEnd().split('\n');
  const [zone = '', , , , primary = '', , serial] = soa.split(' ');
  const records = lines.map(line => {
    const [name = '', ttl, , type = '', ...value] = line.split(' ');
    return {name: undotted(name), ttl: Number(ttl), type, value: value.join(' ')};
  });
  return {zone: undotted(zone), primary: undotted(primary), serial: Number(serial), records};
}

/**
 * Converts a value as a person writes it to the form that a zone file requires: absolute names, quoted strings of at
 * most 255 bytes. Throws if it is malformed, because the server would refuse the whole zone.
 */
export function formatValue(type: string, value: string): string {
  if (!isWellFormed(type, value)) throw new Error(`${JSON.stringify(value)} is no value for a record of type ${type}`);
  switch (type) {
    case 'CNAME':
    case 'DNAME':
    case 'NS':
      return dotted(value);
    case 'MX': {
      const [preference = '', host = ''] = value.split(' ');
      return `${preference} ${dotted(host)}`;
    }
    case 'TXT':
      return value.startsWith('"') ? value : quoted(value);
    default:
      return value;
  }
}

function isWellFormed(type: string, value: string): boolean {
  if (value === '' || value.includes('\n')) return false;
  switch (type) {
    case 'A':
      return isIPv4(value);
    case 'AAAA':
      return isIPv6(value);
    case 'CNAME':
    case 'DNAME':
    case 'NS':
      return !/\s/.test(value);
    case 'MX':
      return /^\d+ \S+$/.test(value);
    case 'CAA':
      return /^\d+ [a-z0-9]+ "[^"]*"$/.test(value);
    default:
      return true;
  }
}

function quoted(text: string): string {
  const parts = text.match(/[\s\S]{1,255}/g) ?? [''];
  return parts.map(part => `"${part.replace(/["\\]/g, '\\$&')}"`).join(' ');
}

function dotted(name: string): string {
  return name.endsWith('.') ? name : `${name}.`;
}

export function undotted(name: string): string {
  return name.replace(/\.$/, '').toLowerCase();
}
