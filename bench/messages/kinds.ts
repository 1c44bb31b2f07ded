/** What is compared, and with which request. */
export const KINDS = [
  'group commit',
  'group commit, no thread',
  'commit per request',
  'no-op',
  'no-op, batched',
  'fastify no-op',
  'fastify no-op, batched',
] as const;
export type Kind = (typeof KINDS)[number];

export const KEY = 'a-key-for-the-benchmark';
