import {choice, DAY_SECONDS, integer, object, type Schema, section} from '../../base/config-schema.ts';
import {host, kubernetesName, seconds} from './formats.ts';

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

export const certificates = section('Certificates of custom domains, issued by cert-manager.', {
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
        'Servers that such an Issuer may name: ACME, Vault, Venafi, and the servers of DNS-01 solvers. If empty, none are allowed. Anyone who runs a server on this list can stop the certificates of all tenants, so list only servers that you trust to complete every order.',
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
      dryRun: {
        type: 'boolean',
        default: false,
        description:
          "Decide nothing, and report what would be denied. cert-manager's built-in approver stays enabled meanwhile. docs/multi-tenancy.md describes how to use it before you disable that approver.",
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
      inProgress: integer(
        50,
        [2, 1000],
        "Requests in progress in the whole cluster. Stay below cert-manager's own limit, --max-concurrent-challenges.",
      ),
      inProgressPerAccount: integer(
        4,
        [1, 1000],
        "Requests in progress of one account. A self check can hold one of cert-manager's workers for most of a minute, so stay below their number, --concurrent-workers (5 by default).",
      ),
      renewalReserve: integer(
        10,
        [0, 1000],
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
      failures: integer(
        5,
        [1, 20],
        'Failed attempts for one host in the window, and, counted separately, orders for it.',
      ),
      windowSeconds: seconds(3600, 60, 'Length of the window.'),
    },
  ),
  orderBudget: section(
    "Limits on orders from the issuer's account at the CA, while approval is enabled. Together with all other orders from the account, stay at or below the CA's limits.",
    {
      orders: integer(
        300,
        [2, 1_000_000],
        'Orders in the window. A single tenant gets at most four fifths of those that are not reserved for renewals.',
      ),
      windowSeconds: seconds(10_800, 1, 'Length of the window.'),
      renewalReserve: integer(
        60,
        [0, 1_000_000],
        'How many of the orders are reserved for renewals. Must be less than orders.',
      ),
      newHostsPerDomain: integer(
        50,
        [2, 1_000_000],
        'Orders for new hosts under one registrable domain, such as example.com, in a separate window. A single tenant gets at most four fifths.',
      ),
      domainWindowSeconds: seconds(7 * DAY_SECONDS, 1, 'Length of the window of newHostsPerDomain.'),
    },
  ),
  secretRetentionSeconds: seconds(
    7 * DAY_SECONDS,
    0,
    'How long the TLS Secret outlives its Domain, so that removing and re-adding a domain needs no new certificate.',
  ),
});
