import type {Counter, Gauge, Histogram, Registry} from 'prom-client';
import {metricsIn, perRegistry} from '../../operations/metrics.ts';
import {CpuShares} from './cpu-shares.ts';

/** The names are those of controller-runtime and client-go, which dashboards know. */
export interface ControllerMetrics {
  readonly reconciles: Counter<'controller' | 'result'>;
  readonly errors: Counter<'controller'>;
  readonly panics: Counter<'controller'>;
  readonly failingKeys: Gauge<'controller' | 'kind'>;
  readonly reconcileSeconds: Histogram<'controller'>;
  readonly maxWorkers: Gauge<'controller'>;
  readonly adds: Counter<QueueLabel>;
  readonly retries: Counter<QueueLabel>;
  readonly queueSeconds: Histogram<QueueLabel>;
  readonly workSeconds: Histogram<QueueLabel>;
  /** The activity of each controller, by its name; read when metrics are collected, because it changes with every key. */
  readonly loads: Map<string, () => ControllerLoad>;
  readonly cpu: CpuShares;
}

interface ControllerLoad {
  /** How many keys wait. */
  readonly depth: number;
  /** How many seconds each running reconcile has taken. */
  readonly runningSeconds: readonly number[];
}

/** Both hold the name of the controller: dashboards use one or the other. */
type QueueLabel = 'name' | 'controller';
export const queueLabels = (name: string) => ({name, controller: name});

/** One set per registry. The first call creates it. */
export const controllerMetrics = perRegistry(createControllerMetrics);

const SECONDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

function createControllerMetrics(registry: Registry): ControllerMetrics {
  const {counter, gauge, histogram, readings, totals} = metricsIn(registry);
  const cpu = new CpuShares();
  const loads: ControllerMetrics['loads'] = new Map();
  const ofLoads = <Label extends string>(
    name: string,
    help: string,
    labelsOf: (controller: string) => Record<Label, string>,
    figureOf: (load: ControllerLoad) => number,
  ) =>
    readings(name, help, Object.keys(labelsOf('')) as Label[], () =>
      loads.entries().map(([controller, load]) => [labelsOf(controller), figureOf(load())]),
    );
  ofLoads('workqueue_depth', 'Keys waiting now.', queueLabels, ({depth}) => depth);
  ofLoads(
    'workqueue_unfinished_work_seconds',
    'Sum of the times that running reconciles have taken.',
    queueLabels,
    ({runningSeconds}) => runningSeconds.reduce((sum, each) => sum + each, 0),
  );
  ofLoads(
    'workqueue_longest_running_processor_seconds',
    'How long the longest-running reconcile has taken.',
    queueLabels,
    ({runningSeconds}) => Math.max(0, ...runningSeconds),
  );
  ofLoads(
    'controller_runtime_active_workers',
    'Workers busy now.',
    controller => ({controller}),
    ({runningSeconds}) => runningSeconds.length,
  );
  totals(
    'controller_cpu_seconds_total',
    'CPU time of the process during the reconciles of a controller, shared with others that ran at the same time.',
    ['controller'],
    () =>
      cpu
        .read()
        .entries()
        .map(([controller, seconds]) => [{controller}, seconds]),
  );
  return {
    loads,
    cpu,
    reconciles: counter(
      'controller_runtime_reconcile_total',
      'Reconciles by controller and result.',
      'controller',
      'result',
    ),
    errors: counter('controller_runtime_reconcile_errors_total', 'Reconciles that failed.', 'controller'),
    panics: counter(
      'controller_runtime_reconcile_panics_total',
      'Reconciles that threw a TypeError or the like.',
      'controller',
    ),
    failingKeys: gauge(
      'controller_failing_keys',
      'Keys whose reconciles have failed for more than five minutes, by kind: refusal, outage, race, fenced, unknown.',
      'controller',
      'kind',
    ),
    reconcileSeconds: histogram(
      SECONDS,
      'controller_runtime_reconcile_time_seconds',
      'Length of a reconcile.',
      'controller',
    ),
    maxWorkers: gauge('controller_runtime_max_concurrent_reconciles', 'Workers there are.', 'controller'),
    adds: counter('workqueue_adds_total', 'Keys added.', 'name', 'controller'),
    retries: counter('workqueue_retries_total', 'Keys added again after a failure.', 'name', 'controller'),
    queueSeconds: histogram(
      SECONDS,
      'workqueue_queue_duration_seconds',
      'How long a key waited for a worker.',
      'name',
      'controller',
    ),
    workSeconds: histogram(
      SECONDS,
      'workqueue_work_duration_seconds',
      'How long a worker had a key.',
      'name',
      'controller',
    ),
  };
}
