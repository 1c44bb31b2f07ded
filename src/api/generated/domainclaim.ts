// Generated from crds/ by tools/generate-types.ts; do not edit.

/**
 * The durable facts of the claim.
 */
export interface DomainClaimSpec {
  /**
   * The account that holds the host: the namespace's label nameplate.dev/account or, without that label, the namespace's UID.
   */
  account: string;
  /**
   * The namespace whose Domain holds the host.
   */
  namespace: string;
  /**
   * When the account's proof was first valid.
   */
  since: string;
  /**
   * The time since which no other account has held the host. Earlier failures do not delay this account's first attempt.
   */
  accountSince?: string;
  /**
   * When the Domain was removed. A released claim blocks nobody. It is deleted once a day has passed and its orders no longer count. If it records no failures or orders, it is deleted within ten minutes.
   */
  releasedAt?: string;
  /**
   * When the host's last certificate attempts failed, oldest first. They delay the next one.
   */
  failures?: string[];
  /**
   * The last certificate orders for the host, oldest first. They count against the order budget of the CA account.
   */
  orders?: {
    /**
     * When the order was placed.
     */
    at: string;
    /**
     * The ACMEIssuer.
     */
    issuer: string;
    /**
     * UID of the CertificateRequest, so that an operator that crashes and restarts counts the order only once.
     */
    request: string;
    /**
     * True if the order renews a certificate that was due for renewal.
     */
    renewal?: boolean;
    /**
     * True if the CA does not count the order, because it names the certificate that it replaces. It counts only against the limit of the host.
     */
    exempt?: boolean;
  }[];
  /**
   * The Project whose default host this is. Such a claim records only orders: the Project decides who holds the host.
   */
  project?: string;
  /**
   * What the CA knows of the host: at most one open order, and what is left of the last. It belongs to the account and namespace named here. If the host moves or is released, Nameplate first deactivates the authorization at the CA.
   */
  issuance?: {
    /**
     * The ACMEIssuer.
     */
    issuer: string;
    /**
     * The account that the order was placed for.
     */
    account: string;
    /**
     * The namespace that the order was placed for.
     */
    namespace: string;
    /**
     * UID of the CertificateRequest that the open order is for, or that gets its certificate; absent if the last order failed.
     */
    request?: string;
    /**
     * URL of the open order; absent until the CA has accepted it.
     */
    order?: string;
    /**
     * The TXT record that the name server answers until the open order ends; absent if the CA validates the host by HTTP. Whoever reads it cannot use it: it is valid only for the platform's account.
     */
    challenge?: {
      /**
       * Name of the record, in the ACME domain of the platform.
       */
      name: string;
      /**
       * Text of the record (RFC 8555, section 8.4).
       */
      value: string;
    };
    /**
     * URL of the order whose certificate the request gets. It is recorded before the certificate is published, so that a crash in between places no other order.
     */
    issued?: string;
    /**
     * URL of the host's last authorization.
     */
    authorization?: string;
    /**
     * The identifier of the last certificate for the CA's renewal information (RFC 9773).
     */
    renewal?: string;
    /**
     * Why the last order failed; absent once a certificate was issued.
     */
    problem?: {
      /**
       * When it failed.
       */
      at: string;
      /**
       * The type of the CA's problem document, such as unauthorized (RFC 8555, section 6.7).
       */
      type: string;
      /**
       * The CA's explanation, cut. It may quote what a stranger's server answered.
       */
      detail: string;
      /**
       * When the CA allows the next attempt, if it said so.
       */
      retryAt?: string;
    };
  };
}
