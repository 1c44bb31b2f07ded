// Generated from src/console/config-schema.ts by tools/generate-types.ts; do not edit.

/**
 * Configuration of the console.
 */
export interface ConsoleConfig {
  /**
   * The address of the console, as browsers see it: https://HOST, without a path.
   */
  readonly url: string;
  /**
   * The identity provider. The API server must accept its ID tokens for this client.
   */
  readonly oidc: {
    /**
     * The issuer, as in the ID tokens.
     */
    readonly issuer: string;
    /**
     * The client, which is the audience of the ID tokens.
     */
    readonly clientId: string;
    /**
     * A file with the client's secret. Absent: a public client.
     */
    readonly clientSecretFile?: string;
    /**
     * Certificates to trust for the identity provider, in PEM, besides the usual ones.
     */
    readonly caFile?: string;
    /**
     * The scopes to request, openid among them. Never offline_access: the console keeps no refresh token.
     */
    readonly scopes: readonly string[];
    /**
     * A claim of the ID token that lists namespaces of the user. The page offers those in which the user may list Projects. If empty, none.
     */
    readonly namespacesClaim: string;
  };
  /**
   * The API server.
   */
  readonly apiServer: {
    /**
     * Its address.
     */
    readonly url: string;
    /**
     * Certificates of its authority, in PEM.
     */
    readonly caFile: string;
  };
  /**
   * Whom a user asks who has no namespace or no right, such as an address or a channel.
   */
  readonly help: string;
  /**
   * The server of the pages.
   */
  readonly server: {
    /**
     * Port to listen on. 0 means any free port.
     */
    readonly port: number;
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
   * Limits on what users hold. Beyond one, the oldest ends.
   */
  readonly sessions: {
    /**
     * Sessions in total.
     */
    readonly total: number;
    /**
     * Sessions of one user.
     */
    readonly perUser: number;
    /**
     * Open pages of a session that are updated live.
     */
    readonly streams: number;
    /**
     * The longest time until a session ends. It ends with its ID token if that expires earlier.
     */
    readonly maxSeconds: number;
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
     * The lowest level that is logged.
     */
    readonly level: 'trace' | 'debug' | 'info' | 'warn' | 'error';
  };
}
