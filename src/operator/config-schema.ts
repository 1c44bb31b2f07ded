/**
 * JSON schema (draft 7) of the operator's configuration file: the single source of its defaults, limits, and descriptions.
 * Each `pattern` comes with a `title` that describes what is allowed, and with `examples`: error messages use both.
 */
import {defaultDnsConfig} from '../dns/dns.ts';
import {checkOperatorConfig} from './check-config.ts';

type Schema = Readonly<Record<string, unknown>>;

const label = '[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?';
const ipv4 = String.raw`\d{1,3}(\.\d{1,3}){3}`;
const ipv6 = '[0-9a-fA-F:]*:[0-9a-fA-F:.]*';
const day = 86_400;

const host = {
  type: 'string',
  title: 'a domain in lower case, without scheme, port or trailing dot',
  pattern: String.raw`^(${label}\.)+${label}$`,
  maxLength: 253,
} satisfies Schema;

/** Leaves room for a label of 63 characters in a name of 253. */
const zone = {...host, maxLength: 189} satisfies Schema;

const kubernetesName = {
  type: 'string',
  title: 'a name of a Kubernetes object',
  pattern: '^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$',
} satisfies Schema;

const plan = object('What accounts on the plan may do.', {
  customDomains: {
    type: 'boolean',
    default: false,
    description: 'Whether accounts on the plan may have custom domains.',
  },
  maxDomains: count(20, 0, 100_000, 'How many custom hosts one account may have.'),
  maxProjects: count(100, 0, 100_000, 'How many Projects of one account are published. The oldest ones come first.'),
});

const platform = section(
  'The zones and the key of the platform.',
  {
    baseDomain: {
      ...zone,
      examples: ['apps.example.net'],
      description:
        "Every project is published at one label under this domain. A wildcard record *.baseDomain must point to the cluster's ingress.",
    },
    targetDomain: {
      ...zone,
      examples: ['edge.example.net'],
      description:
        "Custom domains point to a name under this domain, a different one for each account. A wildcard record *.targetDomain must point to the cluster's ingress. Never change it while custom domains exist: each of them would need a DNS change.",
    },
    reservedHosts: {
      type: 'array',
      items: {...host, examples: ['example.net']},
      default: [],
      description:
        'Hosts that no tenant may use, including everything below them. baseDomain and targetDomain are always reserved.',
    },
    keyFile: {
      type: 'string',
      minLength: 1,
      title: 'the path of a file',
      examples: ['/etc/nameplate/key/platform.key'],
      description:
        'Path of a file with the platform key. If set, keySecret is not used, and the operator creates no key.',
    },
    keySecret: section(
      "The Secret, in the operator's namespace, of the platform key: at least 32 random bytes, from which account targets and proof tokens are derived. The operator creates it at its first start. If it is lost, every custom domain must change its DNS.",
      {
        name: {...kubernetesName, default: 'nameplate-platform-key', description: 'Name of the Secret.'},
        key: {type: 'string', minLength: 1, default: 'platform.key', description: 'Key within the Secret.'},
      },
    ),
  },
  ['baseDomain', 'targetDomain'],
);

const issuerRefProperties = {
  name: {...kubernetesName, examples: ['letsencrypt'], description: 'Name of the issuer.'},
  kind: choice(['ClusterIssuer', 'Issuer'], 'ClusterIssuer', "An Issuer is looked up in each project's own namespace."),
  group: {
    ...host,
    examples: ['cert-manager.io'],
    default: 'cert-manager.io',
    description: 'API group of the issuer.',
  },
} satisfies Record<string, Schema>;

function issuerRefs(description: string): Schema {
  return {type: 'array', default: [], description, items: object('An issuer.', issuerRefProperties, ['name'])};
}

const listedServer = object(
  'A server.',
  {
    url: {
      type: 'string',
      minLength: 1,
      title: 'the address of a server, as an Issuer names it',
      examples: ['https://acme-v02.api.letsencrypt.org/directory'],
      description: 'The whole address, as the Issuer names it.',
    },
    caBundle: {
      type: 'string',
      minLength: 1,
      title: 'base64 of PEM certificates',
      examples: ['LS0tLS1CRUdJTi…'],
      description: 'The caBundle that an Issuer of this server may set, in base64. If absent, it may set none.',
    },
  },
  ['url'],
);

const certificates = section('Certificates of custom domains, issued by cert-manager.', {
  issuerRef: section('The cert-manager issuer of new certificates.', issuerRefProperties, ['name']),
  formerIssuerRefs: issuerRefs(
    'Issuers that issuerRef named before. A certificate keeps such an issuer for its lifetime; issuerRef replaces any other issuer.',
  ),
  certManagerUser: {
    type: 'string',
    minLength: 1,
    title: 'a user name of Kubernetes',
    examples: ['system:serviceaccount:cert-manager:cert-manager'],
    default: 'system:serviceaccount:cert-manager:cert-manager',
    description:
      "The user name of cert-manager's controller. Only its certificate requests are approved outside exemptNamespaces, and what it writes for a challenge is checked against the hosts that the namespace holds.",
  },
  tenantIssuers: section('Issuers that tenants create in their own namespaces.', {
    servers: {
      type: 'array',
      default: [],
      items: listedServer,
      description:
        'Servers that such an Issuer may name: ACME, Vault, Venafi, and the servers of DNS-01 solvers. If empty, none are allowed. Every server on this list can delay the certificates of all tenants.',
    },
  }),
  caaIdentities: {
    type: 'array',
    items: {...host, examples: ['letsencrypt.org']},
    default: [],
    description:
      "The CA's domains as they appear in CAA records, such as letsencrypt.org. Nameplate checks CAA records before it requests a certificate. If empty, it does not check them.",
  },
  approval: section(
    "Approval of cert-manager's certificate requests in all namespaces, instead of cert-manager's built-in approver. Disable that one (disableAutoApproval in its chart); otherwise, it approves everything first.",
    {
      enabled: {
        type: 'boolean',
        default: true,
        description:
          "Approve the operator's own requests, each for one host that its namespace holds, and deny all others. If false, another approver must decide, and must deny tenants certificates for other tenants' hosts.",
      },
      exemptNamespaces: {
        type: 'array',
        items: kubernetesName,
        default: ['cert-manager', 'kube-system'],
        description: "Namespaces whose requests are all approved: the platform's own, never a tenant's.",
      },
      tenantCertificates: section(
        "Certificates that tenants create themselves. By default, only the operator's own are approved.",
        {
          hosts: issuerRefs(
            'Issuers from which a namespace may get a certificate for one host that it holds. Each such certificate is a separate order.',
          ),
          services: issuerRefs(
            'Issuers from which a namespace may get a certificate for names of its own Services (x.NAMESPACE.svc), for TLS within the cluster.',
          ),
        },
      ),
    },
  ),
  overdueAfterSeconds: seconds(
    1800,
    60,
    'After this time without a certificate, the Domain reports what may be wrong.',
  ),
  challenges: section(
    'How many certificates are issued at the same time, while approval is enabled. cert-manager processes 60 challenges at a time; one that is never solved would occupy its slot permanently.',
    {
      inProgress: count(
        50,
        2,
        1000,
        "Requests in progress in the whole cluster. Stay below cert-manager's own limit, --max-concurrent-challenges.",
      ),
      inProgressPerAccount: count(
        4,
        1,
        1000,
        "Requests in progress of one account. A self check can hold one of cert-manager's workers for most of a minute, so stay below their number, --concurrent-workers (5 by default).",
      ),
      renewalReserve: count(
        10,
        0,
        1000,
        'How many of inProgress are reserved for renewals. Must be less than inProgress.',
      ),
      timeoutSeconds: seconds(
        900,
        10,
        'Nameplate withdraws a request whose challenge is not solved after this time, and counts it as a failed attempt.',
      ),
    },
  ),
  failureBudget: section(
    'How many certificate attempts may fail for a host and, while approval is enabled, how many certificates are ordered for it. Stay at or below the limit of the CA.',
    {
      failures: count(5, 1, 20, 'Failed attempts for one host in the window, and, counted separately, orders for it.'),
      windowSeconds: seconds(3600, 60, 'Length of the window.'),
    },
  ),
  orderBudget: section(
    "Limits on orders from the issuer's account at the CA, while approval is enabled. Together with all other orders from the account, stay at or below the CA's limits.",
    {
      orders: count(
        300,
        2,
        1_000_000,
        'Orders in the window. A single tenant gets at most four fifths of those that are not reserved for renewals.',
      ),
      windowSeconds: seconds(10_800, 1, 'Length of the window.'),
      renewalReserve: count(
        60,
        0,
        1_000_000,
        'How many of the orders are reserved for renewals. Must be less than orders.',
      ),
      newHostsPerDomain: count(
        50,
        2,
        1_000_000,
        'Orders for new hosts under one registrable domain, such as example.com, in a separate window. A single tenant gets at most four fifths.',
      ),
      domainWindowSeconds: seconds(7 * day, 1, 'Length of the window of newHostsPerDomain.'),
    },
  ),
  secretRetentionSeconds: seconds(
    7 * day,
    0,
    'How long the TLS Secret outlives its Domain, so that removing and re-adding a domain needs no new certificate.',
  ),
});

const routing = section('How traffic is routed to projects.', {
  provider: choice(
    ['traefik', 'gateway'],
    'traefik',
    'For what routes are written. traefik: Ingresses for Traefik. gateway: ListenerSets and HTTPRoutes for any implementation of Gateway API that supports ListenerSets.',
  ),
  movingFrom: choice(
    ['none', 'traefik'],
    'none',
    'With provider gateway, traefik: write the routes for Traefik too, while DNS still points to it. docs/edges.md describes the move.',
  ),
  ingressClassName: {
    ...kubernetesName,
    examples: ['traefik'],
    default: 'traefik',
    description: 'For Traefik: IngressClass of the routes, and of the ACME challenges of the issuer.',
  },
  traefik: section('Names in the static configuration of Traefik.', {
    httpEntryPoint: entryPoint('web', 'Entry point of port 80.'),
    httpsEntryPoint: entryPoint('websecure', 'Entry point of port 443.'),
    version: {
      type: 'string',
      default: '',
      description:
        'Version of Traefik, for example 3.6.12. Nameplate warns if it is too old for the promises of the threat model. If empty, the version is unknown.',
    },
  }),
  gateway: section("The platform's Gateway, which accepts ListenerSets and HTTPRoutes of all namespaces.", {
    namespace: nameOrNone('Namespace of the Gateway. Must be set if provider is gateway.'),
    name: nameOrNone('Name of the Gateway. Must be set if provider is gateway.'),
    httpListener: entryPoint(
      'http',
      'Listener of port 80. It must have no host name: the redirects to HTTPS and the ACME challenges of all hosts attach to it.',
    ),
    httpsListener: entryPoint(
      'https',
      'Listener of port 443 for *.baseDomain. The default hosts attach to it, unless each of them has its own certificate.',
    ),
    supportedFeatures: {
      type: 'array',
      items: {
        type: 'string',
        title: 'a feature of Gateway API',
        pattern: '^[A-Za-z0-9]{1,63}$',
        examples: ['HTTPRoute308RedirectStatusCode'],
      },
      default: [],
      description:
        'Extended features of the Gateway that the status of its GatewayClass does not list. Redirects with 303, 307, and 308 need HTTPRoute303RedirectStatusCode, HTTPRoute307RedirectStatusCode, and HTTPRoute308RedirectStatusCode.',
    },
  }),
});

const dns = section('How the DNS of custom domains is checked.', {
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
    items: {type: 'string', title: 'an IP address', pattern: `^(${ipv4}|${ipv6})$`, examples: ['198.41.0.4']},
    description: 'Addresses of the DNS root servers. If absent, those of the internet.',
  },
  allowAddresses: {
    type: 'array',
    items: {
      type: 'string',
      title: 'a CIDR',
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
      'Longest pause between checks of a name that is not verified yet.',
    ),
    steadySeconds: seconds(defaultDnsConfig.checks.steadySeconds, 1, 'Pause between checks of a verified name.'),
    inFlight: count(defaultDnsConfig.checks.inFlight, 1, 1000, 'How many names are checked at the same time.'),
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
    2 * day,
    0,
    'How long DNS faults count as progress after a change, before the Domain is Stalled.',
  ),
});

const probes = section(
  'Visits to each host at the edge, which must show its certificate and its route before it is Live.',
  {
    enabled: {type: 'boolean', default: true, description: 'Probe the edge, if its address is known.'},
    addresses: {
      type: 'array',
      maxItems: 4,
      items: {
        type: 'string',
        title: 'a host name or an IP address, with or without a port',
        pattern: String.raw`^((${label}\.)*${label}(:\d{1,5})?|${ipv4}(:\d{1,5})?|${ipv6}|\[${ipv6}\](:\d{1,5})?)$`,
        examples: ['traefik.traefik.svc', '192.0.2.10:8443'],
      },
      default: [],
      description:
        'Where the edge listens for HTTPS; the first one that answers is used. If empty, the addresses in the status of the Gateway. Traefik reports none: name its Service, or hosts are not probed.',
    },
    steadySeconds: seconds(15, 1, 'Pause between two probes of a host, unless there are too many hosts.'),
    perSecond: count(
      10,
      1,
      1000,
      'Probes per second, at most, of hosts that answer. With more hosts, the pause grows.',
    ),
    failAfterSeconds: seconds(
      30,
      1,
      'How long the probes of a live host must show a wrong certificate, a wrong route, or no answer before it is Degraded. Nothing is withdrawn.',
    ),
    timeoutMs: milliseconds(5000, 'Time limit for one probe.'),
  },
);

const leaderElection = section('With several replicas, one is the leader and the others are on standby.', {
  enabled: {type: 'boolean', default: true, description: 'Disable it only for a single, manually started process.'},
  leaseName: {...kubernetesName, examples: ['nameplate'], default: 'nameplate', description: 'Name of the Lease.'},
  namespace: {
    ...kubernetesName,
    examples: ['nameplate-system'],
    description: "Namespace of the Lease. If absent, the namespace of the pod's service account.",
  },
  leaseDurationSeconds: seconds(15, 2, 'A leader that does not renew its Lease for this long is replaced.'),
  renewDeadlineSeconds: seconds(
    10,
    1,
    'A leader that cannot renew for this long steps down. Must be less than leaseDurationSeconds.',
  ),
  retryPeriodSeconds: seconds(2, 1, 'Pause between attempts. Must be less than renewDeadlineSeconds.'),
});

export const operatorConfigSchema: Schema = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  ...object("Configuration of Nameplate's operator.", {
    platform,
    defaultHost: section('The default host of every project.', {
      tls: choice(
        ['ingress-default', 'certificate'],
        'ingress-default',
        "ingress-default uses the ingress controller's default certificate, or that of the Gateway's listener: a wildcard for *.baseDomain. certificate requests one certificate per project.",
      ),
    }),
    plans: {
      type: 'object',
      minProperties: 1,
      additionalProperties: plan,
      propertyNames: {
        title: 'a value of a Kubernetes label',
        pattern: '^[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$',
        examples: ['pro'],
      },
      default: {
        free: {customDomains: false, maxDomains: 0, maxProjects: 10},
        pro: {customDomains: true, maxDomains: 20, maxProjects: 100},
      },
      description: 'The plans, by name. The label nameplate.dev/plan of a namespace names its plan.',
    },
    defaultPlan: {
      type: 'string',
      default: 'free',
      description: 'The plan of a namespace whose label is missing, or names a plan that does not exist.',
    },
    certificates,
    routing,
    dns,
    probes,
    claims: section('Which account holds a host or a key.', {
      lingerSeconds: seconds(
        day,
        0,
        'Minimum time for which Nameplate keeps the record of a released host or key. The record of a host blocks nobody; it remembers failed certificate attempts, and orders for as long as they count. Without either, it is kept for ten minutes at most. The record of a key prevents other accounts from taking the key.',
      ),
    }),
    admission: section("The chart's admission policies, as installed.", {
      notEnforced: {
        type: 'array',
        items: {type: 'string', title: 'the name of a policy', examples: ['routes']},
        default: [],
        description:
          'Policies that are off or only audit. The chart fills this in from admission.*; the operator reports it.',
      },
    }),
    controller: section('Settings of the controllers.', {
      workers: count(4, 1, 64, 'How many reconciles each controller runs at the same time.'),
      reportFailuresAfterSeconds: seconds(
        300,
        1,
        'What has failed for this long is reported in the log and in a metric. So is an outage of the API server, on hosts that are not served yet.',
      ),
      ownRemovals: section(
        'Removals of routes and Domains that nobody requested. After this many within the window, the operator holds further ones until a person allows them.',
        {
          perAccount: count(10, 1, 1_000_000, 'How many the operator may make of one account.'),
          total: count(25, 1, 1_000_000, 'How many it may make of all accounts together.'),
          windowSeconds: seconds(day, 1, 'The length of the window.'),
        },
      ),
      leaderElection,
    }),
    server: section('The server for /healthz, /readyz, and /metrics.', {
      port: count(8080, 0, 65_535, 'Port to listen on. 0 means any free port.'),
    }),
    metrics: section('What /metrics shows.', {
      perDomain: {
        type: 'boolean',
        default: false,
        description:
          'State, reason, and expiry of the certificate for each Domain, in addition to totals: two time series per Domain.',
      },
    }),
    log: section('Logs are written to standard output as JSON lines.', {
      level: choice(['trace', 'debug', 'info', 'warn', 'error'], 'info', 'The lowest level that is logged.'),
    }),
  }),
};

/** What `loadConfig` of src/process needs to read the operator's configuration. */
export const operatorConfigDefinition = {schema: operatorConfigSchema, check: checkOperatorConfig};

/** An object that rejects unknown keys. */
function object(description: string, properties: Readonly<Record<string, Schema>>, required: readonly string[] = []) {
  return {type: 'object', description, additionalProperties: false, properties, required};
}

/** An object that, if absent, consists of the defaults of its properties. */
function section(description: string, properties: Readonly<Record<string, Schema>>, required: readonly string[] = []) {
  return {...object(description, properties, required), default: {}};
}

function choice(values: readonly string[], byDefault: string, description: string) {
  return {type: 'string', enum: values, default: byDefault, description};
}

function count(byDefault: number, minimum: number, maximum: number, description: string) {
  return {type: 'integer', minimum, maximum, default: byDefault, description};
}

function seconds(byDefault: number, minimum: number, description: string) {
  return count(byDefault, minimum, 10 * 365 * day, `${description} In seconds.`);
}

function milliseconds(byDefault: number, description: string) {
  return count(byDefault, 1, 600_000, `${description} In milliseconds.`);
}

function nameOrNone(description: string) {
  return {
    type: 'string',
    title: 'a name of a Kubernetes object',
    pattern: '^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?)?$',
    default: '',
    description,
  };
}

function entryPoint(byDefault: string, description: string) {
  return {type: 'string', minLength: 1, default: byDefault, description};
}
