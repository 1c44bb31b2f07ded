import {BlockList, isIP} from 'node:net';
import {networkInterfaces} from 'node:os';
import {canonicalAddress} from './codec.ts';

/**
 * The IANA special-purpose addresses that are not public unicast: all of IPv4, and of IPv6 those within 2000::/3
 * (Teredo and its neighbors, documentation, 6to4: each can embed an IPv4 address in a private network).
 */
const SPECIAL_IPV4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
];
const SPECIAL_IPV6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'];
const PUBLIC_IPV6 = ['2000::/3'];
const MAPPED_IPV6 = ['::ffff:0:0/96'];

const special = rangesOf([...SPECIAL_IPV4, ...SPECIAL_IPV6]);
const publicIpv6 = rangesOf(PUBLIC_IPV6);
const mapped = rangesOf(MAPPED_IPV6);
const none = new BlockList();

/** Throws a RangeError that names the entry that is not a CIDR. */
export function rangesOf(cidrs: readonly string[]): BlockList {
  const list = new BlockList();
  for (const cidr of cidrs) {
    const [address = '', prefix = '', ...rest] = cidr.split('/');
    const family = isIP(address);
    if (family === 0 || rest.length > 0 || !/^\d{1,3}$/.test(prefix) || Number(prefix) > (family === 4 ? 32 : 128)) {
      throw new RangeError(`not a CIDR such as 10.0.0.0/8: ${cidr}`);
    }
    list.addSubnet(address, Number(prefix), family === 4 ? 'ipv4' : 'ipv6');
  }
  return list;
}

function covers(list: BlockList, address: string): boolean {
  return list.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
}

/** Whether a stranger's DNS may make us send a packet there: public unicast, or allowed by the configuration. */
export function mayQueryAddress(address: string, allowed: BlockList): boolean {
  const family = isIP(address);
  if (family === 0) return false;
  if (family === 6 && covers(mapped, address)) return false;
  if (covers(allowed, address)) return true;
  return (family === 4 || covers(publicIpv6, address)) && !covers(special, address);
}

export type Family = 4 | 6;

/**
 * The families of addresses that this machine can send to: those in which it has an address of its own beyond the link.
 * Both, if it has no such address at all: then it reaches only itself.
 */
export function ownFamilies(interfaces = networkInterfaces()): ReadonlySet<Family> {
  const own = Object.values(interfaces).flatMap(addresses => addresses ?? []);
  const global = own.filter(({internal, address}) => !internal && !/^(?:fe[89ab]|169\.254\.)/i.test(address));
  const families = global.map(({address}): Family => (isIP(address) === 6 ? 6 : 4));
  return new Set(families.length > 0 ? families : [4, 6]);
}

/**
 * Those of the addresses that belong to one of the families, or are not public: to these, no family has a route, and the
 * transport refuses them by name.
 */
export function ofFamilies(addresses: readonly string[], families: ReadonlySet<Family>): string[] {
  return addresses.filter(address => families.has(isIP(address) === 6 ? 6 : 4) || !mayQueryAddress(address, none));
}

export interface Endpoint {
  readonly address: string;
  readonly port: number;
}

/** `1.2.3.4`, `1.2.3.4:5353`, `2001:db8::1`, `[2001:db8::1]:5353`. Throws a RangeError naming the entry. */
export function parseEndpoint(text: string): Endpoint {
  const bracketed = /^\[([^\]]+)\](?::(\d{1,5}))?$/.exec(text) ?? /^([\d.]+):(\d{1,5})$/.exec(text);
  const address = canonicalAddress(bracketed?.[1] ?? text);
  const port = Number(bracketed?.[2] ?? 53);
  if (address === undefined || port < 1 || port > 65_535) {
    throw new RangeError(`not an address such as 192.0.2.1, 192.0.2.1:53 or [2001:db8::1]:53: ${text}`);
  }
  return {address, port};
}

export function formatEndpoint({address, port}: Endpoint): string {
  if (port === 53) return address;
  return isIP(address) === 6 ? `[${address}]:${port}` : `${address}:${port}`;
}
