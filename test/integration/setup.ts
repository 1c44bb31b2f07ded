/**
 * Runs before any worker starts, because a first build of the programs takes minutes, longer than a test's hook may.
 */
import {ensurePrograms, programSets} from '../cluster/programs.ts';

export async function setup(): Promise<void> {
  await ensurePrograms([
    ...programSets('traefik'),
    'gitops',
    'argocdcrds',
    'gitopscrds',
    'hcl',
    'stepca',
    'gatewayapinext',
    'cloudnativepg',
    'prometheusoperator',
  ]);
}
