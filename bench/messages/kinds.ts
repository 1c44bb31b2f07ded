/** What is compared, and with which request. */
/** Servers that store nothing, and compare HTTP layers. */
export const LAYERS = [
  'no-op',
  'fastify no-op',
  'fastify no-op, checks',
  'no-op, batched',
  'fastify no-op, batched',
  'fastify no-op, checks, batched',
] as const;
export const KINDS = ['group commit', 'group commit, no thread', 'commit per request', ...LAYERS] as const;
export type Kind = (typeof KINDS)[number];

export const KEY = 'a-key-for-the-benchmark';
