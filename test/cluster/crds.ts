import {until} from './wait.ts';

/**
 * Waits until the API server serves these CRDs, which `which` selects as in `kubectl get crd`. `kubectl wait` fails if
 * one of them has no conditions yet.
 */
export async function untilEstablished(
  kubectl: (...args: string[]) => Promise<string>,
  ...which: readonly string[]
): Promise<void> {
  const path = '{range .items[*]}[{.status.conditions[?(@.type=="Established")].status}]{end}';
  await until('the API server serves the CRDs', async () =>
    /^(\[True\])+$/.test(await kubectl('get', 'crd', ...which, '-o', `jsonpath=${path}`)),
  );
}
