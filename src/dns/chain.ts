import type {ResourceRecord} from './codec.ts';
import type {Directory} from './directory.ts';
import {lookEverywhere, type ServerAnswer, type ServerRecords} from './look.ts';
import type {Session} from './session.ts';

const MAX_HOPS = 8;

/** Where a chain of CNAME records leads. */
export type ChainEnd =
  | {readonly kind: 'target'}
  | {
      readonly kind: 'addresses';
      readonly at: string;
      readonly addresses: readonly string[];
      readonly answers: readonly ServerAnswer[];
    }
  | {readonly kind: 'nothing'; readonly at: string}
  | {readonly kind: 'loop'}
  | {readonly kind: 'too-long'}
  /** The servers of the name at `at` say different things. */
  | {readonly kind: 'unsettled'; readonly at: string}
  /** The servers of the name at `at` say nothing. */
  | {readonly kind: 'unknown'; readonly at: string};

/** Follows a chain over zones, asking all servers of each, until it reaches the target or ends otherwise. */
export async function followChain(
  start: string,
  target: string | undefined,
  directory: Directory,
  session: Session,
): Promise<ChainEnd> {
  const seen = new Set<string>();
  let name = start;
  for (let hop = 0; hop < MAX_HOPS; hop++) {
    if (name === target) return {kind: 'target'};
    if (seen.has(name)) return {kind: 'loop'};
    seen.add(name);
    const next = await nextHop(name, directory, session);
    if (typeof next !== 'string') return next;
    name = next;
  }
  return {kind: 'too-long'};
}

async function nextHop(name: string, directory: Directory, session: Session): Promise<string | ChainEnd> {
  const found = await directory.find(name, session);
  if (!found.ok) return {kind: 'unknown', at: name};
  const answers = heardIn(await lookEverywhere(found.authority, name, ['CNAME'], session));
  if (answers.length === 0) return {kind: 'unknown', at: name};
  const targets = new Set(answers.map(answer => cnamesIn(answer.records).join(' ')));
  const [only] = targets;
  if (targets.size > 1) return {kind: 'unsettled', at: name};
  if (only !== undefined && only !== '') return only.includes(' ') ? {kind: 'unsettled', at: name} : only;
  return addressEnd(name, await lookEverywhere(found.authority, name, ['A', 'AAAA'], session));
}

function addressEnd(at: string, answers: readonly ServerAnswer[]): ChainEnd {
  const heard = heardIn(answers);
  if (heard.length === 0) return {kind: 'unknown', at};
  const addresses = [...new Set(heard.flatMap(answer => addressesIn(answer.records)))];
  return addresses.length === 0 ? {kind: 'nothing', at} : {kind: 'addresses', at, addresses, answers};
}

export function heardIn(answers: readonly ServerAnswer[]): ServerRecords[] {
  return answers.filter(answer => answer.ok);
}

export function cnamesIn(records: readonly ResourceRecord[]): string[] {
  return [...new Set(records.flatMap(record => (record.type === 'CNAME' ? [record.target] : [])))].sort();
}

export function addressesIn(records: readonly ResourceRecord[]): string[] {
  return records.flatMap(record => (record.type === 'A' || record.type === 'AAAA' ? [record.address] : []));
}
