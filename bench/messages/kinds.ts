/** What the benchmark compares, and the request that it sends. */
/** Servers that store nothing, to compare only HTTP layers. */
export const LAYERS = [
  'no-op',
  'fastify no-op',
  'fastify no-op, checks',
  'no-op, batched',
  'fastify no-op, batched',
  'fastify no-op, checks, batched',
] as const;
export const SQLITE = ['group commit', 'group commit, no thread', 'commit per request'] as const;
/** Each with our HTTP layer and its own database. The standby acknowledges each commit. */
export const POSTGRES = [
  'PostgreSQL',
  'PostgreSQL, standby',
  'PostgreSQL, commit per request',
  'graphile-worker',
] as const;
export const KINDS = [...SQLITE, ...LAYERS] as const;
export type PostgresKind = (typeof POSTGRES)[number];
export type Kind = (typeof KINDS)[number] | PostgresKind;

/** How many accounts have a key. */
export const ACCOUNTS = 64;

/** The same keys as in post.lua. */
export function keyOf(account: number): string {
  return `a-key-for-the-benchmark-${account}`;
}
