/** Configuration of the messages API, with every default applied. Schema and defaults: config-schema.ts. */
import type {DiagnosticsConfig} from '../base/diagnostics-config.ts';
import type {RateLimits} from './access/limiter.ts';
import type {ServerConfig} from './http/server.ts';
import type {TlsMode} from './store/postgres/session/connection.ts';
import type {Durability} from './store/postgres/session/settings.ts';

export interface MessagesConfig {
  readonly server: ServerConfig;
  readonly operations: {readonly port: number};
  readonly keys: KeysConfig;
  readonly store: StoreConfig;
  readonly queue: QueueConfig;
  readonly retention: RetentionConfig;
  readonly limits: LimitsConfig;
  readonly diagnostics: DiagnosticsConfig;
  readonly log: {readonly level: string};
}

export interface KeysConfig {
  /** A file of key hashes instead of the APIKeys of the cluster. */
  readonly file?: string;
  /** How long known keys are trusted while the API server is unreachable. */
  readonly graceSeconds: number;
}

export interface StoreConfig {
  readonly kind: 'sqlite' | 'postgres';
  /** Folder of the SQLite database; must exist. */
  readonly folder: string;
  readonly reserveBytes: number;
  readonly maxWaiting: number;
  readonly maxWaitingBytes: number;
  readonly postgres: PostgresConfig;
}

export interface PostgresConfig {
  /** Required if the kind is postgres. */
  readonly uriFile?: string;
  readonly tls: TlsMode;
  readonly caFile?: string;
  readonly durability: Durability;
  readonly awaitMigration: boolean;
  readonly writers: number;
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
export interface AccountLimits extends RateLimits {
  readonly requestsAtOnce: number;
  readonly heldBytes: number;
  readonly storedBytes: number;
}
