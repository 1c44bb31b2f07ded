/** Prints the review, as text or JSON. */
import {printable} from '../base/text.ts';
import type {Finding, Unjudged} from './finding.ts';
import type {Review} from './review.ts';

const REVIEW_EXIT = {clean: 0, findings: 1, incomplete: 3} as const;

export function exitCode({findings, unjudged}: Review): number {
  if (unjudged.length > 0) return REVIEW_EXIT.incomplete;
  return findings.length > 0 ? REVIEW_EXIT.findings : REVIEW_EXIT.clean;
}

export function printed(review: Review): string {
  const {findings, ofPlatform, unjudged, notes} = review;
  const sections = [
    findings.map(block).join('\n'),
    ofPlatform.length > 0 && `${OF_PLATFORM}\n\n${ofPlatform.map(block).join('\n')}`,
    unjudged.length > 0 && `Could not be judged:\n\n${unjudged.map(unjudgedLine).join('')}`,
    notes.length > 0 && notes.map(note => `Note: ${printable(note)}\n`).join(''),
    summary(review),
  ];
  return sections.filter(Boolean).join('\n');
}

const OF_PLATFORM =
  'In the platform namespaces (config.certificates.approval.exemptNamespaces), only cluster-admins and programs in admission.trusted may write these:';

function block({kind, namespace, name, writer, reasons}: Finding): string {
  const lines = reasons.map(({rule, message}) => `  ${rule}: ${printable(message)}\n`);
  const advice = [...new Set(reasons.map(reason => reason.advice))].map(text => `  -> ${printable(text)}\n`);
  const by = writer === undefined ? '' : ` (last written by ${printable(writer)})`;
  return [`${printable(`${namespace}/${name}  ${kind}`)}${by}\n`, ...lines, ...advice].join('');
}

function unjudgedLine({what, why}: Unjudged): string {
  return `${printable(what)}\n  ${printable(why)}\n`;
}

function summary({objects, findings, unjudged}: Review): string {
  const counts = new Map<string, {count: number; values: ReadonlySet<string>}>();
  for (const {rule, values} of findings.flatMap(({reasons}) => reasons)) {
    const {count = 0, values: before = []} = counts.get(rule) ?? {};
    counts.set(rule, {count: count + 1, values: new Set([...before, ...values])});
  }
  const rows = [...counts].sort(([, a], [, b]) => b.count - a.count);
  const width = Math.max(0, ...rows.map(([rule]) => rule.length));
  const lines = rows.map(
    ([rule, {count, values}]) =>
      `  ${rule.padEnd(width)}  ${`${count}`.padStart(5)}  ${values.size > 0 ? [...values].join(', ') : 'no chart value'}\n`,
  );
  const judged = `${objects.byPolicies} objects by the admission policies, ${objects.byApprover} by the approval rules`;
  return [`Judged ${judged}: ${findings.length} findings, ${unjudged.length} not judged.\n`, ...lines].join('');
}

export function asJson(review: Review): string {
  return `${JSON.stringify(review, null, 2)}\n`;
}
