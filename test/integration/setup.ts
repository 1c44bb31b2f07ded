/** Before any worker starts: a first build of the programs takes minutes, which no hook of a test may. */
import {ensurePrograms, programSets} from '../cluster/programs.ts';

export async function setup(): Promise<void> {
  await ensurePrograms([
    ...programSets('traefik'),
    'gitops',
    'argocdcrds',
    'gitopscrds',
    'gatewayapinext',
    'cloudnativepg',
  ]);
}
