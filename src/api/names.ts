/** The API group, and every label and annotation that Nameplate reads or writes. */
export const GROUP = 'nameplate.dev';
export const API_VERSION = `${GROUP}/v1alpha1`;

/** Server-side apply: the one field manager of the operator. */
export const FIELD_MANAGER = 'nameplate';

export const LABEL = {
  /** On a Namespace, set by the platform: the account. */
  account: `${GROUP}/account`,
  /** On a Namespace, set by the platform: the account's plan. */
  plan: `${GROUP}/plan`,
  /** On a Domain: computed from the Projects that list the host. */
  managed: `${GROUP}/managed`,
  /** On every object of a host: the host, or its hash if it is too long for a label value. */
  host: `${GROUP}/host`,
  /** On a default host's objects: the Project. */
  project: `${GROUP}/project`,
  /** On the Service of a Project's routes: the Project. */
  backend: `${GROUP}/backend`,
  /** On the Secret of an APIKey: the APIKey. */
  apiKey: `${GROUP}/apikey`,
  managedBy: 'app.kubernetes.io/managed-by',
} as const;

export const ANNOTATION = {
  /** On the Secret of the platform key: the target domain for which the operator last started. */
  targetDomain: `${GROUP}/target-domain`,
  /** On a Domain: a new value requests a check now. */
  verifyRequestedAt: `${GROUP}/verify-requested-at`,
  /** On a Domain or a Project, or set by the platform on a Namespace: Nameplate builds and changes nothing for it. */
  paused: `${GROUP}/paused`,
  /** On a Domain that is about to be deleted because no Project lists it. */
  removingSince: `${GROUP}/removing-since`,
  /** On a Project: when its Service first had a ready endpoint. */
  firstDeployedAt: `${GROUP}/first-deployed-at`,
  /** On a TLS Secret: when its Domain was removed. */
  retainedSince: `${GROUP}/retained-since`,
  /** On everything that the operator applies: the hash of the applied intent. */
  appliedHash: `${GROUP}/applied-hash`,
  /** On a Certificate: the kind of challenge with which the CA validates the host, if it is not HTTP-01. */
  challenge: `${GROUP}/challenge`,
  /** On a redirect's route: the host that it redirects to. */
  redirectTo: `${GROUP}/redirect-to`,
  /** On every object of a host: the full host. */
  host: `${GROUP}/host`,
  /** On an APIKey: a new value requests a new key. On its Secret: the last value that was handled. */
  rotateRequestedAt: `${GROUP}/rotate-requested-at`,
  /** On the Secret of an APIKey: the uid of the APIKey. */
  apiKeyUid: `${GROUP}/apikey-uid`,
  /** On the Secret of an APIKey: SHA-256 of the previous key, and until when it works. */
  previousSha256: `${GROUP}/previous-sha256`,
  previousValidUntil: `${GROUP}/previous-valid-until`,
} as const;
