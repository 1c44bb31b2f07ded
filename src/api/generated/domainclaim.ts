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
   * When the host's last certificate attempts failed, oldest first. They count against the failure budget.
   */
  failures?: string[];
  /**
   * The last certificate orders for the host, oldest first. They count against the order budget of the CA account.
   */
  orders?: {
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
}
