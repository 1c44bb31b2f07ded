/** What the edge's processes on this node have used. */
import {readdirSync, readFileSync} from 'node:fs';
import {until} from '../../test/cluster/wait.ts';

/** All processes together. */
export interface Usage {
  readonly cpuMs: number;
  readonly rssMiB: number;
}

/** The names of the programs, as the kernel truncates them. */
const PROGRAMS: ReadonlySet<string> = new Set(['traefik', 'envoy-gateway', 'envoy']);
/** The edge is idle if it uses less CPU than this in half a second. */
const CALM_MS = 60;

export function usageByProgram(): Map<string, Usage> {
  const found = new Map<string, Usage>();
  for (const pid of readdirSync('/proc').filter(entry => /^\d+$/.test(entry))) {
    const [program, usage] = usageOf(pid) ?? [];
    if (program === undefined || !usage || !PROGRAMS.has(program)) continue;
    const {cpuMs = 0, rssMiB = 0} = found.get(program) ?? {};
    found.set(program, {cpuMs: cpuMs + usage.cpuMs, rssMiB: rssMiB + usage.rssMiB});
  }
  return found;
}

function usageOf(pid: string): [string, Usage] | undefined {
  try {
    const [name = '', fields = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ');
    const [user = 0, system = 0] = fields.split(' ').slice(11, 13).map(Number);
    const [, kib = 0] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return [name.replace(/^\d+ \(/, ''), {cpuMs: (user + system) * 10, rssMiB: Number(kib) / 1024}];
  } catch {
    return undefined; // it has ended
  }
}

export function cpuMs(): number {
  return [...usageByProgram().values()].reduce((sum, usage) => sum + usage.cpuMs, 0);
}

/** Waits until the edge has finished its work. */
export async function untilCalm(): Promise<void> {
  let before = Number.NEGATIVE_INFINITY;
  const isCalm = () => {
    const [last, now] = [before, cpuMs()];
    before = now;
    return now - last < CALM_MS;
  };
  await until('the edge is calm', isCalm, {timeoutMs: 3_600_000, intervalMs: 500});
}
