/** The operator as users run it: a separate process, started from the source with a configuration file. */
import {writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import {build} from 'rolldown';
import {ONE_FILE} from '../../tools/bundle.config.ts';
import {type Child, failOnExit, startChild, tail} from '../cluster/children.ts';
import {freePorts} from '../cluster/free-ports.ts';
import {until} from '../cluster/wait.ts';
import {RELEASE} from './install.ts';
import {readJsonLines} from './json-lines.ts';

const SOURCE = join(import.meta.dirname, '../../src/bin/operator.ts');

export interface OperatorOptions {
  /** For its configuration file and its log. */
  readonly folder: string;
  /** Distinguishes several processes. */
  readonly name: string;
  /** The configuration file's content; `server.port` is set to a free one. */
  readonly config: Readonly<Record<string, unknown>>;
  /** The identity that it uses. */
  readonly kubeconfig: string;
  /** The port of health and metrics. Default: a free one. 0: not needed. */
  readonly port?: number;
  /** Arguments for Node: its flags and the file. Default: the source. */
  readonly program?: readonly string[];
}

export interface OperatorProcess {
  readonly name: string;
  /** The exit code, or the name of the signal that ended it. */
  readonly exited: Child['exited'];
  /** SIGTERM; resolves when it has ended. */
  stop(): Promise<void>;
  /** SIGKILL: it ends in the middle of whatever it is doing. */
  kill(): Promise<void>;
  /** SIGSTOP: it stands still, without noticing, until the returned function is called. */
  pause(): () => void;
  /** Whether /readyz reports ready. */
  ready(): Promise<boolean>;
  /** The body of /readyz. */
  readiness(): Promise<string>;
  /** The text of /metrics. */
  metrics(): Promise<string>;
  /** A metric in /metrics, summed over the labels that are not given; 0 if there is no sample. */
  metric(name: string, labels?: Readonly<Record<string, string>>): Promise<number>;
  /** The log's lines, parsed. Lines that are not JSON are left out. */
  log(): Promise<Record<string, unknown>[]>;
  readonly logFile: string;
  /** URL of health and metrics. */
  readonly address: string;
}

/**
 * Bundles the operator into one file, as it ships, and returns its path. As `program`, it starts several times faster
 * than the source. `clock`: the file of a module that takes the place of src/time/clock.ts.
 */
export async function bundleOperator(folder: string, clock?: string): Promise<string> {
  const file = join(folder, 'operator.mjs');
  const resolveId = (source: string) => (clock !== undefined && source.endsWith('/time/clock.ts') ? clock : undefined);
  const plugins = [{name: 'clock', resolveId}];
  await build({...ONE_FILE, plugins, input: SOURCE, output: {file, format: 'esm', codeSplitting: false}});
  return file;
}

/** Starts it and waits until its caches are synced. */
export async function startOperator(options: OperatorOptions): Promise<OperatorProcess> {
  const {child, ...operator} = await spawnOperator(options);
  const ready = until(`operator ${options.name} is ready`, operator.ready);
  await Promise.race([ready, failOnExit(child, operator.logFile)]);
  let isAsked = false;
  const asked = (end: () => Promise<void>) => () => {
    isAsked = true;
    return end();
  };
  // The next failing test would not mention this.
  void operator.exited.then(how => {
    if (!isAsked) console.error(`Operator ${options.name} ended by itself (${how}): ${tail(operator.logFile, 5)}`);
  });
  return {...operator, stop: asked(operator.stop), kill: asked(operator.kill)};
}

/** Starts it without waiting for readiness, for a process that is expected to fail. */
export async function spawnOperator(options: OperatorOptions): Promise<OperatorProcess & {readonly child: Child}> {
  const {folder, name, config, kubeconfig, program = [SOURCE]} = options;
  const {port = (await freePorts(1))[0]} = options;
  const configFile = join(folder, `${name}.json`);
  const logFile = join(folder, `${name}.log`);
  await writeFile(configFile, JSON.stringify({...config, server: {port}}, null, 2)); // JSON is YAML
  const argv = [process.execPath, ...program, '--config', configFile, '--kubeconfig', kubeconfig];
  const child = startChild(name, argv, {
    log: logFile,
    env: {...process.env, POD_NAME: name, POD_NAMESPACE: RELEASE.namespace},
  });
  const address = `http://127.0.0.1:${port}`;
  const metrics = async () => (await fetch(`${address}/metrics`)).text();
  return {
    name,
    child,
    logFile,
    address,
    exited: child.exited,
    stop: child.stop,
    kill: child.kill,
    pause: () => {
      process.kill(child.pid, 'SIGSTOP');
      return () => void process.kill(child.pid, 'SIGCONT');
    },
    ready: async () => (await fetch(`${address}/readyz`)).ok,
    readiness: async () => (await fetch(`${address}/readyz`)).text(),
    metrics,
    metric: async (metric, labels = {}) => sumOf(await metrics(), metric, labels),
    log: () => readJsonLines(logFile),
  };
}

/** The exposition format of Prometheus: `name{label="value",…} number`. */
function sumOf(text: string, metric: string, labels: Readonly<Record<string, string>>): number {
  const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
  const samples = text.split('\n').filter(line => line.startsWith(`${metric}{`) || line.startsWith(`${metric} `));
  const chosen = samples.filter(line => wanted.every(label => line.includes(label)));
  return chosen.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
}
