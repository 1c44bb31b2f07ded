/** PostgreSQL as a process of the test: a primary and its standbys. */
import {randomBytes} from 'node:crypto';
import {appendFile, mkdir, mkdtemp, readdir, readlink, rm, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import pg from 'pg';
import {type Child, run, startChild, tail} from '../../../cluster/children.ts';
import {freePorts} from '../../../cluster/free-ports.ts';
import {until} from '../../../cluster/wait.ts';
import type {Machine} from './network.ts';
import {ensurePostgres, unprivileged} from './programs.ts';

/** Lines of postgresql.conf. */
export type PostgresSettings = Readonly<Record<string, string | number>>;

export interface Postgres {
  readonly port: number;
  /** The host that standbys stream from. */
  readonly source: string;
  /** Runs as superuser. */
  query(sql: string, database?: string): Promise<readonly Record<string, unknown>[]>;
  /** Changes settings with a reload, and waits until new sessions use them. */
  configure(settings: PostgresSettings): Promise<void>;
  /** The pods' sessions that wait for a standby. */
  waiting(): Promise<readonly number[]>;
  /** The processes of the server and its sessions. */
  processes(): Promise<readonly number[]>;
  /** Creates an empty database of an unprivileged role. Returns its name. */
  createDatabase(): Promise<string>;
  uri(database: string): string;
  /** Does nothing if the server runs. */
  start(): Promise<void>;
  /** SIGKILL for the server and its sessions. */
  kill(): Promise<void>;
  /** Ends sessions and stops, like `pg_ctl -m fast`. */
  stop(): Promise<void>;
  /** A standby with this name, which streams from this server. */
  standby(name: string, machine?: Machine): Promise<Postgres>;
  /** Streams from another server from now on, or from none if undefined. */
  follow(primary: Postgres | undefined): Promise<void>;
  /** Stops the server and deletes its data. */
  discard(): Promise<void>;
  /** Stops and deletes the server and its standbys. */
  remove(): Promise<void>;
}

const ROLE = 'app';
/** Allows connections between machines and from a cluster's pods. */
const HBA = 'host replication postgres samenet trust\nhost all all all scram-sha-256\n';
const FAST = {intervalMs: 20};
const COMMON: PostgresSettings = {
  shared_buffers: '32MB',
  max_connections: 100,
  jit: 'off',
  wal_keep_size: '64MB',
  wal_receiver_status_interval: '1s',
  wal_retrieve_retry_interval: '100ms',
};

/** Runs on this machine unless another is given. Then the standbys need one, too. */
export async function startPostgres(settings: PostgresSettings = {}, machine?: Machine): Promise<Postgres> {
  const {bin, env} = await ensurePostgres();
  const folder = await mkdtemp(join(tmpdir(), 'nameplate-pg-'));
  const data = join(folder, 'primary');
  const password = randomBytes(12).toString('hex');
  const initdb = [join(bin, 'initdb'), '-D', data, '-U', 'postgres', '-E', 'UTF8', '--locale=C', '--no-sync'];
  await run(unprivileged([...initdb, '--auth-local=trust', '--auth-host=scram-sha-256']), {env});
  const [port = 0] = await freePorts(1);
  if (machine) await appendFile(join(data, 'pg_hba.conf'), HBA);
  const primary = new Server({bin, env, folder, data, port, password, machine});
  await primary.write({...COMMON, ...settings, cluster_name: "'primary'"});
  await primary.start();
  await primary.query(`CREATE ROLE ${ROLE} LOGIN PASSWORD '${password}' IN ROLE pg_read_all_stats`);
  return primary;
}

interface ServerOptions {
  readonly bin: string;
  readonly env: NodeJS.ProcessEnv;
  /** The folder of the primary and its standbys. */
  readonly folder: string;
  readonly data: string;
  readonly port: number;
  readonly password: string;
  readonly machine?: Machine | undefined;
}

class Server implements Postgres {
  readonly #options: ServerOptions;
  readonly #standbys: Postgres[] = [];
  #child: Child | undefined;
  #databases = 0;

  constructor(options: ServerOptions) {
    this.#options = options;
  }

  get port(): number {
    return this.#options.port;
  }

  get source(): string {
    return this.#options.machine?.address ?? this.#sockets;
  }

  /** Its own, because servers on several machines may have the same port. */
  get #sockets(): string {
    return `${this.#options.data}.sockets`;
  }

  get #address(): string {
    return this.#options.machine?.address ?? '127.0.0.1';
  }

  /** The command line of a PostgreSQL program on its machine. */
  #there([program = '', ...args]: readonly string[]): readonly string[] {
    const {bin, machine} = this.#options;
    return [...(machine?.wrapper ?? []), ...unprivileged([join(bin, program), ...args])];
  }

  async write(settings: PostgresSettings): Promise<void> {
    const {data, port} = this.#options;
    await mkdir(this.#sockets, {recursive: true});
    const own = {listen_addresses: `'${this.#address}'`, port, unix_socket_directories: `'${this.#sockets}'`};
    const lines = Object.entries({...own, ...settings}).map(([name, value]) => `${name} = ${value}\n`);
    await appendFile(join(data, 'postgresql.conf'), lines.join(''));
  }

  async start(): Promise<void> {
    if (this.#child !== undefined) return;
    const {env, data} = this.#options;
    const log = `${data}.log`;
    const child = startChild('postgres', this.#there(['postgres', '-D', data]), {log, env});
    this.#child = child;
    const ended = child.exited.then(code => {
      throw new Error(`postgres ended (${code}):\n${tail(log)}`);
    });
    await Promise.race([until('PostgreSQL answers', () => this.query('SELECT 1'), FAST), ended]);
    ended.catch(() => {});
  }

  async query(sql: string, database = 'postgres'): Promise<readonly Record<string, unknown>[]> {
    const {port} = this.#options;
    const client = new pg.Client({host: this.#sockets, port, user: 'postgres', database});
    client.on('error', () => {});
    try {
      await client.connect();
      return (await client.query(sql)).rows;
    } finally {
      await client.end();
    }
  }

  async configure(settings: PostgresSettings): Promise<void> {
    await this.write(settings);
    const [{loaded} = {}] = await this.query('SELECT pg_conf_load_time()::text AS loaded');
    await this.query('SELECT pg_reload_conf()');
    await until(
      'the configuration is loaded',
      async () => {
        const [row] = await this.query('SELECT pg_conf_load_time()::text AS loaded');
        return row?.loaded !== loaded;
      },
      FAST,
    );
  }

  async waiting(): Promise<readonly number[]> {
    const rows = await this.query(
      `SELECT pid FROM pg_stat_activity WHERE application_name = 'nameplate-messages' AND wait_event = 'SyncRep'`,
    );
    return rows.map(({pid}) => Number(pid));
  }

  async createDatabase(): Promise<string> {
    const name = `messages_${++this.#databases}`;
    await this.query(`CREATE DATABASE ${name} OWNER ${ROLE}`);
    return name;
  }

  uri(database: string): string {
    return `postgresql://${ROLE}:${this.#options.password}@${this.#address}:${this.port}/${database}`;
  }

  async kill(): Promise<void> {
    await this.#child?.kill();
    this.#child = undefined;
    // Sessions end once they notice. Until then, no new server can start.
    await until('all sessions have ended', async () => (await this.processes()).length === 0, FAST);
  }

  async processes(): Promise<readonly number[]> {
    const running = (await readdir('/proc')).filter(name => /^\d+$/.test(name));
    const folders = await Promise.all(running.map(pid => readlink(`/proc/${pid}/cwd`).catch(() => '')));
    return running.filter((_, index) => folders[index] === this.#options.data).map(Number); // they run in its folder
  }

  async stop(): Promise<void> {
    if (this.#child === undefined) return;
    process.kill(this.#child.pid, 'SIGINT');
    await this.#child.exited;
    this.#child = undefined;
  }

  async standby(name: string, machine?: Machine): Promise<Postgres> {
    const {env, folder} = this.#options;
    const data = join(folder, name);
    const [port = 0] = await freePorts(1);
    const standby = new Server({...this.#options, data, port, machine});
    const source = ['-h', this.source, '-p', String(this.port), '-U', 'postgres'];
    await run(standby.#there(['pg_basebackup', ...source, '-D', data, '-R', '-X', 'stream', '-c', 'fast']), {env});
    await standby.write({cluster_name: `'${name}'`});
    await standby.start();
    this.#standbys.push(standby);
    return standby;
  }

  async follow(primary: Postgres | undefined): Promise<void> {
    const source = primary === undefined ? '' : `host=${primary.source} port=${primary.port} user=postgres`;
    await this.query(`ALTER SYSTEM SET primary_conninfo = '${source}'`);
    await this.query('SELECT pg_reload_conf()');
  }

  async discard(): Promise<void> {
    await this.stop();
    await rm(this.#options.data, {recursive: true, force: true});
  }

  async remove(): Promise<void> {
    await Promise.all([...this.#standbys.map(standby => standby.stop()), this.stop()]);
    await rm(this.#options.folder, {recursive: true, force: true});
  }
}

/** Writes the URI to a file, as a mounted Secret would contain it. */
export async function uriFile(folder: string, uri: string): Promise<string> {
  const file = join(folder, 'uri');
  await writeFile(file, uri);
  return file;
}
