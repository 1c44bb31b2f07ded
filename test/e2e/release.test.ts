/** What the chart installs besides the programs: its own test, and the backup of the messages. */
import {randomBytes} from 'node:crypto';
import {expect, it} from 'vitest';
import {RELEASE} from '../support/install.ts';
import {cluster} from './world.ts';

const {name, namespace} = RELEASE;

it('`helm test` finds both programs ready', async () => {
  expect(await cluster.helm('test', name, '--namespace', namespace)).toMatch(/Phase: +Succeeded/);
});

it('the backup of the messages runs while the API does, and its volume is bound before', async () => {
  const backup = `${name}-messages-backup`;
  const phase = ['get', 'persistentvolumeclaim', backup, '-n', namespace, '-o', 'jsonpath={.status.phase}'];
  expect(await cluster.kubectl(...phase)).toBe('Bound');
  const job = `backup-${randomBytes(3).toString('hex')}`;
  await cluster.kubectl('create', 'job', job, '-n', namespace, `--from=cronjob/${backup}`);
  await cluster.kubectl('wait', '--for=condition=Complete', '--timeout=120s', `job/${job}`, '-n', namespace);
});
