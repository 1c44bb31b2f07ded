// Generated from src/operator/config/schema.ts by tools/generate-types.ts; do not edit.

/**
 * Configuration of Nameplate's operator.
 */
export interface OperatorConfig {
  /**
   * The zones and the key of the platform.
   */
  readonly platform: {
    /**
     * Every project is published at one label under this domain. A wildcard record *.baseDomain must point to the cluster's ingress.
     */
    readonly baseDomain: string;
    /**
     * Custom domains point to a name under this domain, a different one for each account. A wildcard record *.targetDomain must point to the cluster's ingress. Do not change it while custom domains exist: each of them would need a DNS change.
     */
    readonly targetDomain: string;
    /**
     * The new targetDomain, to confirm that it changes although hosts are held whose DNS points to the former one. Without it, the operator refuses to start and says how many hosts need a DNS change.
     */
    readonly confirmTargetDomain: string;
    /**
     * A zone for the DNS-01 challenges of custom hosts, delegated to Nameplate's own name server and used for nothing else. If empty, the operator uses no such challenges.
     */
    readonly acmeDomain: string;
    /**
     * Hosts that no tenant may use, including everything below them. baseDomain, targetDomain, and acmeDomain are always reserved.
     */
    readonly reservedHosts: readonly string[];
    /**
     * Path of a file with the platform key. If set, keySecret is not used, and the operator creates no key.
     */
    readonly keyFile?: string;
    /**
     * The Secret, in the operator's namespace, of the platform key: at least 32 random bytes, from which account targets and proof tokens are derived. The operator creates it at its first start. If it is lost, every custom domain must change its DNS.
     */
    readonly keySecret: {
      /**
       * Name of the Secret.
       */
      readonly name: string;
      /**
       * Key within the Secret.
       */
      readonly key: string;
    };
  };
  /**
   * The default host of every project.
   */
  readonly defaultHost: {
    /**
     * ingress-default uses the ingress controller's default certificate, or that of the Gateway's listener: a wildcard for *.baseDomain. certificate requests one certificate per project.
     */
    readonly tls: 'ingress-default' | 'certificate';
  };
  /**
   * The plans, by name. The label nameplate.dev/plan of a namespace names its plan.
   */
  readonly plans: {
    /**
     * What accounts on the plan may do.
     */
    readonly [k: string]: {
      /**
       * Whether accounts on the plan may have custom domains.
       */
      readonly customDomains: boolean;
      /**
       * How many custom hosts one account may have.
       */
      readonly maxDomains: number;
      /**
       * How many Projects of one account are published. The oldest ones come first.
       */
      readonly maxProjects: number;
      /**
       * How many APIKeys of one account get a key. The oldest ones come first.
       */
      readonly maxApiKeys: number;
    };
  };
  /**
   * The plan of a namespace whose label is missing, or names a plan that does not exist.
   */
  readonly defaultPlan: string;
  /**
   * Certificates of custom domains, issued by cert-manager.
   */
  readonly certificates: {
    /**
     * The cert-manager issuer of new certificates.
     */
    readonly issuerRef: {
      /**
       * Name of the issuer.
       */
      readonly name: string;
      /**
       * An ACMEIssuer is Nameplate's own (group nameplate.dev). An Issuer is looked up in each project's own namespace.
       */
      readonly kind: 'ACMEIssuer' | 'ClusterIssuer' | 'Issuer';
      /**
       * API group of the issuer: nameplate.dev for an ACMEIssuer.
       */
      readonly group: string;
    };
    /**
     * Issuers that issuerRef named before. A certificate keeps such an issuer for its lifetime; issuerRef replaces any other issuer.
     *
     * Items: An issuer.
     */
    readonly formerIssuerRefs: readonly {
      /**
       * Name of the issuer.
       */
      readonly name: string;
      /**
       * An ACMEIssuer is Nameplate's own (group nameplate.dev). An Issuer is looked up in each project's own namespace.
       */
      readonly kind: 'ACMEIssuer' | 'ClusterIssuer' | 'Issuer';
      /**
       * API group of the issuer: nameplate.dev for an ACMEIssuer.
       */
      readonly group: string;
    }[];
    /**
     * The user name of cert-manager's controller. Only its certificate requests are approved outside exemptNamespaces.
     */
    readonly certManagerUser: string;
    /**
     * The Lease that shows whether cert-manager runs. The chart grants the operator the right to read it in every namespace, by this name.
     */
    readonly certManagerLease: {
      /**
       * As global.leaderElection.namespace in cert-manager's chart.
       */
      readonly namespace: string;
      /**
       * If empty, or if cert-manager holds no elections, Nameplate notices only that cert-manager takes up no new Certificate.
       */
      readonly name: string;
    };
    /**
     * Issuers that tenants create in their own namespaces.
     */
    readonly tenantIssuers: {
      /**
       * Servers that such an Issuer may name: of Vault and Venafi. If empty, none are allowed. Anyone who runs a server on this list can delay the certificates of all tenants, so list only servers that you trust to answer.
       *
       * Items: A server.
       */
      readonly servers: readonly {
        /**
         * The whole address, as the Issuer names it.
         */
        readonly url: string;
        /**
         * The caBundle that an Issuer of this server may set, in base64. If absent, it may set none.
         */
        readonly caBundle?: string;
      }[];
    };
    /**
     * The CA's domains as they appear in CAA records, such as letsencrypt.org. Nameplate checks CAA records before it requests a certificate. If empty, it does not check them.
     */
    readonly caaIdentities: readonly string[];
    /**
     * Approval of cert-manager's certificate requests in all namespaces, instead of cert-manager's built-in approver. Disable that one (disableAutoApproval in its chart); otherwise, it approves everything first.
     */
    readonly approval: {
      /**
       * Approve the operator's own requests, each for one host that its namespace holds, and deny all others. If false, another approver must decide, and must deny tenants certificates for other tenants' hosts.
       */
      readonly enabled: boolean;
      /**
       * Decide nothing, and report what would be denied. cert-manager's built-in approver stays enabled meanwhile. docs/multi-tenancy.md describes how to use it before you disable that approver.
       */
      readonly dryRun: boolean;
      /**
       * Namespaces whose requests are all approved: the platform's own, never a tenant's.
       */
      readonly exemptNamespaces: readonly string[];
      /**
       * Certificates that tenants create themselves. By default, only the operator's own are approved.
       */
      readonly tenantCertificates: {
        /**
         * Issuers from which a namespace may get a certificate for one host that it holds. Each such certificate is a separate order.
         *
         * Items: An issuer.
         */
        readonly hosts: readonly {
          /**
           * Name of the issuer.
           */
          readonly name: string;
          /**
           * An ACMEIssuer is Nameplate's own (group nameplate.dev). An Issuer is looked up in each project's own namespace.
           */
          readonly kind: 'ACMEIssuer' | 'ClusterIssuer' | 'Issuer';
          /**
           * API group of the issuer: nameplate.dev for an ACMEIssuer.
           */
          readonly group: string;
        }[];
        /**
         * Issuers from which a namespace may get a certificate for names of its own Services (x.NAMESPACE.svc), for TLS within the cluster.
         *
         * Items: An issuer.
         */
        readonly services: readonly {
          /**
           * Name of the issuer.
           */
          readonly name: string;
          /**
           * An ACMEIssuer is Nameplate's own (group nameplate.dev). An Issuer is looked up in each project's own namespace.
           */
          readonly kind: 'ACMEIssuer' | 'ClusterIssuer' | 'Issuer';
          /**
           * API group of the issuer: nameplate.dev for an ACMEIssuer.
           */
          readonly group: string;
        }[];
        /**
         * The cluster's DNS domain, with which the full names of Services end (clusterDomain of the kubelet).
         */
        readonly clusterDomain: string;
      };
    };
    /**
     * After this time without a certificate, the Domain reports what may be wrong. In seconds.
     */
    readonly overdueAfterSeconds: number;
    /**
     * Certificates that ACMEIssuers issue, with the platform as a client of the CA.
     */
    readonly acme: {
      /**
       * The Secret with the key of the platform's accounts, in the operator's namespace. The operator creates it once. Back it up. To change the key, name another Secret, and list this one in formerAccountKeySecrets.
       */
      readonly accountKeySecret: string;
      /**
       * Secrets that accountKeySecret named before. The operator gives each account that has one of their keys the current one.
       *
       * Items: Name of a Secret.
       */
      readonly formerAccountKeySecrets: readonly string[];
      /**
       * The program that answers the challenges of CAs (HTTP-01).
       */
      readonly challenges: {
        /**
         * Its Service, in the operator's namespace. The operator checks each ready replica.
         */
        readonly service: string;
        /**
         * The ConfigMap, in the operator's namespace, from which it reads the account's thumbprint.
         */
        readonly configMap: string;
        /**
         * The replicas to check, instead of those of the Service: for an operator outside the cluster.
         *
         * Items: Address of a replica.
         */
        readonly addresses: readonly string[];
      };
      /**
       * The name server of platform.acmeDomain, which answers the challenges of CAs (DNS-01).
       */
      readonly nameserver: {
        /**
         * Its Service, in the operator's namespace. The operator checks each ready replica.
         */
        readonly service: string;
        /**
         * The replicas to check, instead of those of the Service: for an operator outside the cluster.
         *
         * Items: Address of a replica.
         */
        readonly addresses: readonly string[];
      };
    };
    /**
     * How long the TLS Secret outlives its Domain, so that removing and re-adding a domain needs no new certificate. In seconds.
     */
    readonly secretRetentionSeconds: number;
  };
  /**
   * How traffic is routed to projects.
   */
  readonly routing: {
    /**
     * The edge for which routes are written. traefik: Ingresses for Traefik. gateway: ListenerSets and HTTPRoutes for any implementation of Gateway API that supports ListenerSets.
     */
    readonly provider: 'traefik' | 'gateway';
    /**
     * With provider gateway, traefik: write the routes for Traefik too, while DNS still points to it. docs/edges.md describes the move.
     */
    readonly movingFrom: 'none' | 'traefik';
    /**
     * IP addresses of the edge that never change. Set them only if you can keep them: at an apex, tenants whose DNS provider has no ALIAS records then get A and AAAA records with these addresses to create, and changing an address breaks these hosts. The wildcard record of targetDomain must return the same addresses.
     */
    readonly apexAddresses: readonly string[];
    /**
     * With movingFrom: IP addresses of the new edge, as DNS returns them. Set them when you change the wildcard records: from then on, the new edge decides whether a host is live.
     */
    readonly edgeAddresses: readonly string[];
    /**
     * With movingFrom: IP addresses of the former edge. A host whose records still point to them has not drifted.
     */
    readonly formerAddresses: readonly string[];
    /**
     * For Traefik: IngressClass of the routes.
     */
    readonly ingressClassName: string;
    /**
     * Names in the static configuration of Traefik.
     */
    readonly traefik: {
      /**
       * Entry point of port 80.
       */
      readonly httpEntryPoint: string;
      /**
       * Entry point of port 443.
       */
      readonly httpsEntryPoint: string;
      /**
       * Version of Traefik, for example 3.6.12. Nameplate warns if it is too old for the promises of the threat model. If empty, the version is unknown.
       */
      readonly version: string;
    };
    /**
     * The platform's Gateway, which accepts ListenerSets and HTTPRoutes of all namespaces.
     */
    readonly gateway: {
      /**
       * Namespace of the Gateway. Must be set if provider is gateway.
       */
      readonly namespace: string;
      /**
       * Name of the Gateway. Must be set if provider is gateway.
       */
      readonly name: string;
      /**
       * Listener of port 80. It must have no host name: the redirects to HTTPS and the ACME challenges of all hosts attach to it.
       */
      readonly httpListener: string;
      /**
       * Listener of port 443 for *.baseDomain. The default hosts attach to it, unless each of them has its own certificate.
       */
      readonly httpsListener: string;
      /**
       * Extended features of the Gateway that the status of its GatewayClass does not list. Redirects with 303, 307, and 308 need HTTPRoute303RedirectStatusCode, HTTPRoute307RedirectStatusCode, and HTTPRoute308RedirectStatusCode.
       */
      readonly supportedFeatures: readonly string[];
      /**
       * For Envoy Gateway: ClientTrafficPolicy of the Gateway, in its namespace. Each wildcard host gets a copy without HTTP/2, so that browsers reach no other host over its connections. If empty, wildcard hosts are refused.
       */
      readonly clientTrafficPolicy: string;
      /**
       * Name and version of the implementation, for example Envoy Gateway 1.9.0. The threat model says with which one its promises were tested. If empty, the version is unknown.
       */
      readonly version: string;
    };
  };
  /**
   * How the DNS of custom domains is checked.
   */
  readonly dns: {
    /**
     * Which servers are queried. authoritative: the zones' own servers. recursive: the resolvers in recursives, for a cluster that cannot reach port 53 on the internet. auto: the zones' own servers; in addition, the resolvers in recursives to detect broken DNSSEC, and if none of the zones' servers can be reached.
     */
    readonly mode: 'auto' | 'authoritative' | 'recursive';
    /**
     * Recursive resolvers, as ip, ip:port or [ip]:port. If empty, those in the system's resolv.conf. In mode auto, a host is verified only once the resolvers listed here have the new record too.
     */
    readonly recursives: readonly string[];
    /**
     * Addresses of the DNS root servers. If absent, those of the internet.
     */
    readonly rootServers?: readonly string[];
    /**
     * Networks whose DNS servers may be queried in addition to public unicast addresses. Tenants choose the servers of their zones, so do not list networks that tenants must not reach.
     */
    readonly allowAddresses: readonly string[];
    /**
     * When names are checked.
     */
    readonly checks: {
      /**
       * Pause before the first check after a change or a request. In seconds.
       */
      readonly soonSeconds: number;
      /**
       * Longest pause between checks of a name that is not verified, and between the polls of a new one. In seconds.
       */
      readonly pendingMaxSeconds: number;
      /**
       * Pause between checks of a verified name. In seconds.
       */
      readonly steadySeconds: number;
      /**
       * How many names are checked at the same time.
       */
      readonly inFlight: number;
    };
    /**
     * Time limit for one attempt of one query to one server. In milliseconds.
     */
    readonly queryTimeoutMs: number;
    /**
     * Time limit for the whole check of a name. In milliseconds.
     */
    readonly verdictTimeoutMs: number;
    /**
     * How long all servers must agree that a live domain's record is gone before the Domain is Degraded. Traffic continues. In seconds.
     */
    readonly driftAfterSeconds: number;
    /**
     * What proves a host that has only addresses (an apex, a proxied name). txt: the addresses and a TXT record. address: only the addresses, which is safe only if a single tenant uses the cluster.
     */
    readonly apexProof: 'txt' | 'address';
    /**
     * How long DNS faults count as progress after a change, before the Domain is Stalled. In seconds.
     */
    readonly propagationSeconds: number;
  };
  /**
   * Probes of each host at the edge. A host becomes Live only once a probe has confirmed its certificate and its route.
   */
  readonly probes: {
    /**
     * Probe the edge, if its address is known.
     */
    readonly enabled: boolean;
    /**
     * Where the edge listens for HTTPS; the first one that answers is used. If empty, the addresses in the status of the Gateway. Traefik reports none: name its Service, or hosts are not probed.
     */
    readonly addresses: readonly string[];
    /**
     * Pause between two probes of a host, unless there are too many hosts. In seconds.
     */
    readonly steadySeconds: number;
    /**
     * Probes per second, at most, of hosts that answer. With more hosts, the pause grows.
     */
    readonly perSecond: number;
    /**
     * How long the probes of a live host must show a wrong certificate, a wrong route, or no answer before it is Degraded. Nothing is withdrawn. In seconds.
     */
    readonly failAfterSeconds: number;
    /**
     * Time limit for one probe. In milliseconds.
     */
    readonly timeoutMs: number;
  };
  /**
   * Which account holds a host or a key.
   */
  readonly claims: {
    /**
     * Minimum time for which Nameplate keeps the record of a released host or key. The record of a host blocks nobody; it remembers failed certificate attempts, and orders for as long as they count. Without either, it is kept for ten minutes at most. The record of a key prevents other accounts from taking the key. In seconds.
     */
    readonly lingerSeconds: number;
  };
  /**
   * The chart's admission policies, as installed.
   */
  readonly admission: {
    /**
     * Policies that are off or only audit. The chart fills this in from admission.*; the operator reports it.
     */
    readonly notEnforced: readonly string[];
  };
  /**
   * Settings of the controllers.
   */
  readonly controller: {
    /**
     * How many reconciles each controller runs at the same time.
     */
    readonly workers: number;
    /**
     * Failures that last this long are reported in the log and in a metric. Hosts that are not served yet also report an outage of the API server. In seconds.
     */
    readonly reportFailuresAfterSeconds: number;
    /**
     * Build and change nothing: no claims, certificates, approvals, routes, managed Domains, or API keys. Withdrawals of hosts that have moved, denials, and removals that somebody requested continue. To pause a part, use the annotation nameplate.dev/paused.
     */
    readonly paused: boolean;
    /**
     * With several replicas, one is the leader and the others are on standby.
     */
    readonly leaderElection: {
      /**
       * Disable it only for a single, manually started process.
       */
      readonly enabled: boolean;
      /**
       * Name of the Lease.
       */
      readonly leaseName: string;
      /**
       * Namespace of the Lease. If absent, the namespace of the pod's service account.
       */
      readonly namespace?: string;
      /**
       * A leader that does not renew its Lease for this long is replaced. In seconds.
       */
      readonly leaseDurationSeconds: number;
      /**
       * A leader that cannot renew for this long steps down. Must be less than leaseDurationSeconds. In seconds.
       */
      readonly renewDeadlineSeconds: number;
      /**
       * Pause between attempts. Must be less than renewDeadlineSeconds. In seconds.
       */
      readonly retryPeriodSeconds: number;
    };
  };
  /**
   * The server for /healthz, /readyz, and /metrics.
   */
  readonly server: {
    /**
     * Port to listen on. 0 means any free port.
     */
    readonly port: number;
  };
  /**
   * What /metrics shows.
   */
  readonly metrics: {
    /**
     * State, reason, and expiry of the certificate for each Domain, in addition to totals: two time series per Domain.
     */
    readonly perDomain: boolean;
  };
  /**
   * Heap snapshots (SIGUSR2) and CPU profiles (SIGHUP). They contain keys and Secrets.
   */
  readonly diagnostics: {
    /**
     * Folder to write them to. It must exist. If it is missing, the signals are not handled.
     */
    readonly folder?: string;
    /**
     * The length of a CPU profile, in seconds.
     */
    readonly cpuSeconds: number;
  };
  /**
   * Logs are written to standard output as JSON lines.
   */
  readonly log: {
    /**
     * The lowest level that is logged.
     */
    readonly level: 'trace' | 'debug' | 'info' | 'warn' | 'error';
  };
}
