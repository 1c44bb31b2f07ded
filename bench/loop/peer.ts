/** One peer in its own process: what it reports, and what the kernel reports about it. */
import {type ChildProcess, spawn} from 'node:child_process';
import {readdir, readFile, readlink} from 'node:fs/promises';
import {createInterface} from 'node:readline';
import type {Report, Synced} from './peers/samples.ts';

export class Peer {
  readonly #child: ChildProcess;
  readonly #lines: string[] = [];
  readonly #waiting: ((line: string) => void)[] = [];
  readonly #exited: Promise<number | null>;

  constructor(argv: readonly string[]) {
    const [command = '', ...args] = argv;
    this.#child = spawn(command, args, {stdio: ['pipe', 'pipe', 'inherit']});
    this.#exited = new Promise(resolve => this.#child.once('exit', resolve));
    if (this.#child.stdout) {
      createInterface({input: this.#child.stdout}).on('line', line => {
        const waiting = this.#waiting.shift();
        if (waiting) waiting(line);
        else this.#lines.push(line);
      });
    }
  }

  /** Resolves once the peer has seen all objects. */
  async synced(): Promise<Synced> {
    return JSON.parse(await this.#line()) as Synced;
  }

  async report(): Promise<Report> {
    this.#child.stdin?.write('report\n');
    return JSON.parse(await this.#line()) as Report;
  }

  /** Resident memory, MiB. */
  async rssMiB(): Promise<number> {
    const status = await readFile(`/proc/${this.#child.pid}/status`, 'utf8');
    return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? Number.NaN) / 1024;
  }

  /** CPU time used so far, in milliseconds; the kernel counts in hundredths of a second. */
  async cpuMs(): Promise<number> {
    const stat = await readFile(`/proc/${this.#child.pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) * 10;
  }

  /** Open TCP connections to a port on the loopback interface. */
  async connections(port: number): Promise<number> {
    const folder = `/proc/${this.#child.pid}/fd`;
    const links = await Promise.all((await readdir(folder)).map(fd => readlink(`${folder}/${fd}`).catch(() => '')));
    const inodes = new Set(links.flatMap(link => /^socket:\[(\d+)\]$/.exec(link)?.[1] ?? []));
    const remote = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
    const rows = (await readFile('/proc/net/tcp', 'utf8')).split('\n').map(row => row.trim().split(/\s+/));
    return rows.filter(row => row[2]?.endsWith(remote) && row[3] === '01' && inodes.has(row[9] ?? '')).length;
  }

  async stop(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#exited;
  }

  async #line(): Promise<string> {
    const line = this.#lines.shift();
    if (line !== undefined) return line;
    const next = new Promise<string>(resolve => this.#waiting.push(resolve));
    const ended = this.#exited.then(code => Promise.reject(new Error(`the peer ended (${code})`)));
    return await Promise.race([next, ended]);
  }
}
