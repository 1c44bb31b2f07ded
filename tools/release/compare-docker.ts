/**
 * Builds the Dockerfile with Docker, and compares the image with that of `make release`. Needs a Docker engine with
 * BuildKit, a registry, and `make bundle`. Passes its arguments to `docker build`:
 *
 *     node tools/release/compare-docker.ts --network host
 */
import {deepEqual} from 'node:assert/strict';
import {mkdtemp, readFile, rm, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {run} from '../../test/cluster/children.ts';
import {programEntries, readDockerfile, sha256} from './image.ts';
import {ARCHITECTURES, type Architecture} from './pins.ts';
import {runtimeEntries} from './runtime.ts';
import {readTar, withFolders, writeTar} from './tar.ts';

const repository = join(import.meta.dirname, '../..');
const config = readDockerfile(await readFile(join(repository, 'Dockerfile'), 'utf8'));

/** Types, modes, owners, sizes, and link targets as the system's tar reads them, and hashes, but no dates. */
async function listed(archive: string): Promise<string[]> {
  const lines = (await run(['tar', '--list', '--verbose', '--numeric-owner', '--file', archive])).split('\n');
  const files = readTar(await readFile(archive));
  const hashes = [...files].map(([path, {content}]) => `${path} ${content && sha256(content)}`);
  return [...lines.map(line => line.replace(/ +/g, ' ').replace(/ [\d-]+ [\d:]+ /, ' ')), ...hashes].sort();
}

async function compare(architecture: Architecture, folder: string): Promise<void> {
  const [theirs, ours] = [join(folder, 'docker.tar'), join(folder, 'release.tar')];
  const env = {...process.env, DOCKER_BUILDKIT: '1'};
  const build = async (...args: string[]) =>
    run(['docker', 'build', '--platform', `linux/${architecture}`, ...process.argv.slice(2), ...args, repository], {
      env,
    });
  await build('--output', `type=tar,dest=${theirs}`);
  const entries = [...(await runtimeEntries(architecture)), ...(await programEntries(repository))];
  await writeFile(ours, writeTar(withFolders(entries)));
  deepEqual(await listed(theirs), await listed(ours));
  const image = (await build('--quiet')).trim();
  const [inspected] = JSON.parse(await run(['docker', 'image', 'inspect', image]));
  const {User, Env, Entrypoint, Labels} = inspected.Config;
  deepEqual({User, Env: Env.sort(), Entrypoint, labels: Labels}, {...config, Env: config.Env.toSorted()});
  deepEqual(inspected.Architecture, architecture);
  console.log(
    `${architecture}: the same ${entries.length} files, folders, and links, user, environment, entry point, and labels`,
  );
}

const folder = await mkdtemp(join(tmpdir(), 'nameplate-docker-'));
try {
  for (const architecture of ARCHITECTURES) await compare(architecture, folder);
} finally {
  await rm(folder, {recursive: true});
}
