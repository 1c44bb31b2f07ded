/** Before any worker starts: a first build of the programs takes minutes, which no hook of a test may. */
import {allProgramSets, ensurePrograms} from '../cluster/programs.ts';

export async function setup(): Promise<void> {
  await ensurePrograms(allProgramSets());
}
