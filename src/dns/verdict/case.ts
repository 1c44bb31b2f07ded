import type {ServerNoAnswer} from '../resolve/query-all.ts';
import type {Classification} from './classify.ts';
import type {HostEvidence} from './evidence.ts';
import type {ProofQuestion} from './verdict.ts';

/** The basis of a judgment and of its explanation: the question, the evidence, and the meaning of each answer. */
export interface Case {
  readonly question: ProofQuestion;
  readonly evidence: HostEvidence;
  readonly classifications: readonly Classification[];
  /** One entry for each name server none of whose addresses answered, or that left one type unanswered. */
  readonly silent: readonly ServerNoAnswer[];
}
