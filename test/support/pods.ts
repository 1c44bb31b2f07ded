/** Removes pods and restores them: by scaling, as a person does, or with SIGKILL, as a machine failure does. */
import {readdir, readFile} from 'node:fs/promises';
import type {KubeClient} from '../../src/runtime/kube/client.ts';
import type {KubeObject} from '../../src/runtime/kube/object.ts';
import {until} from '../cluster/wait.ts';
import {listAll} from './kube.ts';
import {DEPLOYMENT, POD, type Pod} from './workload.ts';

const WAIT = {intervalMs: 200};

/** Resolves when this many pods are ready and no others are left. */
export async function scale(
  client: KubeClient,
  deployment: {readonly namespace: string; readonly name: string},
  replicas: number,
): Promise<void> {
  await client.patch(DEPLOYMENT, deployment, {spec: {replicas}}, {subresource: 'scale'});
  await until(
    `${deployment.name} has ${replicas} pods`,
    async () => {
      const {matchLabels = {}} = (await client.get(DEPLOYMENT, deployment))?.spec?.selector ?? {};
      const labelSelector = Object.entries(matchLabels)
        .map(pair => pair.join('='))
        .join(',');
      const pods = await listAll(client, POD, {namespace: deployment.namespace, labelSelector});
      return pods.length === replicas && pods.every(isReady);
    },
    WAIT,
  );
}

function isReady({status}: Pod): boolean {
  return status?.conditions?.some(condition => condition.type === 'Ready' && condition.status === 'True') ?? false;
}

/** Kills the pod's processes and deletes the pod, so that another replaces it immediately, without a crash back-off. */
export async function kill(client: KubeClient, pod: KubeObject): Promise<void> {
  await killProcesses(pod);
  const {uid = '', namespace, name} = pod.metadata;
  await client.delete(POD, {namespace, name}, {preconditions: {uid}});
}

/** Sends SIGKILL to the pod's processes, which it finds on the node by the name of their cgroup. */
export async function killProcesses({metadata: {uid = '', name}}: KubeObject): Promise<void> {
  const pids = await processesOf(uid);
  if (pids.length === 0) throw new Error(`pod ${name} has no process on this node`);
  for (const pid of pids) process.kill(pid, 'SIGKILL');
}

async function processesOf(podUid: string): Promise<number[]> {
  const names = [podUid, podUid.replaceAll('-', '_')]; // as cgroupfs and systemd write it
  const numbers = (await readdir('/proc')).filter(entry => /^\d+$/.test(entry)).map(Number);
  const found: number[] = [];
  for (const pid of numbers) {
    const read = (file: string) => readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => ''); // it may have ended
    const cgroup = await read('cgroup');
    if (names.some(name => cgroup.includes(name)) && (await read('comm')).trim() !== 'pause') found.push(pid);
  }
  return found;
}
