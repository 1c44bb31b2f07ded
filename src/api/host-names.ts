/**
 * How a host names its Domain and its DomainClaim: by itself. The name of an object cannot have an asterisk, so a
 * wildcard has a label in its place that no host may have (hyphens in positions 3 and 4 are reserved, RFC 5890, section
 * 2.3.1).
 */
const WILDCARD = '*.';
const NAMED = 'wc--any.';

/** The name below which the wildcard is, or the host itself: what a CA asks about before it issues for either. */
export function withoutWildcard(host: string): string {
  return host.startsWith(WILDCARD) ? host.slice(WILDCARD.length) : host;
}

export function objectNameOf(host: string): string {
  return host.startsWith(WILDCARD) ? NAMED + host.slice(WILDCARD.length) : host;
}

export function hostNamed(objectName: string): string {
  return objectName.startsWith(NAMED) ? WILDCARD + objectName.slice(NAMED.length) : objectName;
}
