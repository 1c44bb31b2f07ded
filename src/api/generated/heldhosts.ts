// Generated from crds/ by tools/generate-types.ts; do not edit.

/**
 * The hosts that the namespace holds.
 */
export interface HeldHostsSpec {
  /**
   * For each host, the UID of its DomainClaim; for the default host of a Project, the UID of the Project.
   */
  hosts: {
    [k: string]: string;
  };
  /**
   * For each default host, its last certificate orders, oldest first. They count against the order budget of the CA account. Orders for other hosts are on their DomainClaims.
   */
  orders?: {
    [k: string]: {
      /**
       * When the order was approved.
       */
      at: string;
      /**
       * UID of the CertificateRequest, so that an operator that crashes and restarts counts the order only once.
       */
      request?: string;
      /**
       * True if the order renews a certificate that was due for renewal.
       */
      renewal?: boolean;
    }[];
  };
}
