// Generated from crds/ by tools/generate-types.ts; do not edit.

/**
 * What is wanted.
 */
export interface DomainSpec {
  /**
   * The host name, lower case, internationalized names in A-label form (xn--…), without scheme, port or trailing dot. Equal to metadata.name.
   */
  host: string;
  /**
   * The Project, in the same namespace, that the host belongs to.
   */
  projectRef: {
    /**
     * Name of the Project.
     */
    name: string;
  };
  /**
   * Redirect to another host of the project instead of serving it. Path and query are kept; a visitor takes one hop however redirects are chained. Absent, the host serves the project.
   */
  redirect?: {
    /**
     * The host that visitors are sent to, always by https; it must be a host of the same project.
     */
    to: string;
    /**
     * HTTP status of the redirect, 301 where absent. What the cluster's ingress cannot answer exactly is refused with the reason RedirectStatusUnsupported.
     */
    status?: 301 | 302 | 307 | 308;
  };
}

/**
 * What the operator found and did.
 */
export interface DomainStatus {
  /**
   * The generation of the spec that the status speaks of; -1 before the operator has seen it.
   */
  observedGeneration?: number;
  /**
   * One word for people. Blocked: cannot start; Unverified: waits for DNS; Verified: the certificate is being issued; Live: served over HTTPS; Degraded: served, but DNS has drifted or renewal is failing. Programs read the conditions.
   */
  state?: 'Blocked' | 'Unverified' | 'Verified' | 'Live' | 'Degraded';
  /**
   * The DNS records that are needed and those that were found.
   */
  dns?: {
    /**
     * The records to create at the DNS provider, exactly as shown.
     */
    required?: {
      /**
       * CNAME; ALIAS at an apex (called ALIAS, ANAME or CNAME flattening by providers); TXT for the proof.
       */
      type: string;
      /**
       * Full name of the record.
       */
      name: string;
      /**
       * What to type into the name field of a DNS form; '@' stands for the domain itself.
       */
      label: string;
      /**
       * Value of the record.
       */
      value: string;
      /**
       * Time to live, in seconds.
       */
      ttl: number;
    }[];
    /**
     * The last evidence, where it says something; written only when it changes.
     */
    observed?: {
      /**
       * Record type.
       */
      type: string;
      /**
       * Name of the record.
       */
      name: string;
      /**
       * What was found, escaped and cut.
       */
      value: string;
      /**
       * Time to live of the record, in seconds.
       */
      ttl?: number;
      /**
       * The server that said so.
       */
      server: string;
    }[];
  };
  /**
   * The certificate that is in use.
   */
  certificate?: {
    /**
     * When it expires.
     */
    notAfter?: string;
    /**
     * When cert-manager will renew it.
     */
    renewalTime?: string;
    /**
     * After a failure, and while an order waits for its turn, the earliest time of the next attempt.
     */
    nextAttemptAt?: string;
  };
  /**
   * The value of the annotation nameplate.dev/verify-requested-at that was handled last.
   */
  lastHandledVerifyRequest?: string;
  /**
   * The conditions, in the order of the reconcile; each says who must do what next.
   */
  conditions?: {
    /**
     * Name of the condition.
     */
    type: string;
    /**
     * True, False or Unknown.
     */
    status: 'True' | 'False' | 'Unknown';
    /**
     * The generation of the spec that the condition speaks of.
     */
    observedGeneration?: number;
    /**
     * When status last changed.
     */
    lastTransitionTime: string;
    /**
     * One CamelCase word for programs.
     */
    reason: string;
    /**
     * What was found, and who must do what next.
     */
    message: string;
  }[];
}
