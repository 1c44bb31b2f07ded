/** JSON schema (draft 7) of the configuration file: the one place of its defaults, limits and descriptions. */
import type {ConfigDefinition} from '../process/load-config.ts';
import type {MessagesConfig} from './config.ts';

type Schema = Readonly<Record<string, unknown>>;

const KIB = 1024;
const MIB = 1024 * KIB;
const GIB = 1024 * MIB;
const DAY = 86_400;
const YEAR = 365 * DAY;

const server = section('The API.', {
  port: integer(8080, 0, 65_535, 'Port to listen on; 0 for any free one.'),
  maxConnections: integer(
    4096,
    1,
    1_000_000,
    'Connections at a time. When there are more, the one that has been idle longest is closed, of the address that has most.',
  ),
  maxConnectionsPerAddress: integer(
    0,
    0,
    1_000_000,
    'Connections of one address (IPv6: of one /64) at a time; 0: no limit of its own. Set it only where clients connect directly: behind a proxy or an ingress, all connections come from its addresses.',
  ),
  headersTimeoutSeconds: integer(10, 1, 600, 'How long the headers of a request may take.'),
  requestTimeoutSeconds: integer(30, 1, 3600, 'How long a request may take to arrive, body included.'),
  answerTimeoutSeconds: integer(
    30,
    1,
    3600,
    'How long a client may take to read an answer; then its connection is closed.',
  ),
  keepAliveSeconds: integer(
    120,
    1,
    3600,
    'How long an idle connection is kept. Longer than the proxy in front keeps it, so that the proxy closes first.',
  ),
});

const store = section('Where messages are kept.', {
  folder: {
    type: 'string',
    minLength: 1,
    default: '/var/lib/nameplate-messages',
    title: 'the path of a folder',
    description: 'Folder of the database, on a volume of its own. It must exist.',
  },
  reserveBytes: integer(
    64 * MIB,
    0,
    1024 * GIB,
    'New messages are refused while the volume has less than this free; the rest serves to empty the queue.',
  ),
  maxWaiting: integer(10_000, 1, 1_000_000, 'Operations that may wait for the disk; more are refused as busy.'),
  maxWaitingBytes: integer(64 * MIB, 1, 16 * GIB, 'Bytes of messages that may wait for the disk.'),
});

const retention = section('How long what is finished is kept.', {
  doneSeconds: integer(7 * DAY, 0, YEAR, 'Messages that a worker has acknowledged.'),
  deadSeconds: integer(30 * DAY, 0, 10 * YEAR, 'Messages that were given up.'),
  idempotencySeconds: integer(DAY, 1, YEAR, 'Idempotency keys.'),
});

const limits = section('What is refused.', {
  bodyBytes: integer(256 * KIB, 1, 64 * MIB, 'Longest body of a request.'),
  heldBytes: integer(
    64 * MIB,
    MIB,
    64 * GIB,
    'Bytes of bodies and answers that all requests together may hold in memory. Objects of the program come on top: allow the process about four times as much. It is raised to what two accounts may hold.',
  ),
  account: section('Of each account by itself.', {
    requestsPerSecond: integer(1000, 1, 10_000_000, 'Requests a second, in the long run.'),
    bytesPerSecond: integer(8 * MIB, 1, 16 * GIB, 'Bytes of request bodies a second, in the long run.'),
    answerBytesPerSecond: integer(32 * MIB, 1, 16 * GIB, 'Bytes of answers a second, in the long run.'),
    burstSeconds: integer(5, 1, 3600, "How many seconds' worth may come at once. It must hold one longest body."),
    requestsAtOnce: integer(512, 1, 1_000_000, 'Requests that may be in progress, until their answers are read.'),
    heldBytes: integer(
      8 * MIB,
      MIB,
      64 * GIB,
      'Bytes of bodies and answers that these requests may hold in memory. It is raised to hold two longest bodies.',
    ),
    storedBytes: integer(
      GIB,
      1,
      1024 * GIB,
      'Bytes that may be stored: of messages, with 512 and four times the account name for each; of idempotency keys, with 256 and twice the account name for each; and of reasons. The database takes at most twice as much.',
    ),
  }),
});

export const messagesConfigSchema = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  ...object('Configuration of the messages API.', {
    server,
    operations: section('The server of /healthz, /readyz and /metrics.', {
      port: integer(8081, 0, 65_535, 'Port to listen on; 0 for any free one.'),
    }),
    keys: section('Who may use the API: by default whoever holds the key of an APIKey of the cluster.', {
      file: {
        type: 'string',
        minLength: 1,
        title: 'the path of a file',
        description: 'A file of key hashes to use instead; for a machine without Kubernetes.',
      },
      graceSeconds: integer(
        300,
        0,
        DAY,
        'How long known keys are trusted while the API server is away; a key that is revoked meanwhile works on for as long.',
      ),
    }),
    store,
    queue: section('How workers get messages.', {
      maxAttempts: integer(5, 1, 1000, 'Claims of one message before it is dead.'),
    }),
    retention,
    limits,
    log: section('Logs are JSON lines on standard output.', {
      level: {
        type: 'string',
        enum: ['trace', 'debug', 'info', 'warn', 'error'],
        default: 'info',
        description: 'The least level that is logged. Each request that succeeds is logged at debug.',
      },
    }),
  }),
};

/** What `loadConfig` of src/process needs to read the configuration. */
export const messagesConfigDefinition: ConfigDefinition<MessagesConfig> = {
  schema: messagesConfigSchema,
  check: ({limits: {bodyBytes, account}}) => {
    const burst = account.bytesPerSecond * account.burstSeconds;
    if (burst >= bodyBytes) return [];
    const message = `is ${account.bytesPerSecond}, which allows a burst of ${burst} bytes; allowed: a burst of at least bodyBytes, which is ${bodyBytes}`;
    return [{path: ['limits', 'account', 'bytesPerSecond'], message}];
  },
};

/** An object that refuses unknown keys. */
function object(description: string, properties: Readonly<Record<string, Schema>>) {
  return {type: 'object', description, additionalProperties: false, properties};
}

/** An object that, where it is absent, is made of the defaults of what is in it. */
function section(description: string, properties: Readonly<Record<string, Schema>>) {
  return {...object(description, properties), default: {}};
}

function integer(byDefault: number, minimum: number, maximum: number, description: string) {
  return {type: 'integer', minimum, maximum, default: byDefault, description};
}
