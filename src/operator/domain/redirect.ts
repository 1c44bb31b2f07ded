/** Where a redirect leads in the end. Pure. */

/** A host as the chain sees it; `to` is set when it redirects in turn. */
export interface Hop {
  readonly host: string;
  readonly to?: string;
}

export type ChainEnd =
  | {readonly kind: 'serves'; readonly host: string}
  | {readonly kind: 'loop'; readonly path: readonly string[]}
  | {readonly kind: 'not-ours'; readonly host: string};

/**
 * Follows a chain from `start`, so that the visitor takes one hop however the spec chains redirects.
 * `hop` gives a host of the same project, undefined for any other.
 */
export function followRedirects(start: Hop, hop: (host: string) => Hop | undefined): ChainEnd {
  const path = [start.host];
  for (let at: Hop = start; at.to !== undefined; ) {
    const next = hop(at.to);
    if (!next) return {kind: 'not-ours', host: at.to};
    const seen = path.indexOf(next.host);
    path.push(next.host);
    if (seen >= 0) return {kind: 'loop', path: path.slice(seen)};
    at = next;
  }
  return {kind: 'serves', host: path.at(-1) ?? start.host};
}
