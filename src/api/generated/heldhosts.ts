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
   * For each default host, the certificates last ordered for it, oldest first; the budget of the CA account. Those of other hosts are on their DomainClaims.
   */
  orders?: {
    [k: string]: {
      /**
       * When the order was let through.
       */
      at: string;
      /**
       * UID of the CertificateRequest; an operator that dies on the way counts it once.
       */
      request?: string;
      /**
       * It was to replace a certificate that was due for renewal.
       */
      renewal?: boolean;
    }[];
  };
}
