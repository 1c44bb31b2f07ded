/**
 * A small internet in a separate network namespace (internet/plan.ts), where the verifier runs with the shipped
 * configuration: real addresses, port 53, real servers, and a resolver in /etc/resolv.conf. Needs Linux, and root or
 * user namespaces.
 */
import {type ChildProcess, spawn} from 'node:child_process';
import {openSync} from 'node:fs';
import {mkdtemp, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {cacheRoot} from '../../cluster/cache.ts';
import {tail} from '../../cluster/children.ts';
import {ensurePrograms} from '../../cluster/programs.ts';
import type {CallName, CallRequest, CallResponse, Calls} from './internet/calls.ts';
import {ensureNameServerPrograms} from './internet/packages.ts';
import type {ZoneSpec} from './internet/plan.ts';

export interface Internet extends Omit<Calls, 'start'> {
  stop(): Promise<void>;
}

/** A zone on every holder, which shows that they are up. */
const PROBE: ZoneSpec = {name: 'probe.com', at: ['a', 'b', 'c', 'd'], records: ''};

export async function startInternet(zones: readonly ZoneSpec[]): Promise<Internet> {
  const {paths, libraries} = await ensureNameServerPrograms({cache: cacheRoot()});
  const coredns = (await ensurePrograms(['coredns'])).path('coredns');
  const folder = await mkdtemp(join(tmpdir(), 'nameplate-internet-'));
  const inside = enter(folder);
  const internet = {...clientOf(inside, join(folder, 'inside.log')), stop};
  async function stop(): Promise<void> {
    const gone = new Promise(resolve => inside.once('exit', resolve));
    if (inside.connected) inside.disconnect();
    if (inside.exitCode === null && inside.signalCode === null) await gone;
    await rm(folder, {recursive: true, force: true});
  }
  try {
    await internet.start({folder, zones: [PROBE, ...zones], programs: {...paths, coredns, libraries}});
  } catch (error) {
    await stop();
    throw error;
  }
  return internet;
}

function enter(folder: string): ChildProcess {
  const log = openSync(join(folder, 'inside.log'), 'a');
  const user = process.getuid?.() === 0 ? [] : ['--user', '--map-root-user'];
  const program = [process.execPath, join(import.meta.dirname, 'internet/inside.ts')];
  return spawn('unshare', ['--net', '--mount', ...user, ...program], {stdio: ['ignore', log, log, 'ipc']});
}

function clientOf(inside: ChildProcess, log: string): Calls {
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  let last = 0;
  const failAll = (why: string) => {
    for (const {reject} of waiting.values()) reject(new Error(why));
    waiting.clear();
  };
  inside.on('error', error => failAll(`no network namespace: ${error.message}`));
  inside.on('exit', code => failAll(`the program in the namespace ended (${code}):\n${tail(log)}`));
  inside.on('message', (response: CallResponse) => {
    const call = waiting.get(response.id);
    waiting.delete(response.id);
    if (response.ok) call?.resolve(response.result);
    else call?.reject(new Error(response.error));
  });
  const call = (name: CallName, ...args: readonly unknown[]): Promise<unknown> => {
    if (!inside.connected) throw new Error(`the program in the namespace is gone:\n${tail(log)}`);
    const request: CallRequest = {id: ++last, call: name, args};
    const pending = Promise.withResolvers<unknown>();
    waiting.set(request.id, pending);
    inside.send(request);
    return pending.promise;
  };
  const names: readonly CallName[] = [
    'start',
    'verify',
    'poll',
    'run',
    'resolve',
    'packet',
    'change',
    'crowd',
    'capture',
    'captured',
  ];
  return Object.fromEntries(names.map(name => [name, (...args: unknown[]) => call(name, ...args)])) as unknown as Calls;
}
