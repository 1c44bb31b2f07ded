// Generated from src/messages/config-schema.ts by tools/generate-types.ts; do not edit.

/**
 * Configuration of the messages API.
 */
export interface MessagesConfig {
  /**
   * The API.
   */
  readonly server: {
    /**
     * Port to listen on. 0 means any free port.
     */
    readonly port: number;
    /**
     * Maximum number of connections. Beyond it, the longest-idle connection from the address with the most connections is closed.
     */
    readonly maxConnections: number;
    /**
     * Maximum number of connections per address (IPv6: per /64). 0 means no separate limit. Set it only if clients connect directly: behind a proxy or an ingress, all connections come from its addresses.
     */
    readonly maxConnectionsPerAddress: number;
    /**
     * Time limit for the headers of a request to arrive.
     */
    readonly headersTimeoutSeconds: number;
    /**
     * Time limit for a request to arrive, including the body.
     */
    readonly requestTimeoutSeconds: number;
    /**
     * Time limit for a client to read a response.
     */
    readonly answerTimeoutSeconds: number;
    /**
     * How long an idle connection is kept open. Choose a longer time than that of the proxy in front of the API, so that the proxy closes first.
     */
    readonly keepAliveSeconds: number;
  };
  /**
   * The server for /healthz, /readyz, and /metrics.
   */
  readonly operations: {
    /**
     * Port to listen on. 0 means any free port.
     */
    readonly port: number;
  };
  /**
   * Who may use the API. By default, anyone with the key of an APIKey in the cluster.
   */
  readonly keys: {
    /**
     * A file of key hashes to use instead, for a machine without Kubernetes.
     */
    readonly file?: string;
    /**
     * How long known keys are trusted while the API server is unreachable. A key that is revoked during that time keeps working for as long.
     */
    readonly graceSeconds: number;
  };
  /**
   * Where messages are stored.
   */
  readonly store: {
    /**
     * sqlite: a database on a volume, for one pod. postgres: a PostgreSQL database, for any number of pods.
     */
    readonly kind: 'sqlite' | 'postgres';
    /**
     * Folder of the SQLite database, on a separate volume. It must exist.
     */
    readonly folder: string;
    /**
     * Free space to keep on the volume of SQLite, for draining the queue. With less, new messages are rejected.
     */
    readonly reserveBytes: number;
    /**
     * Maximum number of operations that wait for the disk. More are rejected as store_busy.
     */
    readonly maxWaiting: number;
    /**
     * Maximum bytes of messages that wait for the disk.
     */
    readonly maxWaitingBytes: number;
    /**
     * The PostgreSQL database (version 15 or later), if kind is postgres.
     */
    readonly postgres: {
      /**
       * A file, usually from a Secret, that contains postgresql://USER:PASSWORD@HOST:PORT/DATABASE. The host must be that of the primary, without a pooler.
       */
      readonly uriFile?: string;
      /**
       * verify-full: the certificate of the server must be valid for its host. disable: no TLS.
       */
      readonly tls: 'verify-full' | 'disable';
      /**
       * Certificates of the authorities to trust, in PEM, instead of the usual ones.
       */
      readonly caFile?: string;
      /**
       * What a response waits for. synchronous-standby: the disks of the primary and a standby. storage: the storage of the primary, for services that replicate it below PostgreSQL (Amazon RDS Multi-AZ, Aurora); with others, a failover can lose messages. accepted-loss: what the server's own settings say.
       */
      readonly durability: 'synchronous-standby' | 'storage' | 'accepted-loss';
      /**
       * Do not serve until `messages migrate` has copied the messages from SQLite.
       */
      readonly awaitMigration: boolean;
      /**
       * Connections of each pod that write. An account always uses the same one. With more, large batches of an account delay fewer other accounts, but commits are smaller and cost more CPU. Each pod has four more connections: to read, to delete what is too old, and to share limits.
       */
      readonly writers: number;
    };
  };
  /**
   * How workers get messages.
   */
  readonly queue: {
    /**
     * How many times a message can be claimed before it is dead.
     */
    readonly maxAttempts: number;
  };
  /**
   * How long finished messages and idempotency keys are kept.
   */
  readonly retention: {
    /**
     * Messages that a worker has acknowledged.
     */
    readonly doneSeconds: number;
    /**
     * Messages that are dead.
     */
    readonly deadSeconds: number;
    /**
     * Idempotency keys.
     */
    readonly idempotencySeconds: number;
  };
  /**
   * Limits on what clients may use.
   */
  readonly limits: {
    /**
     * Maximum size of a request body.
     */
    readonly bodyBytes: number;
    /**
     * Maximum bytes of bodies and responses that all requests together may hold in memory. The process needs about four times as much memory in total. An account never holds more than it leaves to the others. The limit is never less than what two accounts may hold.
     */
    readonly heldBytes: number;
    /**
     * Limits on requests without a valid key. They never affect requests with one.
     */
    readonly strangers: {
      /**
       * Requests per second of all addresses together, on average.
       */
      readonly requestsPerSecond: number;
      /**
       * Requests per second per address (IPv6: per /64), on average. Behind a proxy or an ingress, all requests come from its addresses.
       */
      readonly addressRequestsPerSecond: number;
    };
    /**
     * Limits per account.
     */
    readonly account: {
      /**
       * Requests per second, on average.
       */
      readonly requestsPerSecond: number;
      /**
       * Bytes of request bodies per second, on average.
       */
      readonly bytesPerSecond: number;
      /**
       * Bytes of responses per second, on average. Long responses that wait for each other take half of it in each pod.
       */
      readonly answerBytesPerSecond: number;
      /**
       * Burst size, in seconds of the average rates. It must be enough for one body of the maximum size.
       */
      readonly burstSeconds: number;
      /**
       * Concurrent requests, in each pod. A request counts until its response is read.
       */
      readonly requestsAtOnce: number;
      /**
       * Maximum bytes of bodies and responses that these requests may hold in memory, in each pod. The limit is never less than two bodies of the maximum size.
       */
      readonly heldBytes: number;
      /**
       * Maximum bytes stored. In addition to its text and nack reason, each message counts as 512 bytes plus four times the length of the account name. Each idempotency key counts as 256 bytes plus twice the length of the key and the account name. The database takes at most twice as much.
       */
      readonly storedBytes: number;
    };
  };
  /**
   * Heap snapshots (SIGUSR2) and CPU profiles (SIGHUP). They contain keys and Secrets.
   */
  readonly diagnostics: {
    /**
     * Folder to write them to. It must exist. If it is missing, the signals are not handled.
     */
    readonly folder?: string;
    /**
     * The length of a CPU profile, in seconds.
     */
    readonly cpuSeconds: number;
  };
  /**
   * Logs are written to standard output as JSON lines.
   */
  readonly log: {
    /**
     * The lowest level that is logged. Successful requests are logged at debug.
     */
    readonly level: 'trace' | 'debug' | 'info' | 'warn' | 'error';
  };
}
