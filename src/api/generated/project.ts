// Generated from crds/ by tools/generate-types.ts; do not edit.

/**
 * What is wanted.
 */
export interface ProjectSpec {
  /**
   * What serves the project, a Service in the same namespace.
   */
  service: {
    /**
     * Name of the Service.
     */
    name: string;
    /**
     * Port of the Service, by name or number.
     */
    port: number | string;
  };
  /**
   * The custom domains of the project. They need a plan that has custom domains.
   */
  domains?: {
    /**
     * The main host of the project, lower case, internationalized names in A-label form (xn--…).
     */
    primary?: string;
    /**
     * Further hosts that serve the project itself.
     */
    aliases?: string[];
    /**
     * Hosts that redirect to another host of the project, path and query kept.
     */
    redirects?: {
      /**
       * The old or secondary host.
       */
      from: string;
      /**
       * The host that visitors are sent to, a host of this project; the primary where absent.
       */
      to?: string;
      /**
       * HTTP status of the redirect, 301 where absent.
       */
      status?: 301 | 302 | 307 | 308;
    }[];
  };
}

/**
 * What the operator found and did.
 */
export interface ProjectStatus {
  /**
   * The generation of the spec that the status speaks of; -1 before the operator has seen it.
   */
  observedGeneration?: number;
  /**
   * The host under the platform's base domain at which the project is always published.
   */
  defaultHost?: string;
  /**
   * Where to find the project now; the primary host once it is live, else the default host.
   */
  url?: string;
  /**
   * Every custom host of the project with its state; kubectl describe domain HOST says more.
   */
  domains?: {
    /**
     * The host.
     */
    host: string;
    /**
     * Primary, Alias or Redirect.
     */
    role: 'Primary' | 'Alias' | 'Redirect';
    /**
     * The state of its Domain.
     */
    state?: 'Blocked' | 'Unverified' | 'Verified' | 'Live' | 'Degraded';
  }[];
  /**
   * Ready speaks of what the platform does (default host routed, Domains made); DomainsReady sums up the Domains, which wait for their owners' DNS.
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
