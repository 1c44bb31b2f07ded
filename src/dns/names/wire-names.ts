/**
 * Domain names in canonical presentation form (RFC 1035 section 5.1, RFC 4343): lower case, no trailing dot, `.` for
 * the root, and an escape for everything but plain printable ASCII. Two such strings are equal if and only if the names
 * are equal on the wire, label by label: a label that contains a dot is written `edge\.acme` and never equals two
 * labels.
 */

const MAX_LABEL = 63;
const MAX_NAME = 255;
const ESCAPED = new Set([...'.\\"();@$'].map(character => character.charCodeAt(0)));

export function nameFromLabels(labels: readonly Uint8Array[]): string {
  return labels.length === 0 ? '.' : labels.map(escapeLabel).join('.');
}

function escapeLabel(label: Uint8Array): string {
  let text = '';
  for (const byte of label) text += TEXT_OF_BYTE[byte];
  return text;
}

function textOfByte(byte: number): string {
  const folded = byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte;
  if (folded <= 0x20 || folded >= 0x7f) return `\\${String(folded).padStart(3, '0')}`;
  return ESCAPED.has(folded) ? `\\${String.fromCharCode(folded)}` : String.fromCharCode(folded);
}

/** A table, for speed: a stranger's answer may contain 100,000 bytes of names. */
const TEXT_OF_BYTE = Array.from({length: 256}, (_, byte) => textOfByte(byte));

/** The labels of a name in presentation form, which may end in a dot. Throws a RangeError if no such name can exist. */
export function labelsOf(name: string): Uint8Array[] {
  if (name === '.') return [];
  const labels: Uint8Array[] = [];
  let label: number[] = [];
  const end = () => {
    if (label.length === 0) throw new RangeError('a label is empty');
    if (label.length > MAX_LABEL) throw new RangeError(`a label is longer than ${MAX_LABEL} bytes`);
    labels.push(Uint8Array.from(label));
    label = [];
  };
  let absolute = false;
  for (const token of name.matchAll(/\\(\d{3})|\\(.)|(\.)|(.)/gsu)) {
    const [, decimal, escaped, dot, plain] = token;
    absolute = dot !== undefined;
    if (absolute) end();
    else label.push(byteOf(decimal === undefined ? (escaped ?? plain ?? '').codePointAt(0) : Number(decimal)));
  }
  if (!absolute) end();
  if (wireLength(labels) > MAX_NAME) throw new RangeError(`the name is longer than ${MAX_NAME} bytes`);
  return labels;
}

function byteOf(code: number | undefined): number {
  if (code === undefined || code > 0xff) throw new RangeError('a character outside of ASCII');
  return code;
}

function wireLength(labels: readonly Uint8Array[]): number {
  return labels.reduce((sum, label) => sum + 1 + label.length, 1);
}

/** The name in canonical form, or undefined if no such name can exist on the wire. */
export function canonicalName(name: string): string | undefined {
  try {
    return nameFromLabels(labelsOf(name));
  } catch {
    return undefined;
  }
}

/** The name without its first label; the root is its own parent. */
export function parentOf(name: string): string {
  // Not a regular expression: if it could match an escape in two ways, a hostile name would make it try them all.
  for (let at = 0; at < name.length; at++) {
    if (name[at] === '.' && at < name.length - 1) return name.slice(at + 1);
    if (name[at] === '\\') at++;
  }
  return '.';
}

/** The name and all names above it, except the root. */
export function selfAndAncestors(name: string): string[] {
  const names: string[] = [];
  for (let next = name; next !== '.'; next = parentOf(next)) names.push(next);
  return names;
}

export function isWithin(name: string, zone: string): boolean {
  return zone === '.' || selfAndAncestors(name).includes(zone);
}

/**
 * A stranger's text, one character per byte, as printable ASCII cut to `limit` characters. Never reads what it cuts
 * off: servers may send a megabyte of text for one verdict.
 */
export function escapeText(text: string, limit = 255): string {
  let escaped = '';
  for (const character of text) {
    escaped += escapeCharacter(character);
    if (escaped.length > limit) return `${escaped.slice(0, limit - 3)}...`;
  }
  return escaped;
}

function escapeCharacter(character: string): string {
  if (character === '"' || character === '\\') return `\\${character}`;
  const code = character.codePointAt(0) ?? 0;
  if (code >= 0x20 && code <= 0x7e) return character;
  const bytes = code <= 0xff ? [code] : [...new TextEncoder().encode(character)];
  return bytes.map(byte => `\\${String(byte).padStart(3, '0')}`).join('');
}
