/** Command lines that the story often types. Pure. */
import type {Edge} from '../cluster/programs.ts';
import {LISTENERS_ALLOWED} from '../support/objects.ts';

/** Edits DNS as at a DNS provider: here, the zone files of the cluster's name servers. */
export function dns(...args: readonly string[]): string {
  return `node test/cluster/cli.ts dns ${args.join(' ')}`;
}

export function apply(manifest: string): string {
  return `kubectl apply -f - <<EOF\n${manifest.trim()}\nEOF`;
}

/** Lets the namespace add listeners to the platform's Gateway. */
export function allowListeners(namespace: string, edge: Edge): string[] {
  const labels = Object.entries(LISTENERS_ALLOWED).map(([name, value]) => `${name}=${value}`);
  return edge === 'gateway' ? [`kubectl label namespace ${namespace} ${labels.join(' ')}`] : [];
}

/** Waits until Ready, or another condition of the Domain, has this reason. */
export function waitForReason(namespace: string, host: string, reason: string, condition = 'Ready'): string {
  const path = `{.status.conditions[?(@.type=="${condition}")].reason}`;
  return `kubectl -n ${namespace} wait domain/${host} --for=jsonpath='${path}'=${reason} --timeout=120s`;
}

export function waitForCondition(namespace: string, host: string, condition: string): string {
  return `kubectl -n ${namespace} wait domain/${host} --for=condition=${condition} --timeout=120s`;
}

export function waitForDomain(namespace: string, host: string): string {
  return `kubectl -n ${namespace} wait domain/${host} --for=create --timeout=30s`;
}

export function message(namespace: string, host: string, condition = 'Ready'): string {
  const path = `{.status.conditions[?(@.type=="${condition}")].message}`;
  return `kubectl -n ${namespace} get domain ${host} -o jsonpath='${path}'`;
}

export function requiredRecords(namespace: string, host: string): string {
  const record = '{.type}  {.label}  {.value}  TTL {.ttl}{"\\n"}';
  return `kubectl -n ${namespace} get domain ${host} -o jsonpath='{range .status.dns.required[*]}${record}{end}'`;
}

export function verifyNow(namespace: string, host: string): string {
  return `kubectl -n ${namespace} annotate --overwrite domain ${host} nameplate.dev/verify-requested-at="$(date +%s)"`;
}

/** The ingress controller loads a route a moment after it is published. */
export function untilServed(url: string): string {
  return `until curl -sSf ${url} 2>/dev/null; do :; done`;
}

/** Traefik answers with 404; a Gateway closes the connection, which curl shows as 000. */
export function untilNotServed(host: string): string {
  return `until { curl -sk -o /dev/null -w '%{http_code}\\n' https://${host}/ || true; } | grep -E '404|000'; do :; done`;
}

/** The value in a line of `requiredRecords`, or in a message that names the record. */
export function cnameTarget(text: string): string {
  const target = /[a-z2-7]{20}\.edge\.nameplate\.test/.exec(text)?.[0];
  if (!target) throw new Error(`no target in: ${text}`);
  return target;
}
