import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {startChild} from '../../../cluster/children.ts';
import {until} from '../../../cluster/wait.ts';

export interface Capture {
  stop(): Promise<Record<string, number>>;
}

/** The kernel's client ports begin here (ip_local_port_range). */
const FIRST_CLIENT_PORT = 32_768;

/** Captures every packet sent in the namespace, whether or not anybody receives it. */
export async function startCapture(tcpdump: string, folder: string, libraries: string): Promise<Capture> {
  const log = join(folder, `capture-${Date.now()}.log`);
  const env = {...process.env, LD_LIBRARY_PATH: libraries};
  const options = ['-i', 'any', '-nn', '-q', '-t', '-l', '--immediate-mode', '-B', '65536'];
  const child = startChild('tcpdump', [tcpdump, ...options, '--relinquish-privileges=root', 'udp or tcp'], {log, env});
  await until('the capture has begun', () => readFileSync(log, 'utf8').includes('listening on'), {intervalMs: 20});
  return {
    async stop() {
      process.kill(child.pid, 'SIGINT');
      await child.exited;
      const text = readFileSync(log, 'utf8');
      const dropped = Number(/(\d+) packets dropped by kernel/.exec(text)?.[1] ?? Number.NaN);
      if (dropped !== 0) throw new Error(`the capture is not complete: ${dropped} packets dropped`);
      return receivers(text);
    },
  };
}

/** Lines such as `lo In IP 127.0.0.1.40000 > 192.0.2.1.53: UDP, length 40`; what goes over `lo` is shown once. */
export function receivers(text: string): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const [, address = '', port = ''] of text.matchAll(/^\S+\s+\S+\s+IP6?\s+\S+ > (\S+)\.(\d+): /gm)) {
    if (Number(port) >= FIRST_CLIENT_PORT) continue;
    const receiver = `${address}:${port}`;
    counts[receiver] = (counts[receiver] ?? 0) + 1;
  }
  return counts;
}
