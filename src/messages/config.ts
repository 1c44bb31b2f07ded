/** Configuration of the messages API, with every default applied. Schema and defaults: config-schema.ts. */

export interface MessagesConfig {
  readonly server: ServerConfig;
  readonly operations: {readonly port: number};
  readonly keys: KeysConfig;
  readonly store: StoreConfig;
  readonly queue: QueueConfig;
  readonly retention: RetentionConfig;
  readonly limits: LimitsConfig;
  readonly log: {readonly level: string};
}

/** The API itself. */
export interface ServerConfig {
  readonly port: number;
  readonly maxConnections: number;
  /** 0 means maxConnections. */
  readonly maxConnectionsPerAddress: number;
  readonly headersTimeoutSeconds: number;
  readonly requestTimeoutSeconds: number;
  readonly answerTimeoutSeconds: number;
  /** Must exceed that of the proxy in front, so that the proxy closes first. */
  readonly keepAliveSeconds: number;
}

export interface KeysConfig {
  /** A file of key hashes instead of the APIKeys of the cluster. */
  readonly file?: string;
  /** How long known keys are trusted while the API server is unreachable. */
  readonly graceSeconds: number;
}

export interface StoreConfig {
  /** Folder of the database; must exist. */
  readonly folder: string;
  readonly reserveBytes: number;
  readonly maxWaiting: number;
  readonly maxWaitingBytes: number;
}

export interface QueueConfig {
  readonly maxAttempts: number;
}

export interface RetentionConfig {
  readonly doneSeconds: number;
  readonly deadSeconds: number;
  readonly idempotencySeconds: number;
}

export interface LimitsConfig {
  readonly bodyBytes: number;
  /** Bytes of bodies and answers in memory. */
  readonly heldBytes: number;
  readonly account: AccountLimits;
}

/** Limits per account. */
export interface AccountLimits {
  readonly requestsPerSecond: number;
  readonly bytesPerSecond: number;
  readonly answerBytesPerSecond: number;
  /** Burst size, in seconds of the average rates. */
  readonly burstSeconds: number;
  readonly requestsAtOnce: number;
  readonly heldBytes: number;
  readonly storedBytes: number;
}
