import {open, readdir, rename, rm} from 'node:fs/promises';
import {dirname, join} from 'node:path';
import {DatabaseSync} from 'node:sqlite';

/**
 * Copies a database, which may be in use, to `target` as of one moment: a separate database, compact, checked, and on
 * disk when this resolves. Does not block writers, but the log grows meanwhile. Throws if `target` exists.
 */
export async function backupDatabase(source: string, target: string): Promise<void> {
  const partial = `${target}.partial`;
  await rm(partial, {force: true});
  await (await open(target, 'wx')).close(); // Never overwrites an existing file.
  try {
    copy(source, partial);
    check(partial);
    await sync(partial);
    await rename(partial, target);
    await sync(dirname(target));
  } catch (error) {
    await Promise.all([partial, target].map(path => rm(path, {force: true})));
    throw error;
  }
}

const BACKUP = /^messages-\d{8}T\d{6}Z\.db$/;

/** Copies a database into a folder, under the current time, and then deletes all but the newest `keep` copies in it. */
export async function backupInto(source: string, folder: string, keep: number, nowMs: number): Promise<void> {
  const time = new Date(nowMs).toISOString().replaceAll(/[-:]|\.\d+/g, '');
  await backupDatabase(source, join(folder, `messages-${time}.db`));
  const copies = (await readdir(folder)).filter(name => BACKUP.test(name)).sort();
  for (const name of copies.slice(0, -keep)) await rm(join(folder, name));
}

function copy(source: string, target: string): void {
  // Even a program that only reads must be able to write the log's shared index next to the database.
  const db = new DatabaseSync(source, {readOnly: true, timeout: 5000});
  try {
    db.prepare('VACUUM INTO ?').run(target);
  } finally {
    db.close();
  }
}

function check(path: string): void {
  const db = new DatabaseSync(path, {readOnly: true});
  try {
    const found = db.prepare('PRAGMA integrity_check(1)').get()?.integrity_check;
    if (found !== 'ok') throw new Error(`the copy is damaged, and the database may be too: ${found}`);
  } finally {
    db.close();
  }
}

async function sync(path: string): Promise<void> {
  const file = await open(path, 'r');
  await file.sync();
  await file.close();
}
