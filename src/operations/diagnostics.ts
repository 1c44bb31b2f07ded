/** Heap snapshots and CPU profiles, on a signal. They show what is in memory, which includes keys and Secrets. */
import {open, readdir, rename, rm, truncate, writeFile} from 'node:fs/promises';
import {Session} from 'node:inspector/promises';
import {join} from 'node:path';
import {setTimeout as delay} from 'node:timers/promises';
import {writeHeapSnapshot} from 'node:v8';
import type {Logger} from 'pino';

interface DiagnosticsConfig {
  /** Absent: the signals are not handled. */
  readonly folder?: string;
  readonly cpuSeconds: number;
}

/** How many files the folder holds, at most: the chart's volume has space for this many. */
const MAX_FILES = 4;
const OWN_FILE = /^\d{4}-\d\d-\d\dT[\d-]+\.\d{3}Z\.(heapsnapshot|cpuprofile)(\.partial)?$/;

/** SIGUSR2 writes a heap snapshot, SIGHUP a CPU profile, one at a time. Without a folder, it does nothing. */
export function handleDiagnostics({folder, cpuSeconds}: DiagnosticsConfig, logger: Logger): void {
  if (folder === undefined) return;
  let isBusy = false;

  async function write(extension: string, record: (path: string) => unknown): Promise<void> {
    if (isBusy) {
      logger.warn({extension}, 'A heap snapshot or CPU profile is in progress; ignoring the signal.');
      return;
    }
    isBusy = true;
    const path = join(folder as string, `${new Date().toISOString().replaceAll(':', '-')}.${extension}`);
    try {
      await writeComplete(path, record);
      logger.info({path}, 'Wrote a heap snapshot or CPU profile.');
    } catch (err) {
      logger.error({err, path}, 'Could not write a heap snapshot or CPU profile.');
    } finally {
      isBusy = false;
    }
  }

  process.on('SIGUSR2', () => void write('heapsnapshot', path => writeHeapSnapshot(path)));
  process.on('SIGHUP', () => void write('cpuprofile', path => writeCpuProfile(path, cpuSeconds)));
  logger.info(
    {folder, cpuSeconds},
    'Diagnostics are enabled: send SIGUSR2 for a heap snapshot, SIGHUP for a CPU profile.',
  );
}

/** The file has its name only once it is complete. */
async function writeComplete(path: string, record: (path: string) => unknown): Promise<void> {
  const folder = join(path, '..');
  const own = (await readdir(folder)).filter(name => OWN_FILE.test(name)).sort();
  for (const name of own.slice(0, Math.max(0, own.length - MAX_FILES + 1))) await rm(join(folder, name));
  const partial = `${path}.partial`;
  await (await open(partial, 'wx', 0o600)).close();
  try {
    await record(partial);
    await rename(partial, path);
  } catch (error) {
    // If it fails, writeHeapSnapshot leaves the file open, and an open file keeps its space.
    await truncate(partial).catch(() => {});
    await rm(partial, {force: true});
    throw error;
  }
}

async function writeCpuProfile(path: string, seconds: number): Promise<void> {
  const session = new Session();
  session.connect();
  try {
    await session.post('Profiler.enable');
    await session.post('Profiler.start');
    // A shutdown does not wait for the profile.
    await delay(seconds * 1000, undefined, {ref: false});
    const {profile} = await session.post('Profiler.stop');
    await writeFile(path, JSON.stringify(profile));
  } finally {
    session.disconnect();
  }
}
