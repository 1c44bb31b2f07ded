/** `kubectl nameplate records`: the DNS records to create, in the form that a tool reads. */
import {stringify} from 'yaml';
import {printable} from '../operations/untrusted-text.ts';
import type {Domain, RequiredRecord} from '../operator/kinds/kinds.ts';
import type {DeepReadonly} from '../runtime/kube/object.ts';

export const FORMATS = ['table', 'zone', 'terraform', 'external-dns', 'json'] as const;
export type Format = (typeof FORMATS)[number];

/** An ALIAS is not a DNS type: a zone file or a dynamic update cannot have it. */
const NOT_DNS = 'is a feature of the DNS provider, not a record type. Create it there';

export function recordsOf(domains: readonly DeepReadonly<Domain>[]): readonly DeepReadonly<RequiredRecord>[] {
  const all = domains.flatMap(({status}) => status?.dns?.required ?? []);
  return [...new Map(all.map(record => [`${record.type} ${record.name} ${record.value}`, record])).values()];
}

const printers: Readonly<Record<Format, (records: readonly DeepReadonly<RequiredRecord>[]) => string>> = {
  table,
  zone: records => oneOfEach(records).map(zoneLine).join(''),
  terraform: records => grouped(oneOfEach(records)).map(terraformBlock).join('\n'),
  'external-dns': records => externalDns(grouped(oneOfEach(records))),
  json: records => `${JSON.stringify(records, null, 2)}\n`,
};

export function printRecords(records: readonly DeepReadonly<RequiredRecord>[], format: Format): string {
  return printers[format](records);
}

function table(records: readonly DeepReadonly<RequiredRecord>[]): string {
  const rows = [
    ['TYPE', 'NAME', 'IN A FORM', 'VALUE', 'TTL', records.some(({insteadOf}) => insteadOf) ? 'INSTEAD OF' : ''],
    ...records.map(({type, name, label, value, ttl, insteadOf = ''}) => [
      type,
      name,
      label,
      value,
      `${ttl}`,
      insteadOf,
    ]),
  ];
  const widths = [0, 1, 2, 3, 4].map(column => Math.max(...rows.map(row => row[column]?.length ?? 0)));
  return rows
    .map(
      row =>
        `${row
          .map((cell, index) => cell.padEnd(widths[index] ?? 0))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('');
}

/** RFC 1035, section 5. */
function zoneLine({type, name, value, ttl}: DeepReadonly<RequiredRecord>): string {
  if (type === 'ALIAS') return `; ${zoneName(name)} ${NOT_DNS}: ALIAS ${zoneName(value)}\n`;
  return `${zoneName(name)} ${ttl} IN ${type} ${zoneValue(type, value)}\n`;
}

function zoneValue(type: string, value: string): string {
  if (type === 'TXT') return zoneText(value);
  return isAddress(type) ? zoneBytes(value, /[\da-f:.]/) : zoneName(value);
}

function isAddress(type: string): boolean {
  return type === 'A' || type === 'AAAA';
}

/** Of each two alternatives, the one that every DNS server has: addresses, and the TXT record. */
function oneOfEach(records: readonly DeepReadonly<RequiredRecord>[]): readonly DeepReadonly<RequiredRecord>[] {
  const addressed = new Set(records.filter(({type}) => isAddress(type)).map(({name}) => name));
  const isNeedless = ({type, name, insteadOf}: DeepReadonly<RequiredRecord>) =>
    insteadOf === 'TXT' || (type === 'ALIAS' && addressed.has(name));
  return records.filter(record => !isNeedless(record));
}

/** All values of one name and type: a tool that manages records manages them together. */
type RecordSet = Omit<RequiredRecord, 'value'> & {readonly values: string[]};

function grouped(records: readonly DeepReadonly<RequiredRecord>[]): readonly RecordSet[] {
  const sets = new Map<string, RecordSet>();
  for (const {value, ...record} of records) {
    const key = isAddress(record.type) ? `${record.type} ${record.name}` : `${record.type} ${record.name} ${value}`;
    const set = sets.get(key) ?? {...record, values: []};
    sets.set(key, set);
    set.values.push(value);
  }
  return [...sets.values()];
}

/** A block for the provider hashicorp/dns, which sends dynamic updates to any server (RFC 2136). */
function terraformBlock(set: RecordSet): string {
  const {type, name, label, ttl, values: all} = set;
  const [value = ''] = all;
  if (type === 'ALIAS') return `# ${printable(name)} ${NOT_DNS}: ALIAS ${printable(value)}\n`;
  // The label is relative to the zone that DNS shows, which may be a delegated one.
  const zone = label === '@' ? name : name.slice(label.length + 1);
  const [kind, values] = isAddress(type)
    ? [`dns_${type.toLowerCase()}_record_set`, `addresses = [${all.map(hclString).join(', ')}]`]
    : type === 'TXT'
      ? ['dns_txt_record_set', `txt   = [${hclString(value)}]`]
      : ['dns_cname_record', `cname = ${hclString(`${value}.`)}`];
  return [
    `resource "${kind}" "nameplate_${name.replace(/[^\w-]/g, '_')}" {`,
    `  zone  = ${hclString(`${zone}.`)}`,
    ...(label === '@' ? [] : [`  name  = ${hclString(label)}`]),
    `  ${values}`,
    `  ttl   = ${ttl}`,
    '}\n',
  ].join('\n');
}

/** A DNSEndpoint, the source `crd` of external-dns. Providers that know aliases create them from a CNAME at an apex. */
function externalDns(sets: readonly RecordSet[]): string {
  const endpoints = sets.map(({type, name, values, ttl}) => ({
    dnsName: name,
    recordType: type === 'ALIAS' ? 'CNAME' : type,
    recordTTL: ttl,
    targets: values,
  }));
  const metadata = {name: 'nameplate'};
  return stringify({apiVersion: 'externaldns.k8s.io/v1alpha1', kind: 'DNSEndpoint', metadata, spec: {endpoints}});
}

/**
 * In a zone file, a backslash and three digits are one byte of a name or a text. The records come from a status, which
 * a role with every verb may write where the policy on it is off.
 */
function zoneBytes(text: string, plain: RegExp): string {
  const escaped = Array.from(Buffer.from(text), byte => {
    const character = String.fromCharCode(byte);
    return byte < 0x80 && plain.test(character) ? character : `\\${String(byte).padStart(3, '0')}`;
  });
  return escaped.join('');
}

const zoneName = (name: string) => `${zoneBytes(name, /[\w.*-]/)}.`;
const zoneText = (text: string) => `"${zoneBytes(text, /[^"\\\p{C}]/u)}"`;

/**
 * `${` and `%{` begin a template, which can read files.
 * https://developer.hashicorp.com/terraform/language/expressions/strings
 */
function hclString(text: string): string {
  return JSON.stringify(text).replace(/[$%](?=\{)/g, '$&$&');
}
