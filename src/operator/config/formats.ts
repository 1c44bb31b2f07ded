import {X509Certificate} from 'node:crypto';
import {isIP} from 'node:net';
import {DAY_SECONDS, integer, type Schema} from '../../config/config-schema.ts';
import {parseEndpoint, rangesOf} from '../../dns/dns.ts';
import {parseAddress} from '../../probe/address.ts';

export const label = '[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?';
export const ipv4 = String.raw`\d{1,3}(\.\d{1,3}){3}`;
export const ipv6 = '[0-9a-fA-F:]*:[0-9a-fA-F:.]*';

export const host = {
  type: 'string',
  title: 'a domain in lower case, without scheme, port or trailing dot',
  pattern: String.raw`^(${label}\.)+${label}$`,
  maxLength: 253,
} satisfies Schema;

export const kubernetesName = {
  type: 'string',
  title: 'a name of a Kubernetes object',
  pattern: '^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$',
} satisfies Schema;

/** What no pattern can tell: numbers that are too large, and addresses of digits that are none. */
export const formats = {
  address: text => isIP(text) !== 0,
  network: text => parses(() => rangesOf([text])),
  'dns-server': text => parses(() => parseEndpoint(text)),
  'edge-address': text => {
    const {host, port} = parseAddress(text);
    return port >= 1 && port <= 65_535 && (!/^[\d.]+$|:/.test(host) || isIP(host) !== 0);
  },
  certificates: base64 => parses(() => new X509Certificate(Buffer.from(base64, 'base64'))),
} satisfies Record<string, (text: string) => boolean>;

function parses(parse: () => unknown): boolean {
  try {
    parse();
    return true;
  } catch {
    return false;
  }
}

export const address = {
  type: 'string',
  title: 'an IP address',
  format: 'address',
  pattern: `^(${ipv4}|${ipv6})$`,
} satisfies Schema;

export function seconds(byDefault: number, minimum: number, description: string) {
  return integer(byDefault, [minimum, 10 * 365 * DAY_SECONDS], `${description} In seconds.`);
}

export function milliseconds(byDefault: number, description: string) {
  return integer(byDefault, [1, 600_000], `${description} In milliseconds.`);
}
