/**
 * How many hosts fit into a HeldHosts. etcd rejects a write of more than 1.5 MiB. The operator stops earlier: the rest
 * is for default hosts and their orders. docs/decisions/held-hosts.md has the measurements.
 * https://etcd.io/docs/v3.6/dev-guide/limit/
 */

/** Of all hosts together, as JSON. */
export const MAX_RECORD_BYTES = 1.25 * 1024 * 1024;

const UID_LENGTH = 36;

/** Of one entry: `"HOST":"UID",`. The CRD declares the map atomic, so managedFields does not repeat the host. */
export function hostBytes(host: string): number {
  return host.length + UID_LENGTH + 6;
}

/** Each of a namespace's Domains that waits asks about the same record, which may have 20,000 hosts. */
const counted = new WeakMap<object, number>();

/** `hosts` must not change afterwards. */
export function recordBytes(hosts: Readonly<Record<string, string>>): number {
  let bytes = counted.get(hosts);
  if (bytes === undefined) {
    bytes = 0;
    for (const host in hosts) bytes += hostBytes(host);
    counted.set(hosts, bytes);
  }
  return bytes;
}

export function recordHasRoom(hosts: Readonly<Record<string, string>>, host: string): boolean {
  return recordBytes(hosts) + hostBytes(host) <= MAX_RECORD_BYTES;
}
