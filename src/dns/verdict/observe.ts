import {escapeText} from '../names/wire-names.ts';
import {onlyAnswered} from '../resolve/cname-chain.ts';
import type {ServerRecords} from '../resolve/query-all.ts';
import {type Evidence, textsIn} from './evidence.ts';
import {formatValue} from './quote.ts';
import type {ObservedRecord, Verdict} from './verdict.ts';

/** The total limit, as JSON. */
const MAX_OBSERVED_BYTES = 8192;
/** As many as the Domain's status.dns.observed admits. */
const MAX_OBSERVED_RECORDS = 32;
const MAX_NAME = 255;
const MAX_TXT_VALUES = 16;

/** The evidence to show and store: bounded, in a stable order, and safe to print whatever the servers sent. */
export function observe(evidence: Evidence): Pick<Verdict, 'observed' | 'txtValues' | 'minTtlSeconds'> {
  if (evidence.kind === 'fault') return {observed: [], txtValues: []};
  const host = onlyAnswered(evidence.answers);
  const chain = [...evidence.chains.values()].flatMap(end =>
    end.kind === 'addresses' ? onlyAnswered(end.answers) : [],
  );
  const txt = onlyAnswered(evidence.txt?.answers ?? []);
  const challenge = onlyAnswered(evidence.challenge?.answers ?? []);
  const ttls = [...host, ...txt, ...challenge].flatMap(ttlsOf);
  return {
    observed: bounded(
      [...host, ...txt, ...challenge, ...chain].flatMap(answer => observedIn(answer, evidence.recursive)),
    ),
    txtValues: [...new Set([...new Set(txt.flatMap(textsIn))].map(text => escapeText(text)))]
      .sort()
      .slice(0, MAX_TXT_VALUES),
    ...(ttls.length > 0 && {minTtlSeconds: Math.min(...ttls)}),
  };
}

function ttlsOf({records, negativeTtl}: ServerRecords): number[] {
  return records.length > 0 || negativeTtl === undefined ? records.map(record => record.ttl) : [negativeTtl];
}

/** Leaves out the TTL of a cached answer. It counts down, so the evidence would change with every check. */
function observedIn({records, server}: ServerRecords, cached: boolean): ObservedRecord[] {
  return records.map(record => ({
    type: record.type,
    name: cut(record.name),
    value: formatValue(record),
    ...(!cached && {ttl: record.ttl}),
    server: cut(server),
  }));
}

function cut(text: string): string {
  return text.length <= MAX_NAME ? text : `${text.slice(0, MAX_NAME - 3)}...`;
}

function bounded(records: readonly ObservedRecord[]): ObservedRecord[] {
  const lines = new Map(records.map(record => [JSON.stringify(record), record]));
  const kept: ObservedRecord[] = [];
  let bytes = 2;
  for (const [line, record] of [...lines].sort(([a], [b]) => (a < b ? -1 : 1))) {
    bytes += line.length + 1;
    if (bytes > MAX_OBSERVED_BYTES || kept.length === MAX_OBSERVED_RECORDS) break;
    kept.push(record);
  }
  return kept;
}
