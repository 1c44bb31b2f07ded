/** Who has to act on a condition, by its reason. docs/conditions.md says what to do. */

/**
 * - `owner`: the owner of the domain or the project, or the DNS provider on the owner's behalf.
 * - `platform`: the platform team.
 * - `ca`: the certificate authority.
 * - `nobody`: Nameplate continues automatically.
 */
export type Actor = 'owner' | 'platform' | 'ca' | 'nobody';

const ACTORS: Readonly<Record<Exclude<Actor, 'owner'>, readonly string[]>> = {
  platform: [
    'Refused',
    'Retrying',
    'Paused',
    'NotYetValid',
    'WrongNames',
    'IssuerNotFound',
    'IssuerNotReady',
    'CertManagerMissing',
    'CertManagerDown',
    'IngressClassNotFound',
    'GatewayNotFound',
    'GatewayUnsuitable',
    'NotAccepted',
    'NoAnswer',
    'WrongCertificate',
    'WrongRedirect',
    'WrongRoute',
    'EdgeUnreachable',
  ],
  ca: ['Issuing', 'OrderBudget'],
  nobody: ['Waiting', 'Checking', 'Propagating', 'Pending', 'Outdated', 'NotProbed', 'TargetNotLive'],
};

/** What is not listed, such as a record that is missing, waits for the owner. */
export function actorOf(reason: string): Actor {
  const found = Object.entries(ACTORS).find(([, reasons]) => reasons.includes(reason));
  return (found?.[0] as Actor | undefined) ?? 'owner';
}

/** The reasons that wait for somebody else than the owner. */
export const LISTED_REASONS: readonly string[] = Object.values(ACTORS).flat();
