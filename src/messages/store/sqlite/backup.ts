import {open, rename, rm} from 'node:fs/promises';
import {dirname} from 'node:path';
import {DatabaseSync} from 'node:sqlite';

/**
 * Copies a database that may be in use to `target`, as it was at one moment: a database of its own, compact, checked and
 * on the disk when this resolves. Writers are not held up; the log grows while it runs. Throws when `target` exists.
 */
export async function backupDatabase(source: string, target: string): Promise<void> {
  const partial = `${target}.partial`;
  await rm(partial, {force: true});
  await (await open(target, 'wx')).close(); // Nobody else's file is written over.
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

function copy(source: string, target: string): void {
  // A program that only reads must still be able to write the shared index of the log beside the database.
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
    if (found !== 'ok') throw new Error(`the copy is damaged, and so may be the database: ${found}`);
  } finally {
    db.close();
  }
}

async function sync(path: string): Promise<void> {
  const file = await open(path, 'r');
  await file.sync();
  await file.close();
}
