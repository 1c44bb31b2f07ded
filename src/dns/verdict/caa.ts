/** Certification Authority Authorization (RFC 8659) and its ACME parameters (RFC 8657); not for wildcards. */
import type {ResourceRecord} from '../wire/codec.ts';
import {formatRecord} from './explain.ts';
import type {CaaVerdict, ProofQuestion} from './verdict.ts';

export type CaaRecord = Extract<ResourceRecord, {type: 'CAA'}>;
type Identity = Pick<ProofQuestion, 'caaIdentities' | 'caaAccountUri' | 'caaValidationMethods'>;

/** The property tags that a CA understands. Any other tag forbids if it is critical. */
const KNOWN_TAGS = new Set(['issue', 'issuewild', 'iodef', 'issuemail', 'issuevmc', 'contactemail', 'contactphone']);
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
  if (issuer !== '' && !/^[a-z0-9]+(?:-+[a-z0-9]+)*(?:\.[a-z0-9]+(?:-+[a-z0-9]+)*)*$/i.test(issuer)) return undefined;
  if (rest.at(-1) === '') rest.pop();
  const parameters: [string, string][] = [];
  for (const part of rest) {
    const parameter = /^([a-z0-9]+(?:-+[a-z0-9]+)*)[ \t]*=[ \t]*([\x21-\x3a\x3c-\x7e]*)$/i.exec(part);
    if (parameter === null) return undefined;
    parameters.push([(parameter[1] ?? '').toLowerCase(), parameter[2] ?? '']);
  }
  return {issuer: issuer.toLowerCase(), parameters};
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

type Obstacle = 'other-issuer' | 'other-account' | 'other-method' | 'malformed';

/** Why one `issue` property does not allow the CA; undefined if it does. */
function obstacleIn(record: CaaRecord, identity: Identity): Obstacle | undefined {
  const value = parseIssueValue(record.value);
  if (value === undefined) return 'malformed';
  if (!identity.caaIdentities.some(name => name.toLowerCase() === value.issuer)) return 'other-issuer';
  const [accounts, methods] = ['accounturi', 'validationmethods'].map(tag =>
    value.parameters.flatMap(([name, text]) => (name === tag ? [text] : [])),
  );
  // A parameter given twice cannot be satisfied (RFC 8657 sections 3 and 4).
  if ((accounts?.length ?? 0) > 1 || (methods?.length ?? 0) > 1) return 'malformed';
  const [account] = accounts ?? [];
  const {caaAccountUri, caaValidationMethods = DEFAULT_METHODS} = identity;
  if (account !== undefined && caaAccountUri !== undefined && account !== caaAccountUri) return 'other-account';
  const [method] = methods ?? [];
  const allowed = method?.split(',');
  if (allowed !== undefined && !caaValidationMethods.some(each => allowed.includes(each))) return 'other-method';
  return undefined;
}

/** Judges the relevant set: the first CAA set on the way up from the host that is not empty. */
export function judgeCaa(host: string, relevant: readonly CaaRecord[], identity: Identity): CaaVerdict {
  const critical = relevant.find(record => record.critical && !KNOWN_TAGS.has(record.tag));
  if (critical !== undefined) return forbiddenByCritical(host, critical);
  const issue = relevant.filter(record => record.tag === 'issue');
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

function allowed(host: string, allowing: CaaRecord, {caaIdentities}: Identity): CaaVerdict {
  const record = formatRecord(allowing);
  return {outcome: 'allowed', message: `${record} allows ${caaIdentities.join(' or ')} to issue for ${host}.`, record};
}

function forbiddenByCritical(host: string, critical: CaaRecord): CaaVerdict {
  const record = formatRecord(critical);
  return {
    outcome: 'forbidden',
    message: `The CAA record ${record} is critical and has an unknown tag, so no CA may issue for ${host}. Delete it.`,
    record,
  };
}

function forbidden(host: string, offending: CaaRecord, obstacle: Obstacle, identity: Identity): CaaVerdict {
  const record = formatRecord(offending);
  const ca = identity.caaIdentities[0] ?? '';
  const methods = (identity.caaValidationMethods ?? DEFAULT_METHODS).join(',');
  const because: Record<Obstacle, string> = {
    'other-issuer': `does not allow ${ca}`,
    'other-account': 'is limited to another ACME account',
    'other-method': `does not allow the validation method ${methods}`,
    malformed: 'is malformed and allows no CA',
  };
  const add = `${offending.name}. CAA 0 issue "${ca}"`;
  return {
    outcome: 'forbidden',
    message: `The CAA record ${record} ${because[obstacle]}, so no certificate can be issued for ${host}. Add ${add}.`,
    record,
  };
}
