/**
 * The operator's configuration with every default applied.
 *
 * The file is YAML; `config-schema.ts` holds its JSON schema with the defaults and the description of every option,
 * and the chart's values are generated from that schema. Names end in their unit (`Seconds`, `Ms`).
 */
import type {DiagnosticsConfig} from '../../base/diagnostics-config.ts';
import type {DnsConfig} from '../../dns/dns.ts';

export interface OperatorConfig {
  readonly platform: PlatformConfig;
  readonly defaultHost: {readonly tls: 'ingress-default' | 'certificate'};
  readonly plans: Readonly<Record<string, PlanConfig>>;
  /** Always a key of `plans`. */
  readonly defaultPlan: string;
  readonly certificates: CertificatesConfig;
  readonly routing: RoutingConfig;
  readonly dns: OperatorDnsConfig;
  readonly probes: ProbesConfig;
  readonly claims: {readonly lingerSeconds: number};
  /** Names of the chart's admission policies that are off or only audit. */
  readonly admission: {readonly notEnforced: readonly string[]};
  readonly controller: ControllerConfig;
  /** Port 0 means any free port. */
  readonly server: {readonly port: number};
  /** Time series for each Domain. */
  readonly metrics: {readonly perDomain: boolean};
  readonly diagnostics: DiagnosticsConfig;
  readonly log: {readonly level: 'trace' | 'debug' | 'info' | 'warn' | 'error'};
}

export interface PlatformConfig {
  /** Every project's default host is one label under it. */
  readonly baseDomain: string;
  /** Every account's DNS target is one label under it. */
  readonly targetDomain: string;
  /** Each reserves itself and everything below it. The two domains above are reserved without being listed. */
  readonly reservedHosts: readonly string[];
  /** The Secret of the platform key in the operator's namespace, and the key within it. */
  readonly keySecret: {readonly name: string; readonly key: string};
  /** Path of a file to read the platform key from instead. */
  readonly keyFile?: string;
}

export interface ProbesConfig {
  readonly enabled: boolean;
  /** `host`, `host:port`, `ip`, `ip:port`, or `[ip]:port`; empty: what the edge itself reports. */
  readonly addresses: readonly string[];
  readonly steadySeconds: number;
  readonly perSecond: number;
  readonly failAfterSeconds: number;
  readonly timeoutMs: number;
}

export interface PlanConfig {
  readonly customDomains: boolean;
  /** Custom hosts that one account may have on this plan. */
  readonly maxDomains: number;
  /** Projects of one account that are published on this plan. */
  readonly maxProjects: number;
}

export interface IssuerRef {
  readonly name: string;
  readonly kind: 'ClusterIssuer' | 'Issuer';
  readonly group: string;
}

export interface CertificatesConfig {
  readonly issuerRef: IssuerRef;
  /** Former issuers: a certificate that names one keeps it. */
  readonly formerIssuerRefs: readonly IssuerRef[];
  /** The user name of cert-manager's controller. */
  readonly certManagerUser: string;
  /** Servers that tenants' Issuers may name; `caBundle`: base64 of PEM, as in cert-manager. */
  readonly tenantIssuers: {readonly servers: readonly {readonly url: string; readonly caBundle?: string}[]};
  /** The CA's domains as CAA records name them; empty: CAA is not checked. */
  readonly caaIdentities: readonly string[];
  readonly approval: {
    readonly enabled: boolean;
    /** Only reports what it would decide. */
    readonly dryRun: boolean;
    readonly exemptNamespaces: readonly string[];
    /** Issuers from which tenants may request certificates with their own Certificates. */
    readonly tenantCertificates: {readonly hosts: readonly IssuerRef[]; readonly services: readonly IssuerRef[]};
  };
  readonly overdueAfterSeconds: number;
  /** How many certificates may be issued at the same time, and for how long; enforced if `approval` is enabled. */
  readonly challenges: {
    readonly inProgress: number;
    readonly inProgressPerAccount: number;
    /** Part of `inProgress`, and less than it. */
    readonly renewalReserve: number;
    readonly timeoutSeconds: number;
  };
  readonly failureBudget: {readonly failures: number; readonly windowSeconds: number};
  /** Limits of the issuer's account at the CA; enforced if `approval` is enabled. */
  readonly orderBudget: {
    readonly orders: number;
    readonly windowSeconds: number;
    /** Part of `orders`, and less than it. */
    readonly renewalReserve: number;
    readonly newHostsPerDomain: number;
    readonly domainWindowSeconds: number;
  };
  readonly secretRetentionSeconds: number;
}

export interface RoutingConfig {
  readonly provider: 'traefik' | 'gateway';
  /** The edge that the platform is leaving: it has every route too. */
  readonly movingFrom: 'none' | 'traefik';
  /** IP addresses of the edge that it moves to, as DNS returns them. */
  readonly edgeAddresses: readonly string[];
  /** IP addresses of the edge in `movingFrom`. */
  readonly formerAddresses: readonly string[];
  /** How long resolvers may cache a record that pointed to the edge in `movingFrom`. */
  readonly formerTtlSeconds: number;
  readonly ingressClassName: string;
  readonly traefik: {
    readonly httpEntryPoint: string;
    readonly httpsEntryPoint: string;
    /** '' if unknown. */
    readonly version: string;
  };
  readonly gateway: {
    /** Neither is '' if `provider` is gateway. */
    readonly namespace: string;
    readonly name: string;
    readonly httpListener: string;
    readonly httpsListener: string;
    /** In addition to what the status of the GatewayClass lists. */
    readonly supportedFeatures: readonly string[];
    /** Of the implementation; '' if unknown. */
    readonly version: string;
  };
}

export interface OperatorDnsConfig extends DnsConfig {
  /** What proves a host that shows only addresses: the TXT record, or (for a single tenant) only the addresses. */
  readonly apexProof: 'txt' | 'address';
  /** How long DNS faults count as progress before the Domain is Stalled. */
  readonly propagationSeconds: number;
}

export interface ControllerConfig {
  readonly workers: number;
  readonly reportFailuresAfterSeconds: number;
  /** Builds and changes nothing. */
  readonly paused: boolean;
  /** Removals that nobody requested, within the window. */
  readonly ownRemovals: {readonly perAccount: number; readonly total: number; readonly windowSeconds: number};
  readonly leaderElection: LeaderElectionConfig;
}

export interface LeaderElectionConfig {
  readonly enabled: boolean;
  readonly leaseName: string;
  /** Absent: the namespace of the pod's service account. */
  readonly namespace?: string;
  readonly leaseDurationSeconds: number;
  readonly renewDeadlineSeconds: number;
  readonly retryPeriodSeconds: number;
}
