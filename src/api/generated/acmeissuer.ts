// Generated from crds/ by tools/generate-types.ts; do not edit.

/**
 * The CA, and the platform's account there.
 */
export interface ACMEIssuerSpec {
  /**
   * The URL of the CA's directory.
   */
  server: string;
  /**
   * PEM certificates, in base64, that sign the CA's own HTTPS certificate. If absent, the roots of the operator's image apply.
   */
  caBundle?: string;
  /**
   * The mail addresses at which the CA may contact the platform team.
   */
  contact?: string[];
  /**
   * The credentials with which the CA connects the ACME account to one that exists there.
   */
  externalAccountBinding?: {
    /**
     * The identifier of the key, as the CA shows it.
     */
    keyID: string;
    /**
     * Where the HMAC key is, as the CA shows it (base64url), in the operator's namespace.
     */
    keySecretRef: {
      /**
       * The name of the Secret.
       */
      name: string;
      /**
       * The key in the Secret.
       */
      key: string;
    };
  };
  /**
   * The common name of the issuer of the last certificate in the chain to use, if the CA offers several. The CA's default chain is used if none matches.
   */
  preferredChain?: string;
  /**
   * The certificate profile to request, as the CA's directory names it.
   */
  profile?: string;
  /**
   * The CA's domains as they appear in CAA records, such as letsencrypt.org. Nameplate checks CAA records before it places an order. If empty, it does not check them.
   */
  caaIdentities?: string[];
  /**
   * The CA's rate limits on the account. Nameplate stays within them. The defaults are those of Let's Encrypt (https://letsencrypt.org/docs/rate-limits/).
   */
  limits?: {
    /**
     * Orders in the window. A single tenant gets at most four fifths of those that are not reserved for renewals.
     */
    orders?: number;
    /**
     * The length of the window.
     */
    windowSeconds?: number;
    /**
     * How many of the orders are reserved for renewals that the CA counts.
     */
    renewalReserve?: number;
    /**
     * True if the CA does not count a renewal whose order names the certificate that it replaces (ARI, RFC 9773), as Let's Encrypt does not. Such orders wait for no budget, except that of the host.
     */
    exemptRenewals?: boolean;
    /**
     * Orders for new hosts under one registrable domain, such as example.com, in a separate window. A single tenant gets at most four fifths.
     */
    newHostsPerDomain?: number;
    /**
     * The length of the window of newHostsPerDomain.
     */
    domainWindowSeconds?: number;
    /**
     * Orders for one host in its window, and, counted separately, failed attempts.
     */
    ordersPerHost?: number;
    /**
     * The length of the window of ordersPerHost.
     */
    hostWindowSeconds?: number;
  };
}

/**
 * What the operator observed.
 */
export interface ACMEIssuerStatus {
  /**
   * The generation of the spec that the status describes.
   */
  observedGeneration?: number;
  /**
   * The URL of the platform's account at the CA. A tenant that restricts its CAA records by accounturi (RFC 8657) names this one.
   */
  accountURI?: string;
  /**
   * The server that has this account.
   */
  accountServer?: string;
  /**
   * The thumbprint (RFC 7638) of the key that the account had when the operator last knew. The answers to HTTP-01 contain it.
   */
  thumbprint?: string;
  /**
   * The budget within the limits, updated at most every ten seconds.
   */
  orders?: {
    /**
     * Orders that are left for new hosts.
     */
    left?: number;
    /**
     * Orders that are left for renewals.
     */
    leftForRenewals?: number;
    /**
     * Requests that wait for their order.
     */
    waiting?: number;
    /**
     * Those of them whose host has a certificate that is not due, for example of another issuer. New hosts and renewals go first.
     */
    moving?: number;
    /**
     * When the last of these is expected to have its order.
     */
    movedBy?: string;
  };
  /**
   * Ready: the account can get certificates. Reachable: the CA answers. docs/conditions.md explains each reason.
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
