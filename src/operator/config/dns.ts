import {choice, DAY_SECONDS, integer, section} from '../../config/config-schema.ts';
import {defaultDnsConfig} from '../../dns/dns.ts';
import {address, ipv4, ipv6, milliseconds, seconds} from './formats.ts';

export const dns = section('How the DNS of custom domains is checked.', {
  mode: choice(
    ['auto', 'authoritative', 'recursive'],
    defaultDnsConfig.mode,
    "Which servers are queried. authoritative: the zones' own servers. recursive: the resolvers in recursives, for a cluster that cannot reach port 53 on the internet. auto: the zones' own servers; in addition, the resolvers in recursives to detect broken DNSSEC, and if none of the zones' servers can be reached.",
  ),
  recursives: {
    type: 'array',
    items: {
      type: 'string',
      title: 'an IP address, with or without a port',
      format: 'dns-server',
      pattern: String.raw`^(${ipv4}(:\d{1,5})?|${ipv6}|\[${ipv6}\](:\d{1,5})?)$`,
      examples: ['9.9.9.9', '[2620:fe::fe]:53'],
    },
    default: [...defaultDnsConfig.recursives],
    description:
      "Recursive resolvers, as ip, ip:port or [ip]:port. If empty, those in the system's resolv.conf. In mode auto, a host is verified only once the resolvers listed here have the new record too.",
  },
  rootServers: {
    type: 'array',
    minItems: 1,
    items: {...address, examples: ['198.41.0.4']},
    description: 'Addresses of the DNS root servers. If absent, those of the internet.',
  },
  allowAddresses: {
    type: 'array',
    items: {
      type: 'string',
      title: 'a CIDR',
      format: 'network',
      pattern: String.raw`^(${ipv4}|${ipv6})/\d{1,3}$`,
      examples: ['10.1.0.0/16'],
    },
    default: [...defaultDnsConfig.allowAddresses],
    description:
      'Networks whose DNS servers may be queried in addition to public unicast addresses. Tenants choose the servers of their zones, so do not list networks that tenants must not reach.',
  },
  checks: section('When names are checked.', {
    soonSeconds: seconds(
      defaultDnsConfig.checks.soonSeconds,
      1,
      'Pause before the first check after a change or a request.',
    ),
    pendingMaxSeconds: seconds(
      defaultDnsConfig.checks.pendingMaxSeconds,
      1,
      'Longest pause between checks of a name that is not verified, and between the polls of a new one.',
    ),
    steadySeconds: seconds(defaultDnsConfig.checks.steadySeconds, 1, 'Pause between checks of a verified name.'),
    inFlight: integer(defaultDnsConfig.checks.inFlight, [1, 1000], 'How many names are checked at the same time.'),
  }),
  queryTimeoutMs: milliseconds(
    defaultDnsConfig.queryTimeoutMs,
    'Time limit for one attempt of one query to one server.',
  ),
  verdictTimeoutMs: milliseconds(defaultDnsConfig.verdictTimeoutMs, 'Time limit for the whole check of a name.'),
  driftAfterSeconds: seconds(
    defaultDnsConfig.driftAfterSeconds,
    0,
    "How long all servers must agree that a live domain's record is gone before the Domain is Degraded. Traffic continues.",
  ),
  apexProof: choice(
    ['txt', 'address'],
    'txt',
    'What proves a host that has only addresses (an apex, a proxied name). txt: the addresses and a TXT record. address: only the addresses, which is safe only if a single tenant uses the cluster.',
  ),
  propagationSeconds: seconds(
    2 * DAY_SECONDS,
    0,
    'How long DNS faults count as progress after a change, before the Domain is Stalled.',
  ),
});
