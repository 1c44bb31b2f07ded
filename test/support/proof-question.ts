import type {ProofQuestion} from '../../src/dns/verdict/verdict.ts';

/** A question about a host whose name servers belong to an attacker. */
export const EVIL_QUESTION: ProofQuestion = {
  host: 'shop.evil.test',
  target: 'acct.edge.good.test',
  txtName: '_nameplate.shop.evil.test',
  txtValue: 'token',
  apexProof: 'txt',
  caaIdentities: ['ca.example'],
};
