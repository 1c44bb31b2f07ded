/** The program around the controller: `node program.ts [KUBECONFIG]`. */
import {hostname} from 'node:os';
import {pino} from 'pino';
import {Registry} from 'prom-client';
import {systemClock} from '../../base/clock.ts';
import {createManager} from '../controller/manager.ts';
import {createKubeClient} from '../kube/http-client.ts';
import {addTeamController} from './controller.ts';

const [kubeconfig] = process.argv.slice(2);
const common = {logger: pino(), registry: new Registry()};
const client = createKubeClient({
  ...common,
  kubeconfig,
  userAgent: 'team-controller',
  fieldManager: 'team-controller',
});
const manager = createManager({
  ...common,
  client,
  clock: systemClock,
  identity: hostname(),
  reportingController: 'example.dev/team-controller',
  leaderElection: {lease: {namespace: 'default', name: 'team-controller'}},
});
addTeamController(manager);

const stop = new AbortController();
process.once('SIGTERM', () => stop.abort());
const end = await manager.start(stop.signal);
await client.close();
process.exitCode = end.reason === 'shutdown' ? 0 : 1;
