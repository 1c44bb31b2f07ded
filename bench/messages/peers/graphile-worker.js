/**
 * graphile-worker, used in the way that its users enqueue a job: one call of its SQL function and one commit per job.
 */
import {makeWorkerUtils} from 'graphile-worker';

const quiet = {scope: () => quiet, error: console.error, warn() {}, info() {}, debug() {}};

/** Creates its tables. Returns a function that resolves once the job is committed. */
export async function openQueue(connectionString, maxPoolSize) {
  const utils = await makeWorkerUtils({connectionString, maxPoolSize, logger: quiet});
  await utils.migrate();
  return payload => utils.addJob('message', payload);
}
