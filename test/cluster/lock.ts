import {link, readFile, rename, rm, writeFile} from 'node:fs/promises';
import {setTimeout as delay} from 'node:timers/promises';

let attempts = 0;

/**
 * Runs `body` while holding `file` as a lock between processes. The file holds the owner's pid, so the lock of a
 * process that died is taken over. It appears by link(2), so it is never seen half-written.
 */
export async function withLock<T>(file: string, body: () => Promise<T>, onWait?: (owner: number) => void): Promise<T> {
  const mine = `${file}.${process.pid}.${++attempts}`;
  await writeFile(mine, String(process.pid));
  try {
    await acquire(file, mine, onWait);
    try {
      return await body();
    } finally {
      await rm(file, {force: true});
    }
  } finally {
    await rm(mine, {force: true});
  }
}

async function acquire(file: string, mine: string, onWait?: (owner: number) => void): Promise<void> {
  for (let waited = false; !(await tryLink(mine, file)); ) {
    const owner = Number(await readFile(file, 'utf8').catch(() => ''));
    if (owner > 0 && !isAlive(owner)) {
      await discard(file, owner, mine);
      continue;
    }
    if (!waited) onWait?.(owner);
    waited = true;
    await delay(20);
  }
}

async function tryLink(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/**
 * Meanwhile, another process may have discarded the dead lock and taken it. So this checks the file that it moved, and
 * puts back a live one.
 */
async function discard(file: string, owner: number, mine: string): Promise<void> {
  const moved = `${mine}.dead`;
  const found = await rename(file, moved).then(
    () => readFile(moved, 'utf8'),
    () => undefined,
  );
  if (found !== undefined && Number(found) !== owner) await tryLink(moved, file);
  await rm(moved, {force: true});
}

/** Signal 0 only checks. EPERM means that the process is alive and belongs to somebody else. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
