/** What the API server says against a change, at the field of the form that it concerns. */
import {parseHost} from '../../dns/dns.ts';
import {ApiError, isConflict, isForbidden, isInvalid} from '../../runtime/kube/errors.ts';

/** The fields of the form that adds a host, and the form as a whole. */
export type FormField = 'host' | 'to' | 'form';

export interface FieldProblem {
  readonly field: FormField;
  readonly message: string;
}

interface Cause {
  readonly field?: string;
  readonly message?: string;
}

export const CHANGED_MEANWHILE = 'The Project has changed in the meantime. Look at it again, then repeat your change.';

/** Undefined: no refusal, but an outage or a mistake of ours. */
export function explainRefusedChange(error: unknown): readonly FieldProblem[] | undefined {
  if (!(error instanceof ApiError)) return undefined;
  if (isConflict(error) || isFailedTest(error)) return [{field: 'form', message: CHANGED_MEANWHILE}];
  if (isInvalid(error)) {
    const causes = (error.causes as readonly Cause[]).filter(({message}) => message !== undefined);
    const problems = causes.map(({field = '', message = ''}) => ({field: fieldOf(field), message: sentence(message)}));
    return problems.length > 0 ? problems : [{field: 'form', message: sentence(textOf(error))}];
  }
  if (isForbidden(error)) return [{field: 'form', message: sentence(textOf(error))}];
  return undefined;
}

/**
 * The API server does not say which `test` of a JSON patch failed: its refusal names no field. Every refusal by a rule
 * or a policy has causes.
 */
function isFailedTest(error: ApiError): boolean {
  return isInvalid(error) && error.causes.length === 0 && error.message.includes('the server rejected our request');
}

/** Without the call, which means nothing to the owner of a domain. */
function textOf({message, reason}: ApiError): string {
  const [, ...rest] = message.split(`${reason}: `);
  return rest.length > 0 ? rest.join(`${reason}: `) : message;
}

function fieldOf(path: string): FormField {
  if (/^spec\.domains\.redirects\[\d+\]\.to$/.test(path)) return 'to';
  return path.startsWith('spec.domains') ? 'host' : 'form';
}

/** A rule of the CRD reports "Invalid value: message", or a value before the message, which names the value itself. */
function sentence(message: string): string {
  const text = message.replace(/^Invalid value: (?:(?:"(?:[^"\\]|\\.)*"|\d+|null|true|false): )?/, '');
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

/**
 * The host that a person typed or pasted: an address becomes its host, and an internationalized name its A-labels. The
 * problem is that of the operator's own parser.
 */
export function hostTyped(text: string): ReturnType<typeof parseHost> {
  const bare = text
    .trim()
    .replace(/^https?:\/\//i, '')
    .replace(/\/.*$/, '');
  const parsed = parseHost(bare);
  if (parsed.ok || !/[^\x20-\x7e]/.test(bare)) return parsed;
  const ascii = /: write (\S+)$/.exec(parsed.problem)?.[1];
  return ascii === undefined ? parsed : parseHost(ascii);
}
