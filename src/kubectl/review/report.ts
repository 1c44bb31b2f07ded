/** Prints the review as text. */
import {printable} from '../../operations/untrusted-text.ts';
import type {NotRenewable, Review} from './review.ts';

export function exitCode({refused, notRenewable, unchecked}: Review): number {
  if (unchecked.length > 0) return 3;
  return refused.length + notRenewable.length > 0 ? 1 : 0;
}

export function printed({objects, refused, notRenewable, unchecked}: Review): string {
  return [
    ...section(
      'The policies refuse:',
      refused.flatMap(({object, refusals}) => [object, ...refusals.map(indented)]),
    ),
    ...section('cert-manager cannot renew, because it may not solve challenges:', notRenewable.map(certificateLine)),
    ...section(
      'Could not be checked:',
      unchecked.flatMap(({object, why}) => [object, indented(why)]),
    ),
    `Of ${objects} objects, ${refused.length} are refused and ${unchecked.length} could not be checked. ${notRenewable.length} certificates cannot be renewed.\n`,
  ].join('');
}

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [`${title}\n`, ...lines.map(line => `  ${printable(line)}\n`), '\n'];
}

const indented = (text: string) => `  ${text}`;

function certificateLine({certificate, hosts, issuer, notAfter}: NotRenewable): string {
  return `${certificate}  ${hosts.join(', ')}  ${issuer}  ${notAfter === undefined ? 'not issued' : `until ${notAfter}`}`;
}
