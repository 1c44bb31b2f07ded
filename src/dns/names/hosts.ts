import {isIP} from 'node:net';
import {domainToASCII, domainToUnicode} from 'node:url';
import {parse} from 'tldts';

declare const hostBrand: unique symbol;
/**
 * A host that may become a custom domain: lower-case A-labels (LDH), no trailing dot, below a public suffix; or `*.` and
 * such a host.
 */
export type Host = string & {readonly [hostBrand]: true};

type ParsedHost = {readonly ok: true; readonly host: Host} | {readonly ok: false; readonly problem: string};

const MAX_HOST = 253;
const MAX_LABEL = 63;
/** Let's Encrypt issues for no host with more labels (Boulder, policy/pa.go). */
const MAX_LABELS = 10;

/**
 * Names that no public DNS server answers for, so no public CA issues for them: the special-use domain names of IANA
 * (https://www.iana.org/assignments/special-use-domain-names), and `internal`, which ICANN reserved for private use.
 * `test` and `example` are left out: a platform that is itself a test has names there, and its own DNS and CA.
 */
const SPECIAL_USE = ['alt', 'arpa', 'internal', 'invalid', 'local', 'localhost', 'onion'];

/** `*.example.com`: each name directly below `example.com` that has no records of its own. */
export function isWildcard(host: string): boolean {
  return host.startsWith('*.');
}

/** Accepts what a person types: any case, one trailing dot. A problem says what is wrong and what to write instead. */
export function parseHost(text: string): ParsedHost {
  const host = text.replace(/\.$/, '').toLowerCase();
  const problem = problemOfHost(host);
  return problem === undefined ? {ok: true, host: host as Host} : {ok: false, problem};
}

function problemOfHost(host: string): string | undefined {
  if (host === '') return 'the host is empty: write a name such as shop.example.com';
  const address = [host, withoutPort(host)]
    .map(text => text.replace(/^\[(.*)\]$/, '$1'))
    .find(text => isIP(text) !== 0);
  if (address !== undefined) {
    return `${address} is an IP address: a certificate and a CNAME record need a domain name, such as shop.example.com`;
  }
  if (/^[a-z][a-z0-9+.-]*:\/\//.test(host) || /[/:?#@]/.test(host)) return problemOfUrl(host);
  if (isWildcard(host)) return problemOfWildcard(host.slice(2));
  if (host.length > MAX_HOST) return `the host is longer than ${MAX_HOST} characters: use a shorter name`;
  const labels = host.split(DOT);
  if (labels.includes('')) return problemOfDots(labels);
  for (const label of labels) {
    const problem = problemOfLabel(label);
    if (problem !== undefined) return problem;
  }
  const ascii = labels.map(asciiOf).join('.');
  if (ascii !== host) return problemOfHost(ascii) ?? adviceForUnicode(ascii);
  if (labels.length > MAX_LABELS) return problemOfCount(labels.length);
  return problemOfSuffix(host);
}

/** Room for the name of its ACME challenge, `_acme-challenge.` and the base. */
const MAX_WILDCARD_BASE = MAX_HOST - '_acme-challenge.'.length;

/**
 * `base`: the name below which the wildcard is. Below a public suffix are names of many owners; so they are where each
 * name is a public suffix. Further up, only the names of the owner of the base are one label deep.
 */
function problemOfWildcard(base: string): string | undefined {
  if (base.includes('*'))
    return 'a wildcard stands for one label, and only the first: write a name such as *.example.com';
  const problem = problemOfHost(base);
  if (problem !== undefined) return problem;
  if (isPublicSuffix(base) || isPublicSuffix(`any.${base}`)) {
    return `names of different owners are below ${base}, so nobody can have all of them: list each host separately`;
  }
  const labels = base.split('.').length + 1;
  if (labels > MAX_LABELS) return problemOfCount(labels);
  return base.length > MAX_WILDCARD_BASE
    ? `${base} is longer than ${MAX_WILDCARD_BASE} characters: use a shorter name`
    : undefined;
}

function problemOfCount(labels: number): string {
  return `the host has ${labels} labels, and certificate authorities issue for at most ${MAX_LABELS}: use a shorter name`;
}

/** Also those dots that an input method for Chinese or Japanese writes (UTS 46). */
const DOT = /[.\u3002\uff0e\uff61]/;

function problemOfUrl(text: string): string {
  const authority = text.replace(/^[a-z][a-z0-9+.-]*:\/\//, '').replace(/[/?#].*$/s, '');
  const host = withoutPort(authority.slice(authority.lastIndexOf('@') + 1));
  const wanted = host !== text && problemOfHost(host) === undefined ? host : 'such as shop.example.com';
  return `write only the host, ${wanted}, without scheme, port, or path`;
}

function withoutPort(text: string): string {
  return text.replace(/:\d*$/, '');
}

function problemOfDots(labels: readonly string[]): string {
  const filled = labels.filter(label => label !== '').join('.');
  const advice = problemOfHost(filled) === undefined ? `write ${filled}` : 'write one dot between two labels';
  return `the host has an empty label (two dots in a row, or a dot at its start): ${advice}`;
}

/** Empty if there is none. The suffix keeps a label of digits from being read as an IPv4 address. */
function asciiOf(label: string): string {
  return domainToASCII(`${label}.example`).replace(/\.example$/, '');
}

function adviceForUnicode(ascii: string): string {
  const isInternational = ascii.split('.').some(label => label.startsWith('xn--'));
  return `${isInternational ? 'internationalized names must be A-labels' : 'the host has characters that are not ASCII'}: write ${ascii}`;
}

function problemOfLabel(label: string): string | undefined {
  const [odd] = label.match(/[^a-z0-9\u{80}-\u{10ffff}-]/u) ?? [];
  if (odd !== undefined) return problemOfCharacter(label, odd);
  if (label.startsWith('-') || label.endsWith('-')) {
    return `the label ${shorten(label)} starts or ends with a hyphen: remove the hyphen`;
  }
  if (/[^a-z0-9-]/.test(label)) return problemOfUnicode(label);
  if (label.length > MAX_LABEL) {
    return `the label ${shorten(label)} is longer than ${MAX_LABEL} characters: use a shorter one`;
  }
  if (label.slice(2, 4) !== '--') return undefined;
  if (!label.startsWith('xn--')) {
    return `the label ${label} has hyphens in positions 3 and 4, and CAs reject such names: use another one`;
  }
  const unicode = domainToUnicode(label);
  const valid = unicode !== '' && unicode !== label && domainToASCII(unicode) === label;
  if (valid) return undefined;
  return `the label ${label} is not a valid A-label of an internationalized name: write the name in its own script to see its A-label here`;
}

function shorten(label: string): string {
  return label.length > MAX_LABEL ? `${label.slice(0, 20)}...` : label;
}

function problemOfCharacter(label: string, odd: string): string {
  const shown = shorten(label);
  const allowed = 'labels have only letters, digits, and hyphens';
  if (odd === '_') return `the label ${shown} has an underscore, but ${allowed}: remove it, or write a hyphen`;
  if (odd === ' ') return `the label ${shown} has a space: remove it`;
  if (odd >= ' ' && odd <= '~') return `the label ${shown} has a ${odd}, but ${allowed}: remove it`;
  return strangeCharacter(odd);
}

function strangeCharacter(character: string): string {
  const code = character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0');
  return `the host has a character that no domain name can have (U+${code}): remove it`;
}

/** Of a label whose ASCII characters are those of a name. */
function problemOfUnicode(label: string): string | undefined {
  const ascii = asciiOf(label);
  if (ascii !== '') {
    const problem = problemOfLabel(ascii);
    return problem === undefined ? undefined : `${problem} (the label is ${label} in its own script)`;
  }
  const strange = [...label].find(character => character > '~' && asciiOf(`a${character}a`) === '');
  if (strange !== undefined) return strangeCharacter(strange);
  return `the characters of the label ${label} cannot be combined in a domain name: write another one`;
}

function problemOfSuffix(host: string): string | undefined {
  if (!host.includes('.')) return `${host} has no dot: write the full name, such as ${host}.example.com`;
  if (/(?:^|\.)\d+$/.test(host)) {
    return `${host} ends in a number, and no such top-level domain exists: write a full name, such as shop.example.com`;
  }
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

/** Whether a name is a TLD or another public suffix, below which others besides its owner have names. */
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
