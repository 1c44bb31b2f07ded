/**
 * The forms of DNS providers, by the names of their name servers. To add a provider, add a row. A wrong row only shows
 * the wrong menu: the record itself always comes from the Domain.
 */
export interface Provider {
  readonly name: string;
  /** The names of its name servers contain one of these. */
  readonly servers: readonly string[];
  /** Where the form is, from the account's start page. */
  readonly path: readonly string[];
  /** What to enter as the name of the domain itself; '' for a field that stays empty. */
  readonly apex: string;
  /** What it calls a record at an apex that follows another name. Absent: it has none. */
  readonly alias?: string;
  /** What people miss in this form. */
  readonly note?: string;
}

const UNPROXIED =
  'Set the proxy status to "DNS only". A proxied record hides the CNAME that proves the domain is yours.';
const FULL_VALUE = 'End the value with a dot. Otherwise, the provider appends your own domain to it.';

export const PROVIDERS: readonly Provider[] = [
  {
    name: 'Cloudflare',
    servers: ['.ns.cloudflare.com'],
    path: ['Your domain', 'DNS', 'Records', 'Add record'],
    apex: '@',
    alias: 'CNAME',
    note: UNPROXIED,
  },
  {
    name: 'GoDaddy',
    servers: ['.domaincontrol.com'],
    path: ['Domain Portfolio', 'Your domain', 'DNS', 'Add New Record'],
    apex: '@',
  },
  {
    name: 'Amazon Route 53',
    servers: ['.awsdns-'],
    path: ['Route 53', 'Hosted zones', 'Your domain', 'Create record'],
    apex: '',
    note: 'An alias of Route 53 points only to resources of AWS and to records of the same zone.',
  },
  {
    name: 'Google Cloud DNS',
    servers: ['ns-cloud-'],
    path: ['Cloud DNS', 'Your zone', 'Add standard'],
    apex: '',
    alias: 'ALIAS',
  },
  {
    name: 'Squarespace',
    servers: ['.squarespacedns.com', '.googledomains.com'],
    path: ['Domains', 'Your domain', 'DNS', 'Add record'],
    apex: '@',
    alias: 'ALIAS',
  },
  {
    name: 'Namecheap',
    servers: ['.registrar-servers.com', '.namecheaphosting.com'],
    path: ['Domain List', 'Manage', 'Advanced DNS', 'Add New Record'],
    apex: '@',
    alias: 'ALIAS Record',
  },
  {
    name: 'Azure DNS',
    servers: ['.azure-dns.'],
    path: ['DNS zones', 'Your domain', 'Recordsets', 'Add'],
    apex: '@',
    note: 'An alias record set of Azure points only to resources of Azure.',
  },
  {name: 'IONOS', servers: ['.ui-dns.'], path: ['Domains & SSL', 'Your domain', 'DNS', 'Add record'], apex: '@'},
  {
    name: 'Gandi',
    servers: ['.gandi.net'],
    path: ['Domain', 'Your domain', 'DNS Records', 'Add record'],
    apex: '@',
    alias: 'ALIAS',
    note: FULL_VALUE,
  },
  {
    name: 'OVHcloud',
    servers: ['.ovh.net', '.ovh.ca', '.anycast.me'],
    path: ['Domain names', 'Your domain', 'DNS zone', 'Add an entry'],
    apex: '',
    note: FULL_VALUE,
  },
  {
    name: 'Hostinger',
    servers: ['.dns-parking.com', '.hostinger.com'],
    path: ['Domains', 'Your domain', 'DNS / Nameservers', 'Add record'],
    apex: '@',
    alias: 'ALIAS',
  },
  {
    name: 'Wix',
    servers: ['.wixdns.net'],
    path: ['Domains', 'Your domain', 'Manage DNS Records', 'Add Record'],
    apex: '',
  },
  {
    name: 'DigitalOcean',
    servers: ['.digitalocean.com'],
    path: ['Networking', 'Domains', 'Your domain', 'Create new record'],
    apex: '@',
  },
  {
    name: 'Hetzner',
    servers: ['.ns.hetzner.', '.first-ns.de', '.second-ns.'],
    path: ['DNS', 'Your zone', 'Add record'],
    apex: '@',
    note: FULL_VALUE,
  },
  {
    name: 'Porkbun',
    servers: ['.porkbun.com'],
    path: ['Domain Management', 'Your domain', 'DNS'],
    apex: '',
    alias: 'ALIAS',
  },
  {
    name: 'DNSimple',
    servers: ['.dnsimple.com', '.dnsimple-edge.'],
    path: ['Your domain', 'DNS', 'Record editor', 'Add record'],
    apex: '',
    alias: 'ALIAS',
  },
  {
    name: 'NS1',
    servers: ['.nsone.net'],
    path: ['DNS', 'Zones', 'Your zone', 'Add record'],
    apex: '@',
    alias: 'ALIAS',
  },
  {
    name: 'Vercel',
    servers: ['.vercel-dns.com'],
    path: ['Domains', 'Your domain', 'DNS Records', 'Add'],
    apex: '@',
    alias: 'ALIAS',
  },
  {
    name: 'Name.com',
    servers: ['.name.com'],
    path: ['My Domains', 'Your domain', 'Manage DNS Records'],
    apex: '',
    alias: 'ANAME',
  },
  {
    name: 'Network Solutions',
    servers: ['.worldnic.com'],
    path: ['Domains', 'Your domain', 'Advanced Tools', 'Advanced DNS Records', 'Add Record'],
    apex: '@',
  },
  {
    name: 'Alibaba Cloud DNS',
    servers: ['.hichina.com', '.alidns.com'],
    path: ['Alibaba Cloud DNS', 'Your domain', 'DNS Settings', 'Add Record'],
    apex: '@',
  },
];

/** `servers`: names of the zone's name servers. All must be those of one provider, or somebody is moving the zone. */
export function providerOf(servers: readonly string[]): Provider | undefined {
  const found = new Set(servers.map(server => PROVIDERS.find(provider => isServerOf(provider, server))));
  const [provider, ...others] = found;
  return others.length === 0 ? provider : undefined;
}

function isServerOf({servers}: Provider, server: string): boolean {
  const name = `.${server.toLowerCase().replace(/\.$/, '')}`;
  return servers.some(part => (/[.-]$/.test(part) ? name.includes(part) : name.endsWith(part)));
}
