/**
 * Certification Authority Authorization (RFC 8659) and its ACME parameters (RFC 8657).
 *
 * A record allows the CA only if both these standards and Boulder, Let's Encrypt's implementation (va/caa.go), read it
 * so: what one of them rejects fails at some CA, and each failed order counts against the host's budget.
 */
import {isWildcard} from '../names/hosts.ts';
import type {ResourceRecord} from '../wire/codec.ts';
import {formatRecord} from './quote.ts';
import type {CaaVerdict, ProofQuestion} from './verdict.ts';

export type CaaRecord = Extract<ResourceRecord, {type: 'CAA'}>;
type Identity = Pick<ProofQuestion, 'caaIdentities' | 'caaAccountUri' | 'caaValidationMethods'>;

/** The property tags that Boulder understands. Any other tag forbids if it is critical. */
const KNOWN_TAGS = new Set(['issue', 'issuewild', 'iodef', 'issuemail']);
/** In characters. A longer value counts as malformed: no real value is that long, and regular expressions read it. */
const MAX_VALUE = 4096;
const DEFAULT_METHODS = ['http-01'];

interface IssueValue {
  /** Empty: no CA may issue. */
  readonly issuer: string;
  readonly parameters: readonly (readonly [tag: string, value: string])[];
}

/** RFC 8659 section 4.2. Undefined for a malformed value, which allows no CA. */
export function parseIssueValue(text: string): IssueValue | undefined {
  if (text.length > MAX_VALUE) return undefined;
  const [issuer = '', ...rest] = text.split(';').map(withoutBlanks);
  // Only a value without parameters may end in a separator.
  if (rest.length === 1 && rest[0] === '') rest.pop();
  if (issuer !== '' && !/^[a-z0-9]+(?:-+[a-z0-9]+)*(?:\.[a-z0-9]+(?:-+[a-z0-9]+)*)*$/i.test(issuer)) return undefined;
  const parameters: [string, string][] = [];
  for (const part of rest) {
    // RFC 8659 allows hyphens within a tag, but Boulder does not.
    const parameter = /^([a-z0-9]+)[ \t]*=[ \t]*([\x21-\x3a\x3c-\x7e]*)$/i.exec(part);
    if (parameter === null) return undefined;
    parameters.push([(parameter[1] ?? '').toLowerCase(), parameter[2] ?? '']);
  }
  return {issuer, parameters};
}

/** Not a regular expression: `[ \t]+$` retries from each blank that is not at the end. */
function withoutBlanks(text: string): string {
  let [start, end] = [0, text.length];
  while (isBlank(text[start])) start++;
  while (end > start && isBlank(text[end - 1])) end--;
  return text.slice(start, end);
}

function isBlank(character: string | undefined): boolean {
  return character === ' ' || character === '\t';
}

type Obstacle = 'other-issuer' | 'other-case' | 'other-account' | 'other-method' | 'malformed';

/** Why one `issue` property does not allow the CA; undefined if it does. */
function obstacleIn(record: CaaRecord, identity: Identity): Obstacle | undefined {
  const value = parseIssueValue(record.value);
  if (value === undefined) return 'malformed';
  const {caaIdentities, caaAccountUri, caaValidationMethods = DEFAULT_METHODS} = identity;
  // The CA compares code points (RFC 8555 section 7.1.1).
  if (!caaIdentities.includes(value.issuer)) {
    const isOurs = caaIdentities.some(name => name.toLowerCase() === value.issuer.toLowerCase());
    return isOurs ? 'other-case' : 'other-issuer';
  }
  const accounts = parametersOf(value, 'accounturi');
  const methods = parametersOf(value, 'validationmethods').map(list => list.split(','));
  // A parameter given twice cannot be satisfied (RFC 8657 sections 3 and 4).
  if (accounts.length > 1 || methods.length > 1) return 'malformed';
  if (!accounts.every(account => mayBeAccount(account, caaAccountUri))) return 'other-account';
  if (!methods.flat().every(method => /^[a-z0-9-]+$/i.test(method))) return 'malformed';
  if (!methods.every(allowed => caaValidationMethods.some(method => allowed.includes(method)))) return 'other-method';
  return undefined;
}

function parametersOf({parameters}: IssueValue, tag: string): string[] {
  return parameters.flatMap(([name, text]) => (name === tag ? [text] : []));
}

/** Whether an `accounturi` may be ours. If ours is not known, every URI may. */
function mayBeAccount(account: string, ours: string | undefined): boolean {
  return ours === undefined ? URL.canParse(account) : account === ours;
}

/** Judges the relevant set: the first CAA set on the way up from the host that is not empty. */
export function judgeCaa(host: string, relevant: readonly CaaRecord[], identity: Identity): CaaVerdict {
  const critical = relevant.find(record => record.critical && !KNOWN_TAGS.has(record.tag));
  if (critical !== undefined) return forbiddenByCritical(host, critical);
  const wild = isWildcard(host) ? relevant.filter(record => record.tag === 'issuewild') : [];
  const issue = wild.length > 0 ? wild : relevant.filter(record => record.tag === 'issue'); // RFC 8659 section 4.3
  const [first] = issue;
  if (first === undefined) return {outcome: 'allowed', message: `No CAA record restricts who may issue for ${host}.`};
  const obstacles: {readonly record: CaaRecord; readonly obstacle: Obstacle}[] = [];
  for (const record of issue) {
    const obstacle = obstacleIn(record, identity);
    if (obstacle === undefined) return allowed(host, record, identity);
    obstacles.push({record, obstacle});
  }
  // A record that almost allows the CA is more informative than one for another CA.
  const {record, obstacle} = obstacles.find(each => each.obstacle !== 'other-issuer') ?? {
    record: first,
    obstacle: 'other-issuer',
  };
  return forbidden(host, record, obstacle, identity);
}

function allowed(host: string, allowing: CaaRecord, {caaIdentities, caaAccountUri}: Identity): CaaVerdict {
  const record = formatRecord(allowing);
  const value = parseIssueValue(allowing.value);
  const isLimited = caaAccountUri === undefined && value && parametersOf(value, 'accounturi').length > 0;
  const limit = isLimited
    ? ' It names an ACME account, which Nameplate could not compare with the one of the platform.'
    : '';
  const message = `${record} allows ${caaIdentities.join(' or ')} to issue for ${host}.${limit}`;
  return {outcome: 'allowed', message};
}

function forbiddenByCritical(host: string, critical: CaaRecord): CaaVerdict {
  return {
    outcome: 'forbidden',
    message: `The CAA record ${formatRecord(critical)} is critical and has a tag that CAs do not know, so they do not issue for ${host}. Delete it, or set its flags to 0.`,
  };
}

function forbidden(host: string, offending: CaaRecord, obstacle: Obstacle, identity: Identity): CaaVerdict {
  const record = formatRecord(offending);
  const ca = identity.caaIdentities[0] ?? '';
  const methods = (identity.caaValidationMethods ?? DEFAULT_METHODS).join(',');
  const account = identity.caaAccountUri;
  const because: Record<Obstacle, string> = {
    'other-issuer': `does not allow ${ca}`,
    'other-case': `writes ${ca} in other letters, which CAs compare exactly`,
    'other-account': account
      ? `is limited to an ACME account other than ${account}`
      : 'names no ACME account by its URI',
    'other-method': `does not allow the validation method ${methods}`,
    malformed: 'is malformed and allows no CA',
  };
  const wanted: Record<Obstacle, string> = {
    'other-issuer': ca,
    'other-case': ca,
    'other-account': account ? `${ca}; accounturi=${account}` : ca,
    'other-method': `${ca}; validationmethods=${methods}`,
    malformed: ca,
  };
  const right = `${offending.name}. CAA 0 ${offending.tag} "${wanted[obstacle]}"`;
  const change = obstacle === 'other-issuer' ? `Add ${right}.` : `Change it to ${right}, or add that record.`;
  return {
    outcome: 'forbidden',
    message: `The CAA record ${record} ${because[obstacle]}, so no certificate can be issued for ${host}. ${change}`,
  };
}
