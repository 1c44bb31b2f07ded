import type {ServerNoAnswer} from '../resolve/query-all.ts';
import type {Classification} from './classify.ts';
import type {HostEvidence} from './evidence.ts';
import type {ProofQuestion} from './verdict.ts';

/** What a judgment rests on and its explanation refers to: the question, the evidence, and what each answer means. */
export interface Case {
  readonly question: ProofQuestion;
  readonly evidence: HostEvidence;
  readonly classifications: readonly Classification[];
  /** One entry for each name server none of whose addresses answered, or that left one type unanswered. */
  readonly silent: readonly ServerNoAnswer[];
}
