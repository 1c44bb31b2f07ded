/**
 * Network namespaces on one bridge, like machines on one switch. Needs root. A partition moves some to another bridge.
 * The test itself reaches all of them over separate links, which lead nowhere else.
 */
import {existsSync} from 'node:fs';
import {run} from '../../../cluster/children.ts';

export interface Machine {
  readonly address: string;
  /** The address at which the test reaches it. */
  readonly fromTest: string;
  /** The command prefix that runs a program there. */
  readonly wrapper: readonly string[];
}

export interface Network<Name extends string> {
  readonly machines: Readonly<Record<Name, Machine>>;
  /** From now on, these machines reach each other but none of the others. */
  partition(names: readonly Name[]): Promise<void>;
  heal(): Promise<void>;
  /** Programs that still run there keep their namespaces. */
  remove(): Promise<void>;
}

const BRIDGES = ['one', 'other'] as const;

export async function createNetwork<Name extends string>(names: readonly Name[]): Promise<Network<Name>> {
  await removeLeftovers();
  const prefix = `np${process.pid}`;
  const router = `${prefix}r`;
  const ip = (...args: readonly string[]) => run(['ip', ...args]);
  const inside = (namespace: string, ...args: readonly string[]) => ip('-n', namespace, ...args);
  await ip('netns', 'add', router);
  for (const bridge of BRIDGES) {
    await inside(router, 'link', 'add', bridge, 'type', 'bridge');
    await inside(router, 'link', 'set', bridge, 'up');
  }
  const connect = (index: number, bridge: string) => inside(router, 'link', 'set', `v${index}`, 'master', bridge, 'up');
  const machines: [Name, Machine][] = [];
  for (const [index, name] of names.entries()) {
    const namespace = `${prefix}n${index}`;
    const [address, subnet] = [`198.18.0.${index + 1}`, `198.19.${process.pid % 250}`];
    await ip('netns', 'add', namespace);
    await inside(router, 'link', 'add', `v${index}`, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', namespace);
    await connect(index, 'one');
    await inside(namespace, 'address', 'add', `${address}/24`, 'dev', 'eth0');
    const own = `${prefix}v${index}`;
    await ip('link', 'add', own, 'type', 'veth', 'peer', 'name', 'test', 'netns', namespace);
    await ip('address', 'add', `${subnet}.${4 * index + 1}/30`, 'dev', own);
    await ip('link', 'set', own, 'up');
    await inside(namespace, 'address', 'add', `${subnet}.${4 * index + 2}/30`, 'dev', 'test');
    for (const link of ['lo', 'eth0', 'test']) await inside(namespace, 'link', 'set', link, 'up');
    const wrapper = ['ip', 'netns', 'exec', namespace];
    machines.push([name, {address, fromTest: `${subnet}.${4 * index + 2}`, wrapper}]);
  }
  return {
    machines: Object.fromEntries(machines) as Record<Name, Machine>,
    partition: async apart => {
      for (const name of apart) await connect(names.indexOf(name), 'other');
    },
    heal: async () => {
      for (const index of names.keys()) await connect(index, 'one');
    },
    remove: async () => {
      for (const index of names.keys()) await ip('link', 'delete', `${prefix}v${index}`);
      for (const index of names.keys()) await ip('netns', 'delete', `${prefix}n${index}`);
      await ip('netns', 'delete', router);
    },
  };
}

/** Removes the networks of tests that ended without removing theirs. A new one may have the same names and addresses. */
async function removeLeftovers(): Promise<void> {
  const isLeft = (name: string) => {
    const [, pid] = /^np(\d+)(?:r|[nv]\d+)$/.exec(name) ?? [];
    return pid !== undefined && (Number(pid) === process.pid || !existsSync(`/proc/${pid}`));
  };
  const nameOf = (line: string) => /^(?:\d+: )?(\w+)/.exec(line)?.[1] ?? '';
  for (const kind of ['link', 'netns']) {
    const names = (await run(['ip', '-o', kind, 'show'])).split('\n').map(nameOf).filter(isLeft);
    // Another test may remove them at the same time.
    for (const name of names) await run(['ip', kind, 'delete', name]).catch(() => {});
  }
}
