import {addressesIn, type ChainEnd, cnamesIn} from '../resolve/cname-chain.ts';
import type {ServerNoAnswer, ServerRecords} from '../resolve/query-all.ts';
import type {ResourceRecord} from '../wire/codec.ts';
import type {HostEvidence} from './evidence.ts';
import {listSilent} from './quote.ts';
import type {ProofQuestion} from './verdict.ts';

/** The meaning of one server's answer for the question. */
export type Classification = {
  readonly answer: ServerRecords;
} /** `missed`: servers further along the chain that did not answer. */ & (
  | {readonly kind: 'proved'; readonly missed: readonly ServerNoAnswer[]}
  /** Only addresses of the target. */
  | {readonly kind: 'addresses'; readonly missed: readonly ServerNoAnswer[]}
  /** Some addresses are the target's and some are not. */
  | {readonly kind: 'mixed'; readonly foreign: readonly ResourceRecord[]}
  /** Addresses next to a CNAME. */
  | {readonly kind: 'beside'; readonly foreign: readonly ResourceRecord[]}
  | {readonly kind: 'many-cnames'}
  /** Only addresses that are not the target's. */
  | {readonly kind: 'foreign'; readonly foreign: readonly ResourceRecord[]}
  | {readonly kind: 'elsewhere'; readonly cname: string; readonly end: ChainEnd}
  /** The servers further along the chain disagree. */
  | {readonly kind: 'unsettled'; readonly cname: string; readonly at: string}
  /**
   * The answer itself is right as far as it goes, but something else could not be looked up. `isUnasked`: because this
   * check did not get to it.
   */
  | {readonly kind: 'unknown'; readonly detail: string; readonly isUnasked?: true}
  | {readonly kind: 'missing'}
);

/** What a judgment rests on and its explanation refers to: the question, the evidence, and what each answer means. */
export interface Case {
  readonly question: ProofQuestion;
  readonly evidence: HostEvidence;
  readonly classifications: readonly Classification[];
  /** One entry for each name server none of whose addresses answered, or that left one type unanswered. */
  readonly silent: readonly ServerNoAnswer[];
}

export function classify(answer: ServerRecords, question: ProofQuestion, evidence: HostEvidence): Classification {
  const [cname, ...others] = cnamesIn(answer.records);
  const addresses = answer.records.filter(record => record.type === 'A' || record.type === 'AAAA');
  if (others.length > 0) return {kind: 'many-cnames', answer};
  if (cname !== undefined && addresses.length > 0) return {kind: 'beside', answer, foreign: addresses};
  if (cname === question.target) return {kind: 'proved', answer, missed: []};
  if (cname !== undefined) return classifyChain(cname, answer, evidence);
  if (addresses.length > 0) return classifyAddresses(addresses, answer, evidence);
  return {kind: 'missing', answer};
}

function classifyChain(cname: string, answer: ServerRecords, evidence: HostEvidence): Classification {
  const end = evidence.chains.get(cname) ?? {kind: 'too-long', missed: []};
  switch (end.kind) {
    case 'target':
      return {kind: 'proved', answer, missed: end.missed};
    case 'unsettled':
      return {kind: 'unsettled', answer, cname, at: end.at};
    case 'unknown':
      return {kind: 'unknown', answer, ...describeUnknown(end)};
    case 'addresses': {
      const {targetAddresses} = evidence;
      if (targetAddresses?.known === false) return {kind: 'unknown', answer, detail: targetAddresses.detail};
      const all = targetAddresses !== undefined && end.addresses.every(each => targetAddresses.addresses.has(each));
      return all ? {kind: 'addresses', answer, missed: end.missed} : {kind: 'elsewhere', answer, cname, end};
    }
    case 'nothing':
    case 'other-target':
    case 'loop':
    case 'too-long':
      return {kind: 'elsewhere', answer, cname, end};
  }
}

function describeUnknown({at, silent}: Extract<ChainEnd, {kind: 'unknown'}>) {
  const isUnasked = silent.some(({noAnswer}) => noAnswer === 'budget');
  if (isUnasked) return {detail: `it points to ${at}, which this check could not query`, isUnasked};
  return {detail: `it points to ${at}, whose name servers do not answer (${listSilent(silent)})`};
}

function classifyAddresses(
  records: readonly ResourceRecord[],
  answer: ServerRecords,
  {targetAddresses}: HostEvidence,
): Classification {
  if (targetAddresses?.known !== true) {
    return {kind: 'unknown', answer, detail: targetAddresses?.detail ?? 'the addresses of the target are not known'};
  }
  const foreign = records.filter(record => addressesIn([record]).some(each => !targetAddresses.addresses.has(each)));
  if (foreign.length === 0) return {kind: 'addresses', answer, missed: []};
  return {kind: foreign.length < records.length ? 'mixed' : 'foreign', answer, foreign};
}
