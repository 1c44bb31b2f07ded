/** System calls of programs, in the order in which strace sees them. */
import {readFile} from 'node:fs/promises';
import {run, which} from '../../cluster/children.ts';

/** The calls that show whether a response came too early. */
export const SYNCS_AND_MESSAGES = 'trace=fdatasync,fsync,read,recvfrom,write,writev,sendto,sendmsg';

export async function ensureStrace(): Promise<void> {
  if (which('strace')) return;
  if (!which('apt-get')) throw new Error('strace is missing on this machine; please install it');
  const env = {...process.env, DEBIAN_FRONTEND: 'noninteractive'};
  await run(['apt-get', 'update', '-qq'], {env});
  await run(['apt-get', 'install', '-y', '-qq', '--no-install-recommends', 'strace'], {env});
}

/**
 * In order: `REQUEST` when a message has arrived, `REPLY` when a response that acknowledges one begins, and the file of
 * each sync that has ended.
 */
export async function eventsOf(traceFile: string): Promise<readonly string[]> {
  const unfinished = new Map<string, string>();
  return (await readFile(traceFile, 'utf8')).split('\n').flatMap(line => {
    const [, thread = '', text = ''] = /^(\d+) +(.*)$/.exec(line) ?? [];
    if (text.endsWith('<unfinished ...>')) unfinished.set(thread, text);
    const isResumed = text.startsWith('<... ');
    const call = isResumed ? `${unfinished.get(thread)}${text}` : text;
    const [, file] = /^f(?:data)?sync\(\d+<([^>]*)>.*= 0(?: \(DELAYED\))?$/.exec(call) ?? [];
    if (file !== undefined) return [file];
    if (text.includes('"POST /messages ')) return [REQUEST];
    // Counted when it begins, because everything before it must have ended by then.
    return !isResumed && text.includes('"HTTP/1.1 202 ') ? [REPLY] : [];
  });
}

export const REQUEST = 'REQUEST';
export const REPLY = 'REPLY';
