import {readFile} from 'node:fs/promises';
import {type ClientConfig, types} from 'pg';
import {StoreError} from '../../store.ts';

export interface ConnectionOptions {
  /** A file with a URI, such as postgresql://user:password@host:5432/database, as CloudNativePG's Secrets have it. */
  readonly uriFile: string;
  readonly tls: TlsMode;
  /** Certificates of authorities to trust instead of Node's. */
  readonly caFile?: string;
}

/**
 * - verify-full: the certificate must be valid for the host in the URI.
 * - disable: no TLS at all.
 */
export const TLS_MODES = ['verify-full', 'disable'] as const;
type TlsMode = (typeof TLS_MODES)[number];

/** Of all sessions of pods: what an undo ends. */
export const APPLICATION_NAME = 'nameplate-messages';

const CONNECT_MS = 5000;
/** An idle or waiting connection counts as dead 10 s after this: Node probes ten times, once per second. */
const KEEP_ALIVE_MS = 10_000;

/** Reads the files again for each connection, because the Secrets may be rotated. Never quotes the URI. */
export async function connectionConfig({uriFile, tls, caFile}: ConnectionOptions): Promise<ClientConfig> {
  const uri = parse((await read(uriFile)).trim(), uriFile);
  const ca = caFile === undefined ? undefined : await read(caFile);
  return {
    host: uri.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: uri.port === '' ? 5432 : Number(uri.port),
    user: decodeURIComponent(uri.username),
    password: decodeURIComponent(uri.password),
    database: decodeURIComponent(uri.pathname.slice(1)),
    ssl: tls === 'verify-full' && {rejectUnauthorized: true, ...(ca !== undefined && {ca})},
    application_name: APPLICATION_NAME,
    connectionTimeoutMillis: CONNECT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    pipeline: true,
    types: {
      getTypeParser: (type, format) => (type === types.builtins.INT8 ? Number : types.getTypeParser(type, format)),
    },
  };
}

function parse(text: string, file: string): URL {
  if (!/^postgres(ql)?:\/\//.test(text) || !URL.canParse(text)) throw invalid(file, 'has no postgresql:// URI');
  const uri = new URL(text);
  if (uri.hostname === '' || uri.username === '' || uri.pathname.length < 2) {
    throw invalid(file, 'must name a user, one host, and a database');
  }
  // Among them sslmode: it must not decide here whether certificates are verified.
  const [parameter] = uri.searchParams.keys();
  if (parameter !== undefined) throw invalid(file, `has the parameter ${parameter}; set TLS in the configuration`);
  return uri;
}

async function read(path: string): Promise<string> {
  return readFile(path, 'utf8').catch((cause: Error) => {
    throw new StoreError('down', cause.message, {cause});
  });
}

function invalid(file: string, problem: string): StoreError {
  return new StoreError('down', `the file ${file} ${problem}`);
}
