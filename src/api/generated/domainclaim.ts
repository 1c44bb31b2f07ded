// Generated from crds/ by tools/generate-types.ts; do not edit.

/**
 * The durable facts of the claim.
 */
export interface DomainClaimSpec {
  /**
   * The account that holds the host, the namespace's label nameplate.dev/account or else its UID.
   */
  account: string;
  /**
   * The namespace whose Domain holds it.
   */
  namespace: string;
  /**
   * When the account's proof first held.
   */
  since: string;
  /**
   * Since when no other account has held it. Earlier failures do not delay this account's first attempt.
   */
  accountSince?: string;
  /**
   * When the Domain was removed. A released claim blocks nobody and is deleted after a day, or when its orders no longer count.
   */
  releasedAt?: string;
  /**
   * Times of the host's last failed certificate attempts, oldest first; the budget against the CA's limit.
   */
  failures?: string[];
  /**
   * The certificates last ordered for the host, oldest first; the budget of the CA account.
   */
  orders?: {
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
}
