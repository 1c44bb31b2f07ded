// Generated from crds/ by tools/generate-types.ts; do not edit.

/**
 * The desired state.
 */
export interface ProjectSpec {
  /**
   * The Service that serves the project, in the same namespace.
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
   * The custom domains of the project. They require a plan that allows custom domains.
   */
  domains?: {
    /**
     * The main host of the project, in lower case. Internationalized names must be in A-label form (xn--…).
     */
    primary?: string;
    /**
     * Additional hosts that serve the project. A wildcard, such as *.example.com, serves each name one label below a name that no Domain has.
     */
    aliases?: string[];
    /**
     * Hosts that redirect to another host of the project. Path and query are kept.
     */
    redirects?: {
      /**
       * The old or secondary host.
       */
      from: string;
      /**
       * The host that visitors are redirected to. It must be a host of this project. Defaults to the primary.
       */
      to?: string;
      /**
       * HTTP status of the redirect. Defaults to 301.
       */
      status?: 301 | 302 | 303 | 307 | 308;
    }[];
  };
}

/**
 * The observed state.
 */
export interface ProjectStatus {
  /**
   * The generation of the spec that this status describes; -1 until the operator has seen the object.
   */
  observedGeneration?: number;
  /**
   * The project's host under the platform's base domain.
   */
  defaultHost?: string;
  /**
   * The current URL of the project: the primary host if it is live, otherwise the default host.
   */
  url?: string;
  /**
   * All custom hosts of the project and their states. For details, run kubectl describe domain -n NAMESPACE HOST.
   */
  domains?: {
    /**
     * The host.
     */
    host: string;
    /**
     * Primary, Alias, or Redirect.
     */
    role: 'Primary' | 'Alias' | 'Redirect';
    /**
     * The state of its Domain.
     */
    state?: 'Blocked' | 'Unverified' | 'Verified' | 'Live' | 'Degraded';
  }[];
  /**
   * Ready covers the platform's part (default host routed, Domains created). DomainsReady summarizes the Domains, which wait for their owners' DNS.
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
