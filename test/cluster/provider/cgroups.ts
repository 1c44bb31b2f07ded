import {existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {until} from '../wait.ts';

const ROOT = '/sys/fs/cgroup';

/** The parents of cgroups: one with version 2, one per hierarchy with version 1. */
function hierarchies(): string[] {
  if (existsSync(join(ROOT, 'cgroup.controllers'))) return [ROOT];
  return readdirSync(ROOT, {withFileTypes: true})
    .filter(entry => entry.isDirectory() && existsSync(join(ROOT, entry.name, 'cgroup.procs')))
    .map(entry => join(ROOT, entry.name));
}

/** Creates the cgroup under which the kubelet keeps its pods. It must exist before the kubelet starts. */
export function makeCgroup(name: string): void {
  for (const parent of hierarchies()) {
    const folder = join(parent, name);
    mkdirSync(folder, {recursive: true});
    giveCpuShare(folder);
    const cpus = join(folder, 'cpuset.cpus');
    if (parent !== ROOT && existsSync(cpus)) copyCpuset(parent, folder);
    if (parent === ROOT) writeFileSync(join(folder, 'cgroup.subtree_control'), '+cpu +cpuset +memory +pids +io');
  }
}

/**
 * The kernel gives a cgroup the same share as a single process, so on a busy machine, all pods together would starve.
 */
function giveCpuShare(folder: string): void {
  const asProcesses = 8;
  for (const [file, ofOneProcess] of Object.entries({'cpu.weight': 100, 'cpu.shares': 1024})) {
    if (existsSync(join(folder, file))) writeFileSync(join(folder, file), String(asProcesses * ofOneProcess));
  }
}

/** A cpuset of version 1 starts empty and accepts no process until it has CPUs and memory nodes. */
function copyCpuset(parent: string, folder: string): void {
  for (const file of ['cpuset.cpus', 'cpuset.mems']) {
    const value = readFileIfThere(join(parent, file));
    if (value) writeFileSync(join(folder, file), value);
  }
}

function readFileIfThere(file: string): string {
  return existsSync(file) ? readFileSync(file, 'utf8').trim() : '';
}

/** The kernel refuses to remove a cgroup for a moment after its last process is gone. */
export async function removeCgroup(name: string): Promise<void> {
  for (const parent of hierarchies()) {
    const folder = join(parent, name);
    await until(`${folder} is removed`, () => removeTree(folder) || !existsSync(folder));
  }
}

function removeTree(folder: string): boolean {
  if (!existsSync(folder)) return true;
  for (const entry of readdirSync(folder, {withFileTypes: true})) {
    if (entry.isDirectory()) removeTree(join(folder, entry.name));
  }
  rmdirSync(folder);
  return true;
}
