import {readFile} from 'node:fs/promises';
import {ensurePrograms} from './programs.ts';
import {until} from './wait.ts';

type Kubectl = (...args: string[]) => Promise<string>;

/**
 * Waits until the API server serves these CRDs, which `which` selects as in `kubectl get crd`. `kubectl wait` fails if
 * one of them has no conditions yet.
 */
export async function untilEstablished(kubectl: Kubectl, ...which: readonly string[]): Promise<void> {
  const path = '{range .items[*]}[{.status.conditions[?(@.type=="Established")].status}]{end}';
  await until('the API server serves the CRDs', async () =>
    /^(\[True\])+$/.test(await kubectl('get', 'crd', ...which, '-o', `jsonpath=${path}`)),
  );
}

/** Installs the Prometheus operator's CRDs of the kinds in the chart. The operator itself does not run. */
export async function installPrometheusOperatorCrds(cluster: {
  apply(manifest: string): Promise<string>;
  kubectl: Kubectl;
}): Promise<void> {
  const programs = await ensurePrograms(['prometheusoperator']);
  for (const kind of ['ServiceMonitor', 'PrometheusRule']) {
    await cluster.apply(await readFile(programs.asset(kind), 'utf8'));
  }
  const names = ['servicemonitors', 'prometheusrules'].map(name => `${name}.monitoring.coreos.com`);
  await untilEstablished(cluster.kubectl, ...names);
}
