/**
 * Names and tokens that are derived, never stored: they are the same after a restart or a restore.
 * The platform key is part of those that strangers must not be able to guess or to collide with.
 */
import {createHash, createHmac} from 'node:crypto';
import {objectNameOf, withoutWildcard} from '../../api/host-names.ts';

const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567';

/** RFC 4648 base32, lower case, without padding: valid in a DNS label. Cut to `length` characters of 5 bits each. */
function base32(bytes: Uint8Array, length: number): string {
  const characters: string[] = []; // a string built by += would keep every step in memory
  let buffer = 0;
  let bits = 0;
  for (const byte of bytes) {
    buffer = ((buffer << 8) | byte) & 0xffff;
    bits += 8;
    while (bits >= 5 && characters.length < length) {
      bits -= 5;
      characters.push(ALPHABET[(buffer >> bits) & 31] ?? '');
    }
  }
  return characters.join('');
}

const MAX_TARGETS = 4096;
export const ROUTE_NAME_LENGTH = 23;

/** The name of a host's objects: `np-` and 20 characters, without dots, so that keys joined from it never collide. */
export function routeName(namespace: string, host: string): string {
  return `np-${base32(createHash('sha256').update(hostKey(namespace, host)).digest(), ROUTE_NAME_LENGTH - 3)}`;
}

/** "namespace/name": the key of the host's Domain, and of everything that is remembered about the host in a namespace. */
export function hostKey(namespace: string, host: string): string {
  return [namespace, objectNameOf(host)].join('/'); // one string, unlike a template
}

/** HTTP/2 without TLS (KEP-3726). */
export const H2C = 'kubernetes.io/h2c';

/**
 * The name of the Service for all hosts of a project on one of its ports. No host has a colon. Each IP family, which
 * cannot change once it is the first of a Service, and HTTP/2 without TLS have a Service of their own.
 */
export function backendName(
  namespace: string,
  project: string,
  {port, appProtocol}: {readonly port: number; readonly appProtocol?: string},
  family = 'IPv4',
): string {
  const parts = [project, port, ...(family === 'IPv4' ? [] : [family]), ...(appProtocol === H2C ? ['h2c'] : [])];
  return routeName(namespace, parts.join(':'));
}

/**
 * The name of the route that an object of this name belongs to; the object's name is that name, with or without a
 * suffix after a dash.
 */
export function routeNameIn(objectName: string): string | undefined {
  return /^(np-[a-z2-7]{20})(?:-.*)?$/.exec(objectName)?.[1];
}

/** "namespace/np-…", the key of a host's Certificate and Secret, and of its route. `key`: "namespace/host". */
export function routeKeyOf(key: string): string {
  const slash = key.indexOf('/');
  const namespace = key.slice(0, slash);
  return `${namespace}/${routeName(namespace, key.slice(slash + 1))}`;
}

export class DerivedNames {
  readonly #key: Uint8Array;
  readonly #baseDomain: string;
  readonly #targetDomain: string;
  readonly #acmeDomain: string;
  /** Recent targets by account, so that all hosts of an account share one string. */
  readonly #targets = new Map<string, string>();

  /** `key`: the platform key, at least 32 bytes. */
  constructor(
    key: Uint8Array,
    domains: {readonly baseDomain: string; readonly targetDomain: string; readonly acmeDomain?: string},
  ) {
    if (key.length < 32) throw new Error(`the platform key has ${key.length} bytes; at least 32 are needed`);
    this.#key = key;
    this.#baseDomain = domains.baseDomain;
    this.#targetDomain = domains.targetDomain;
    this.#acmeDomain = domains.acmeDomain ?? '';
  }

  /** The account's CNAME target: 100 bits that nobody can guess, the same for all its hosts. */
  target(account: string): string {
    const known = this.#targets.get(account);
    if (known !== undefined) return known;
    const target = [this.#derive('target', [account], 20), this.#targetDomain].join('.');
    if (this.#targets.size >= MAX_TARGETS) this.#targets.clear();
    this.#targets.set(account, target);
    return target;
  }

  /**
   * To which the account may delegate `_acme-challenge.<host>`; undefined if the platform has no ACME domain. A host and
   * the wildcard below it share the name, because they share the record.
   */
  challengeName(account: string, host: string): string | undefined {
    if (this.#acmeDomain === '') return undefined;
    return [this.#derive('challenge', [account, withoutWildcard(host)], 32), this.#acmeDomain].join('.');
  }

  /** The value of the TXT record `_nameplate.<host>`, valid only for this account and this host. */
  proofToken(account: string, host: string): string {
    return `nameplate-proof=${this.#derive('proof', [account, host], 32)}`;
  }

  /**
   * `{project}-{namespace}-{hash}`, cut to 63 characters; the keyed hash makes it unique despite the cut and dashes.
   */
  defaultHost(project: string, namespace: string): string {
    const hash = this.#derive('default-host', [namespace, project], 10);
    const readable = `${project}-${namespace}`.slice(0, 63 - hash.length - 1).replace(/-+$/, '');
    return `${readable}-${hash}.${this.#baseDomain}`;
  }

  /**
   * The text with which this host's route in this namespace answers, so that the prober notices another route that took
   * the host by mistake, or that a former holder left. It is public: a route can copy it on purpose.
   */
  routeProof(namespace: string, host: string): string {
    return this.#derive('route', [namespace, host], 20);
  }

  #derive(purpose: string, parts: readonly string[], length: number): string {
    const text = JSON.stringify([purpose, ...parts]);
    return base32(createHmac('sha256', this.#key).update(text).digest(), length);
  }
}

/**
 * A label value holds 63 characters, and no asterisk; a longer host is represented by its hash. The annotation has the
 * full host.
 */
export function hostLabel(host: string): string {
  const name = objectNameOf(host);
  return name.length <= 63 ? name : base32(createHash('sha256').update(host).digest(), 40);
}

/**
 * The host at which the edge answers every challenge on port 80. No account's target has this name, and no tenant can
 * claim it. A CA follows a redirect to it.
 */
export function challengeHost({targetDomain}: {readonly targetDomain: string}): string {
  return `challenges.${targetDomain}`;
}
