import {isIP} from 'node:net';
import {domainToASCII, domainToUnicode} from 'node:url';
import {parse} from 'tldts';

declare const hostBrand: unique symbol;
/** A host that may become a custom domain: lower-case A-labels (LDH), no trailing dot, below a public suffix. */
export type Host = string & {readonly [hostBrand]: true};

type ParsedHost = {readonly ok: true; readonly host: Host} | {readonly ok: false; readonly problem: string};

const MAX_HOST = 253;
const MAX_LABEL = 63;
/** Let's Encrypt issues for no host with more labels (Boulder, policy/pa.go). */
const MAX_LABELS = 10;

/**
 * Names that no public DNS server answers for, so no public CA issues for them: the special-use domain names of IANA
 * (https://www.iana.org/assignments/special-use-domain-names), and `internal`, which ICANN reserved for private use.
 * `test` and `example` are missing: a platform that is itself a test has names there, and its own DNS and CA.
 */
const SPECIAL_USE = ['alt', 'arpa', 'internal', 'invalid', 'local', 'localhost', 'onion'];

/** Accepts what a person types: any case, one trailing dot. A problem says what is wrong and what to write instead. */
export function parseHost(text: string): ParsedHost {
  const host = text.replace(/\.$/, '').toLowerCase();
  const problem = problemOfHost(host);
  return problem === undefined ? {ok: true, host: host as Host} : {ok: false, problem};
}

function problemOfHost(host: string): string | undefined {
  if (host === '') return 'the host is empty: write a name such as shop.example.com';
  if (isIP(host) !== 0 || isIP(host.replace(/^\[(.*)\]$/, '$1')) !== 0) {
    return `${host} is an IP address: a certificate and a CNAME record need a domain name`;
  }
  if (/^[a-z][a-z0-9+.-]*:\/\//.test(host) || /[/:?#@]/.test(host)) {
    return 'write only the host, such as shop.example.com, without scheme, port, or path';
  }
  if (host.startsWith('*.')) return 'wildcards are not supported: list each host separately';
  if (/[^\x20-\x7e]/.test(host)) return problemOfUnicode(host);
  if (host.length > MAX_HOST) return `the host is longer than ${MAX_HOST} characters`;
  const labels = host.split('.');
  for (const label of labels) {
    const problem = problemOfLabel(label);
    if (problem !== undefined) return problem;
  }
  if (labels.length > MAX_LABELS) {
    return `the host has ${labels.length} labels, and certificate authorities issue for at most ${MAX_LABELS}: use a shorter name`;
  }
  return problemOfSuffix(host);
}

function problemOfUnicode(host: string): string {
  const ascii = domainToASCII(host);
  const usable = ascii !== '' && ascii.split('.').every(label => problemOfLabel(label) === undefined);
  if (usable) return `internationalized names must be A-labels: write ${ascii}`;
  const [strange = ''] = host.match(/[^\x20-\x7e]/u) ?? [];
  const code = strange.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0');
  return `the host has a character that no domain name can have (U+${code}): remove it`;
}

function problemOfLabel(label: string): string | undefined {
  if (label === '') return 'the host has an empty label: two dots in a row, or a dot at its start';
  if (label.length > MAX_LABEL) return `the label ${label.slice(0, 20)}... is longer than ${MAX_LABEL} characters`;
  if (label.includes('_'))
    return `the label ${label} has an underscore: host names have only letters, digits, and hyphens`;
  if (label.includes(' ')) return `the label ${label} has a space: remove it`;
  const [strange] = label.match(/[^a-z0-9-]/) ?? [];
  if (strange !== undefined)
    return `the label ${label} has a ${strange}: labels have only letters, digits, and hyphens`;
  if (label.startsWith('-') || label.endsWith('-')) return `the label ${label} starts or ends with a hyphen`;
  if (label.slice(2, 4) !== '--') return undefined;
  if (!label.startsWith('xn--')) return `the label ${label} has hyphens in positions 3 and 4: CAs reject such names`;
  const unicode = domainToUnicode(label);
  const valid = unicode !== '' && unicode !== label && domainToASCII(unicode) === label;
  return valid ? undefined : `the label ${label} is not a valid internationalized label`;
}

function problemOfSuffix(host: string): string | undefined {
  if (!host.includes('.')) return `${host} has no dot: write the full name, such as ${host}.example.com`;
  if (/(?:^|\.)\d+$/.test(host)) return `${host} ends in a number: no such top-level domain exists`;
  const special = SPECIAL_USE.find(name => host.endsWith(`.${name}`));
  if (special !== undefined) {
    return `names below .${special} are not in the public DNS, so no certificate authority issues for them: use a name of a domain that you have registered`;
  }
  if (registrableDomain(host) === undefined) {
    return `${host} is a public suffix, which nobody can own: use a name below it`;
  }
  return undefined;
}

/** The Public Suffix List, private section included. */
function parseSuffix(host: string, allowPrivateDomains = true) {
  return parse(host, {allowPrivateDomains, extractHostname: false, validateHostname: false, detectIp: false});
}

/**
 * The name directly below the public suffix, as a registrar sells it; undefined for a public suffix itself. A suffix of
 * the private section was sold, too: its owner lets others use the names below it.
 */
export function registrableDomain(host: string): string | undefined {
  return parseSuffix(host).domain ?? parseSuffix(host, false).domain ?? undefined;
}

/** According to the Public Suffix List. In the DNS, other names can be apexes too; the verdict says so. */
export function isApex(host: string): boolean {
  return registrableDomain(host) === host;
}

/** Whether a name is a TLD or another public suffix, under which others than its owner have names. */
export function isPublicSuffix(name: string): boolean {
  return parseSuffix(name).publicSuffix === name;
}

/** Whether it is the zone of a registry, or the root: no customer of a DNS provider edits it. */
export function isRegistrySuffix(name: string): boolean {
  return name === '.' || parseSuffix(name, false).publicSuffix === name;
}

/**
 * The entry for the name field of a DNS provider's form: the name relative to the zone. If the zone is not known, it
 * is the registrable domain, as at nearly every provider. `@` is the zone's own name.
 */
export function formLabel(recordName: string, knownZone?: string): string {
  const zone = knownZone ?? registrableDomain(recordName.replace(/^(?:_[^.]+\.)+/, '')) ?? recordName;
  return recordName === zone ? '@' : recordName.slice(0, -zone.length - 1);
}
