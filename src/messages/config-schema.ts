/** JSON schema (draft 7) of the configuration file, with all defaults, limits, and descriptions. */
import {
  type ConfigProblem,
  choice,
  DAY_SECONDS,
  diagnostics,
  integer,
  object,
  section,
} from '../config/config-schema.ts';
import type {ConfigDefinition} from '../config/load-config.ts';
import type {LimitsConfig, MessagesConfig, StoreConfig} from './config.ts';
import {TLS_MODES} from './store/postgres/session/connection.ts';
import {DURABILITIES} from './store/postgres/session/settings.ts';

const KIB = 1024;
const MIB = 1024 * KIB;
const GIB = 1024 * MIB;
const YEAR = 365 * DAY_SECONDS;

const server = section('The API.', {
  port: integer(8080, [0, 65_535], 'Port to listen on. 0 means any free port.'),
  maxConnections: integer(
    4096,
    [1, 1_000_000],
    'Maximum number of connections. Beyond it, the longest-idle connection from the address with the most connections is closed.',
  ),
  maxConnectionsPerAddress: integer(
    0,
    [0, 1_000_000],
    'Maximum number of connections per address (IPv6: per /64). 0 means no separate limit. Set it only if clients connect directly: behind a proxy or an ingress, all connections come from its addresses.',
  ),
  headersTimeoutSeconds: integer(10, [1, 600], 'Time limit for the headers of a request to arrive.'),
  requestTimeoutSeconds: integer(30, [1, 3600], 'Time limit for a request to arrive, including the body.'),
  answerTimeoutSeconds: integer(30, [1, 3600], 'Time limit for a client to read a response.'),
  keepAliveSeconds: integer(
    120,
    [1, 3600],
    'How long an idle connection is kept open. Choose a longer time than that of the proxy in front of the API, so that the proxy closes first.',
  ),
});

const file = {type: 'string', minLength: 1, title: 'the path of a file'};

const store = section('Where messages are stored.', {
  kind: choice(
    ['sqlite', 'postgres'],
    'sqlite',
    'sqlite: a database on a volume, for one pod. postgres: a PostgreSQL database, for any number of pods.',
  ),
  folder: {
    type: 'string',
    minLength: 1,
    default: '/var/lib/nameplate-messages',
    title: 'the path of a folder',
    description: 'Folder of the SQLite database, on a separate volume. It must exist.',
  },
  reserveBytes: integer(
    64 * MIB,
    [0, 1024 * GIB],
    'Free space to keep on the volume of SQLite, for draining the queue. With less, new messages are rejected.',
  ),
  maxWaiting: integer(
    10_000,
    [1, 1_000_000],
    'Maximum number of operations that wait for the disk. More are rejected as store_busy.',
  ),
  maxWaitingBytes: integer(64 * MIB, [1, 16 * GIB], 'Maximum bytes of messages that wait for the disk.'),
  postgres: section('The PostgreSQL database (version 15 or later), if kind is postgres.', {
    uriFile: {
      ...file,
      description:
        'A file, usually from a Secret, that contains postgresql://USER:PASSWORD@HOST:PORT/DATABASE. The host must be that of the primary, without a pooler.',
    },
    tls: choice(
      TLS_MODES,
      'verify-full',
      'verify-full: the certificate of the server must be valid for its host. disable: no TLS.',
    ),
    caFile: {...file, description: 'Certificates of the authorities to trust, in PEM, instead of the usual ones.'},
    durability: choice(
      DURABILITIES,
      'synchronous-standby',
      "What a response waits for. synchronous-standby: the disks of the primary and a standby. storage: the storage of the primary, for services that replicate it below PostgreSQL (Amazon RDS Multi-AZ, Aurora); with others, a failover can lose messages. accepted-loss: what the server's own settings say.",
    ),
    awaitMigration: {
      type: 'boolean',
      default: false,
      description: 'Do not serve until `messages migrate` has copied the messages from SQLite.',
    },
    writers: integer(
      1,
      [1, 64],
      'Connections of each pod that write. An account always uses the same one. With more, large batches of an account delay fewer other accounts, but commits are smaller and cost more CPU. Each pod has four more connections: to read, to delete what is too old, and to share limits.',
    ),
  }),
});

const retention = section('How long finished messages and idempotency keys are kept.', {
  doneSeconds: integer(7 * DAY_SECONDS, [0, YEAR], 'Messages that a worker has acknowledged.'),
  deadSeconds: integer(30 * DAY_SECONDS, [0, 10 * YEAR], 'Messages that are dead.'),
  idempotencySeconds: integer(DAY_SECONDS, [1, YEAR], 'Idempotency keys.'),
});

const limits = section('Limits on what clients may use.', {
  bodyBytes: integer(256 * KIB, [1, 64 * MIB], 'Maximum size of a request body.'),
  heldBytes: integer(
    64 * MIB,
    [MIB, 64 * GIB],
    'Maximum bytes of bodies and responses that all requests together may hold in memory. The process needs about four times as much memory in total. An account never holds more than it leaves to the others. The limit is never less than what two accounts may hold.',
  ),
  strangers: section('Limits on requests without a valid key. They never affect requests with one.', {
    requestsPerSecond: integer(200, [1, 10_000_000], 'Requests per second of all addresses together, on average.'),
    addressRequestsPerSecond: integer(
      100,
      [1, 10_000_000],
      'Requests per second per address (IPv6: per /64), on average. Behind a proxy or an ingress, all requests come from its addresses.',
    ),
  }),
  account: section('Limits per account.', {
    requestsPerSecond: integer(1000, [1, 10_000_000], 'Requests per second, on average.'),
    bytesPerSecond: integer(8 * MIB, [1, 16 * GIB], 'Bytes of request bodies per second, on average.'),
    answerBytesPerSecond: integer(
      16 * MIB,
      [1, 16 * GIB],
      'Bytes of responses per second, on average. Long responses that wait for each other take half of it in each pod.',
    ),
    burstSeconds: integer(
      5,
      [1, 3600],
      'Burst size, in seconds of the average rates. It must be enough for one body of the maximum size.',
    ),
    requestsAtOnce: integer(
      512,
      [1, 1_000_000],
      'Concurrent requests, in each pod. A request counts until its response is read.',
    ),
    heldBytes: integer(
      8 * MIB,
      [MIB, 64 * GIB],
      'Maximum bytes of bodies and responses that these requests may hold in memory, in each pod. The limit is never less than two bodies of the maximum size.',
    ),
    storedBytes: integer(
      GIB,
      [1, 1024 * GIB],
      'Maximum bytes stored. In addition to its text and nack reason, each message counts as 512 bytes plus four times the length of the account name. Each idempotency key counts as 256 bytes plus twice the length of the key and the account name. The database takes at most twice as much.',
    ),
  }),
});

export const messagesConfigSchema = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  ...object('Configuration of the messages API.', {
    server,
    operations: section('The server for /healthz, /readyz, and /metrics.', {
      port: integer(8081, [0, 65_535], 'Port to listen on. 0 means any free port.'),
    }),
    keys: section('Who may use the API. By default, anyone with the key of an APIKey in the cluster.', {
      file: {
        type: 'string',
        minLength: 1,
        title: 'the path of a file',
        description: 'A file of key hashes to use instead, for a machine without Kubernetes.',
      },
      graceSeconds: integer(
        300,
        [0, DAY_SECONDS],
        'How long known keys are trusted while the API server is unreachable. A key that is revoked during that time keeps working for as long.',
      ),
    }),
    store,
    queue: section('How workers get messages.', {
      maxAttempts: integer(5, [1, 1000], 'How many times a message can be claimed before it is dead.'),
    }),
    retention,
    limits,
    diagnostics,
    log: section('Logs are written to standard output as JSON lines.', {
      level: choice(
        ['trace', 'debug', 'info', 'warn', 'error'],
        'info',
        'The lowest level that is logged. Successful requests are logged at debug.',
      ),
    }),
  }),
};

/** The definition with which `loadConfig` in src/process reads the configuration. */
export const messagesConfigDefinition: ConfigDefinition<MessagesConfig> = {
  schema: messagesConfigSchema,
  check: ({limits, store: configured}) => [...burstProblems(limits), ...storeProblems(configured)],
};

function burstProblems({bodyBytes, account}: LimitsConfig): readonly ConfigProblem[] {
  const burst = account.bytesPerSecond * account.burstSeconds;
  if (burst >= bodyBytes) return [];
  const message = `is ${account.bytesPerSecond}, which allows a burst of ${burst} bytes; allowed: a burst of at least bodyBytes, which is ${bodyBytes}`;
  return [{path: ['limits', 'account', 'bytesPerSecond'], message}];
}

function storeProblems({kind, postgres: {uriFile}}: StoreConfig): readonly ConfigProblem[] {
  const path = ['store', 'postgres', 'uriFile'];
  if (kind === 'postgres' && uriFile === undefined) return [{path, message: 'is missing; needed: the path of a file'}];
  if (kind === 'sqlite' && uriFile !== undefined) return [{path, message: 'is set, but store.kind is sqlite'}];
  return [];
}
