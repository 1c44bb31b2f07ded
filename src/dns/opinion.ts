import {addressesIn, type ChainEnd, cnamesIn} from './chain.ts';
import type {ResourceRecord} from './codec.ts';
import type {HostEvidence} from './evidence.ts';
import type {ServerRecords} from './look.ts';
import type {ProofQuestion} from './verdict.ts';

/** What the answer of one server means for the question. */
export type Opinion = {readonly answer: ServerRecords} & (
  | {readonly kind: 'proved'}
  /** Addresses, and all of them the target's. */
  | {readonly kind: 'addresses'}
  /** Some addresses are the target's and some are not. */
  | {readonly kind: 'mixed'; readonly foreign: readonly ResourceRecord[]}
  /** Addresses beside a CNAME. */
  | {readonly kind: 'beside'; readonly foreign: readonly ResourceRecord[]}
  | {readonly kind: 'many-cnames'}
  /** Addresses, and none of them the target's. */
  | {readonly kind: 'foreign'; readonly foreign: readonly ResourceRecord[]}
  | {readonly kind: 'elsewhere'; readonly cname: string; readonly end: ChainEnd}
  /** The servers further along the chain disagree. */
  | {readonly kind: 'unsettled'; readonly cname: string; readonly at: string}
  /** Cannot be told, by no fault of this answer. */
  | {readonly kind: 'unknown'; readonly detail: string}
  | {readonly kind: 'missing'}
);

export function opinionOf(answer: ServerRecords, question: ProofQuestion, evidence: HostEvidence): Opinion {
  const [cname, ...others] = cnamesIn(answer.records);
  const addresses = answer.records.filter(record => record.type === 'A' || record.type === 'AAAA');
  if (others.length > 0) return {kind: 'many-cnames', answer};
  if (cname !== undefined && addresses.length > 0) return {kind: 'beside', answer, foreign: addresses};
  if (cname === question.target) return {kind: 'proved', answer};
  if (cname !== undefined) return opinionOfChain(cname, answer, question, evidence);
  if (addresses.length > 0) return opinionOfAddresses(addresses, answer, evidence);
  return {kind: 'missing', answer};
}

function opinionOfChain(
  cname: string,
  answer: ServerRecords,
  {target}: ProofQuestion,
  evidence: HostEvidence,
): Opinion {
  const end = evidence.chains.get(cname) ?? {kind: 'too-long', partial: true};
  switch (end.kind) {
    case 'target':
      return {kind: 'proved', answer};
    case 'unsettled':
      return {kind: 'unsettled', answer, cname, at: end.at};
    case 'unknown':
      return {kind: 'unknown', answer, detail: `it leads to ${end.at}, ${end.why}`};
    case 'addresses': {
      const {targetAddresses} = evidence;
      const isOfOtherAccount = [cname, end.at].some(name => zoneOf(name) === zoneOf(target));
      if (isOfOtherAccount) return {kind: 'elsewhere', answer, cname, end};
      if (targetAddresses?.known === false) return {kind: 'unknown', answer, detail: targetAddresses.detail};
      const all = targetAddresses !== undefined && end.addresses.every(each => targetAddresses.addresses.has(each));
      return all ? {kind: 'addresses', answer} : {kind: 'elsewhere', answer, cname, end};
    }
    case 'nothing':
    case 'loop':
    case 'too-long':
      return {kind: 'elsewhere', answer, cname, end};
  }
}

/** The targets of all accounts are names of one zone, and have the same addresses. */
function zoneOf(target: string): string {
  return target.slice(target.indexOf('.') + 1);
}

function opinionOfAddresses(
  records: readonly ResourceRecord[],
  answer: ServerRecords,
  {targetAddresses}: HostEvidence,
): Opinion {
  if (targetAddresses?.known !== true) {
    return {kind: 'unknown', answer, detail: targetAddresses?.detail ?? 'the addresses of the target are not known'};
  }
  const foreign = records.filter(record => addressesIn([record]).some(each => !targetAddresses.addresses.has(each)));
  if (foreign.length === 0) return {kind: 'addresses', answer};
  return {kind: foreign.length < records.length ? 'mixed' : 'foreign', answer, foreign};
}
