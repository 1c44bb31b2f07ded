import {choice, DAY_SECONDS, object, type Schema, section} from '../../config/config-schema.ts';
import {host, ipv6, kubernetesName, label, seconds} from './formats.ts';

const issuerRefProperties = {
  name: {...kubernetesName, examples: ['letsencrypt'], description: 'Name of the issuer.'},
  kind: choice(
    ['ACMEIssuer', 'ClusterIssuer', 'Issuer'],
    'ClusterIssuer',
    "An ACMEIssuer is Nameplate's own (group nameplate.dev). An Issuer is looked up in each project's own namespace.",
  ),
  group: {
    ...host,
    examples: ['nameplate.dev'],
    default: 'cert-manager.io',
    description: 'API group of the issuer: nameplate.dev for an ACMEIssuer.',
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
      examples: ['https://vault.example.net:8200'],
      description: 'The whole address, as the Issuer names it.',
    },
    caBundle: {
      type: 'string',
      minLength: 1,
      title: 'base64 of PEM certificates',
      format: 'certificates',
      examples: ['LS0tLS1CRUdJTi…'],
      description: 'The caBundle that an Issuer of this server may set, in base64. If absent, it may set none.',
    },
  },
  ['url'],
);

const replicaAddresses = {
  type: 'array',
  default: [],
  items: {
    type: 'string',
    minLength: 1,
    title: 'a host and a port',
    pattern: String.raw`^([A-Za-z0-9.-]+|\[${ipv6}\]):\d{1,5}$`,
    examples: ['127.0.0.1:8089', '[::1]:8089'],
    description: 'Address of a replica.',
  },
  description: 'The replicas to check, instead of those of the Service: for an operator outside the cluster.',
} satisfies Schema;

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
      "The user name of cert-manager's controller. Only its certificate requests are approved outside exemptNamespaces.",
  },
  certManagerLease: section(
    'The Lease that shows whether cert-manager runs. The chart grants the operator the right to read it in every namespace, by this name.',
    {
      namespace: {
        type: 'string',
        minLength: 1,
        default: 'kube-system',
        description: "As global.leaderElection.namespace in cert-manager's chart.",
      },
      name: {
        type: 'string',
        default: 'cert-manager-controller',
        description:
          'If empty, or if cert-manager holds no elections, Nameplate notices only that cert-manager takes up no new Certificate.',
      },
    },
  ),
  tenantIssuers: section('Issuers that tenants create in their own namespaces.', {
    servers: {
      type: 'array',
      default: [],
      items: listedServer,
      description:
        'Servers that such an Issuer may name: of Vault and Venafi. If empty, none are allowed. Anyone who runs a server on this list can delay the certificates of all tenants, so list only servers that you trust to answer.',
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
          clusterDomain: {
            ...host,
            pattern: String.raw`^(${label}\.)*${label}$`,
            default: 'cluster.local',
            description:
              "The cluster's DNS domain, with which the full names of Services end (clusterDomain of the kubelet).",
          },
        },
      ),
    },
  ),
  overdueAfterSeconds: seconds(
    1800,
    60,
    'After this time without a certificate, the Domain reports what may be wrong.',
  ),
  acme: section('Certificates that ACMEIssuers issue, with the platform as a client of the CA.', {
    accountKeySecret: {
      ...kubernetesName,
      default: 'nameplate-acme-account',
      description:
        "The Secret with the key of the platform's accounts, in the operator's namespace. The operator creates it once. Back it up. To change the key, name another Secret, and list this one in formerAccountKeySecrets.",
    },
    formerAccountKeySecrets: {
      type: 'array',
      default: [],
      items: {...kubernetesName, examples: ['nameplate-acme-account'], description: 'Name of a Secret.'},
      description:
        'Secrets that accountKeySecret named before. The operator gives each account that has one of their keys the current one.',
    },
    challenges: section('The program that answers the challenges of CAs (HTTP-01).', {
      service: {
        ...kubernetesName,
        default: 'nameplate-challenges',
        description: "Its Service, in the operator's namespace. The operator checks each ready replica.",
      },
      configMap: {
        ...kubernetesName,
        default: 'nameplate-challenges',
        description: "The ConfigMap, in the operator's namespace, from which it reads the account's thumbprint.",
      },
      addresses: replicaAddresses,
    }),
    nameserver: section('The name server of platform.acmeDomain, which answers the challenges of CAs (DNS-01).', {
      service: {
        ...kubernetesName,
        default: 'nameplate-nameserver',
        description: "Its Service, in the operator's namespace. The operator checks each ready replica.",
      },
      addresses: replicaAddresses,
    }),
  }),
  secretRetentionSeconds: seconds(
    7 * DAY_SECONDS,
    0,
    'How long the TLS Secret outlives its Domain, so that removing and re-adding a domain needs no new certificate.',
  ),
});
