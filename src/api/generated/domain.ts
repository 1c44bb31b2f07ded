// Generated from crds/ by tools/generate-types.ts; do not edit.

/**
 * The desired state.
 */
export interface DomainSpec {
  /**
   * The host name in lower case, without scheme, port, or trailing dot. Internationalized names must be in A-label form (xn--…). Must equal metadata.name. A wildcard, such as *.example.com, serves each name one label below a name that no Domain has; in its metadata.name, wc--any replaces the asterisk.
   */
  host: string;
  /**
   * The Project that the host belongs to, in the same namespace.
   */
  projectRef: {
    /**
     * Name of the Project.
     */
    name: string;
  };
  /**
   * Redirect to another host of the project instead of serving the project. Path and query are kept. Even if redirects are chained, visitors are redirected only once. If absent, the host serves the project.
   */
  redirect?: {
    /**
     * The host that visitors are redirected to, always over HTTPS. It must be a host of the same project.
     */
    to: string;
    /**
     * HTTP status of the redirect. Defaults to 301. A status that the edge does not support exactly is rejected with the reason RedirectStatusUnsupported.
     */
    status?: 301 | 302 | 303 | 307 | 308;
  };
}

/**
 * The observed state.
 */
export interface DomainStatus {
  /**
   * The generation of the spec that this status describes; -1 until the operator has seen the object.
   */
  observedGeneration?: number;
  /**
   * A one-word summary for people. Blocked: cannot start. Unverified: waiting for DNS. Verified: waiting for the certificate, the route, or the first probe. Live: served over HTTPS. Degraded: published, but needs attention, for example because DNS has drifted, renewal is failing, or the edge gives wrong answers. Programs should read the conditions.
   */
  state?: 'Blocked' | 'Unverified' | 'Verified' | 'Live' | 'Degraded';
  /**
   * The required DNS records, and the records that were found.
   */
  dns?: {
    /**
     * The records to create at the DNS provider, exactly as shown. A record with insteadOf is an alternative to another one: create only one of the two.
     */
    required?: {
      /**
       * CNAME; ALIAS at an apex (providers call it ALIAS, ANAME, or CNAME flattening), or A and AAAA; TXT for the proof, or the CNAME of a delegated ACME challenge.
       */
      type: string;
      /**
       * Full name of the record.
       */
      name: string;
      /**
       * What to enter in the name field of a DNS form; '@' means the domain itself.
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
      /**
       * The type of the record that this one can replace: ALIAS, at a provider that has none, or TXT. Absent on a record without an alternative.
       */
      insteadOf?: string;
    }[];
    /**
     * The last relevant evidence; written only when it changes.
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
       * The value that was found, escaped and truncated.
       */
      value: string;
      /**
       * Time to live of the record, in seconds.
       */
      ttl?: number;
      /**
       * The name server that returned the record.
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
     * The earliest time of the next attempt, after a failure or while the order is waiting.
     */
    nextAttemptAt?: string;
  };
  /**
   * The last handled value of the annotation nameplate.dev/verify-requested-at.
   */
  lastHandledVerifyRequest?: string;
  /**
   * The conditions, in the order of the reconcile. Each one says what to do next.
   */
  conditions?: {
    /**
     * Name of the condition.
     */
    type: string;
    /**
     * True, False, or Unknown.
     */
    status: 'True' | 'False' | 'Unknown';
    /**
     * The generation of the spec that this condition describes.
     */
    observedGeneration?: number;
    /**
     * When status last changed.
     */
    lastTransitionTime: string;
    /**
     * A CamelCase word for programs.
     */
    reason: string;
    /**
     * What the operator found, and what to do next.
     */
    message: string;
  }[];
}
