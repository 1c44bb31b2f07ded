/**
 * The operator's configuration, as the code sees it: complete, every default applied.
 *
 * The file is YAML; `config-schema.ts` holds its JSON schema with the defaults and the description of every option,
 * and the chart's values are generated from that schema. Names end in their unit (`Seconds`, `Ms`).
 */
import {isIP, isIPv4, isIPv6} from 'node:net';
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
  readonly claims: {readonly lingerSeconds: number};
  /** Names of the chart's admission policies that refuse nothing. */
  readonly admission: {readonly notEnforced: readonly string[]};
  readonly controller: ControllerConfig;
  /** Port 0 asks the system for any free port. */
  readonly server: {readonly port: number};
  readonly log: {readonly level: 'trace' | 'debug' | 'info' | 'warn' | 'error'};
}

export interface PlatformConfig {
  /** Every project's default host is one label under it. */
  readonly baseDomain: string;
  /** Every account's DNS target is one label under it. */
  readonly targetDomain: string;
  /** Each reserves itself and everything beneath it. The two domains above are reserved without being listed. */
  readonly reservedHosts: readonly string[];
  /** Path of a file of at least 32 bytes, from which account targets and proof tokens are derived. */
  readonly keyFile: string;
}

export interface PlanConfig {
  readonly customDomains: boolean;
  /** Custom hosts that one account may have on this plan. */
  readonly maxDomains: number;
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
  /** Servers that Issuers of tenants may name; `caBundle`: base64 of PEM, as cert-manager has it. */
  readonly tenantIssuers: {readonly servers: readonly {readonly url: string; readonly caBundle?: string}[]};
  /** The CA's domains as CAA records name them; empty: CAA is not checked. */
  readonly caaIdentities: readonly string[];
  readonly approval: {
    readonly enabled: boolean;
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
  /** Limits of the issuer's account at the CA; kept where `approval` is enabled. */
  readonly orderBudget: {
    readonly orders: number;
    readonly windowSeconds: number;
    /** Of `orders`; less than these. */
    readonly renewalReserve: number;
    readonly newHostsPerDomain: number;
    readonly domainWindowSeconds: number;
  };
  readonly secretRetentionSeconds: number;
}

export interface RoutingConfig {
  readonly flavour: 'traefik';
  readonly ingressClassName: string;
  readonly traefik: {
    readonly httpEntryPoint: string;
    readonly httpsEntryPoint: string;
    /** '' if unknown. */
    readonly version: string;
  };
}

export interface OperatorDnsConfig extends DnsConfig {
  /** What proves a host that shows only addresses: the TXT record, or (one tenant only) the addresses alone. */
  readonly apexProof: 'txt' | 'address';
  /** How long DNS faults count as progress before the Domain is Stalled. */
  readonly propagationSeconds: number;
}

export interface ControllerConfig {
  readonly workers: number;
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

/** What a schema cannot say, because it ties two options together. Paths are keys from the root of the file. */
export interface ConfigProblem {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/** All contradictions between options that are each valid; empty when there are none. */
export function checkOperatorConfig(config: OperatorConfig): readonly ConfigProblem[] {
  return [
    ...checkPlatform(config.platform),
    ...checkPlans(config),
    ...checkOrderBudget(config.certificates.orderBudget),
    ...checkChallenges(config.certificates.challenges),
    ...checkLeaderElection(config.controller.leaderElection),
    ...checkDns(config.dns),
  ];
}

function checkPlatform({baseDomain, targetDomain}: PlatformConfig): readonly ConfigProblem[] {
  if (baseDomain !== targetDomain) return [];
  const message = `is ${targetDomain}, which is platform.baseDomain too; allowed: another domain, since the default hosts of projects and the DNS targets of accounts must not share a zone`;
  return [{path: ['platform', 'targetDomain'], message}];
}

function checkPlans({plans, defaultPlan}: OperatorConfig): readonly ConfigProblem[] {
  if (Object.hasOwn(plans, defaultPlan)) return [];
  const message = `is "${defaultPlan}", which plans does not define; allowed: ${Object.keys(plans).join(', ')}`;
  return [{path: ['defaultPlan'], message}];
}

function checkOrderBudget({orders, renewalReserve}: CertificatesConfig['orderBudget']): readonly ConfigProblem[] {
  return mustBeLess(['certificates', 'orderBudget', 'renewalReserve'], renewalReserve, 'orders', orders);
}

function checkChallenges({inProgress, renewalReserve}: CertificatesConfig['challenges']): readonly ConfigProblem[] {
  return mustBeLess(['certificates', 'challenges', 'renewalReserve'], renewalReserve, 'inProgress', inProgress);
}

function checkLeaderElection(election: LeaderElectionConfig): readonly ConfigProblem[] {
  const {leaseDurationSeconds: lease, renewDeadlineSeconds: renew, retryPeriodSeconds: retry} = election;
  const path = ['controller', 'leaderElection'];
  return [
    ...mustBeLess([...path, 'renewDeadlineSeconds'], renew, 'leaseDurationSeconds', lease),
    ...mustBeLess([...path, 'retryPeriodSeconds'], retry, 'renewDeadlineSeconds', renew),
  ];
}

function checkDns(dns: OperatorDnsConfig): readonly ConfigProblem[] {
  const {checks, queryTimeoutMs, verdictTimeoutMs} = dns;
  return [
    ...checkEach(['dns', 'recursives'], dns.recursives, isAddressWithPort, 'an IP address, with or without a port'),
    ...checkEach(['dns', 'rootServers'], dns.rootServers ?? [], text => isIP(text) !== 0, 'an IP address'),
    ...checkEach(['dns', 'allowAddresses'], dns.allowAddresses, isCidr, 'a CIDR, such as 10.1.0.0/16'),
    ...mustBeLess(['dns', 'queryTimeoutMs'], queryTimeoutMs, 'verdictTimeoutMs', verdictTimeoutMs),
    ...mustBeLess(['dns', 'checks', 'soonSeconds'], checks.soonSeconds, 'pendingMaxSeconds', checks.pendingMaxSeconds),
  ];
}

/** `ip`, `ipv4:port`, `[ipv6]` or `[ipv6]:port`. */
function isAddressWithPort(text: string): boolean {
  if (isIP(text) !== 0) return true;
  const {address, port} = /^(?<address>\[.*\]|[^:]*)(?::(?<port>\d+))?$/.exec(text)?.groups ?? {};
  if (address === undefined) return false;
  if (port !== undefined && (Number(port) < 1 || Number(port) > 65_535)) return false;
  return address.startsWith('[') ? isIPv6(address.slice(1, -1)) : isIPv4(address);
}

function isCidr(text: string): boolean {
  const [address = '', bits = '', ...rest] = text.split('/');
  const family = isIP(address);
  return family !== 0 && rest.length === 0 && /^\d+$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128);
}

function checkEach(
  path: readonly string[],
  values: readonly string[],
  good: (value: string) => boolean,
  allowed: string,
): readonly ConfigProblem[] {
  return values.flatMap((value, index) =>
    good(value) ? [] : [{path: [...path, index], message: `is "${value}"; allowed: ${allowed}`}],
  );
}

function mustBeLess(
  path: readonly string[],
  value: number,
  otherName: string,
  other: number,
): readonly ConfigProblem[] {
  if (value < other) return [];
  return [{path, message: `is ${value}; allowed: less than ${otherName}, which is ${other}`}];
}
