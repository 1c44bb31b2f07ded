/** Downloads Debian packages for any architecture with apt, which needs no root in its own folders. */
import {mkdir, mkdtemp, readdir, readFile, rm, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {run} from '../../test/cluster/children.ts';
import {requirePrograms} from './needed.ts';
import {ARCHITECTURES, SUITE} from './pins.ts';

export interface Apt extends AsyncDisposable {
  /** The files of the packages, in no particular order. Each of `specs` is NAME:ARCHITECTURE=VERSION. */
  download(specs: readonly string[]): Promise<Buffer[]>;
  /** A field of the newest version of NAME:ARCHITECTURE. */
  field(spec: string, field: string): Promise<string>;
}

/** Trusts any mirror, because systems other than Debian lack its keys. The caller compares a hash instead. */
export async function openApt(): Promise<Apt> {
  requirePrograms(['apt-get']);
  const root = await mkdtemp(join(tmpdir(), 'nameplate-apt-'));
  const sources = join(root, 'sources.list');
  await mkdir(join(root, 'lists/partial'), {recursive: true});
  await mkdir(join(root, 'archives/partial'), {recursive: true});
  await writeFile(join(root, 'status'), '');
  await writeFile(sources, `deb [arch=${ARCHITECTURES} trusted=yes] http://deb.debian.org/debian ${SUITE} main\n`);
  const settings = {
    'Dir::State': root,
    'Dir::State::status': join(root, 'status'),
    'Dir::Cache': root,
    'Dir::Etc::SourceList': sources,
    'Dir::Etc::SourceParts': '-',
    'APT::Architecture': ARCHITECTURES[0],
    'APT::Architectures': ARCHITECTURES.join(),
    'APT::Sandbox::User': '',
  };
  const options = Object.entries(settings).flatMap(([name, value]) => ['-o', `${name}=${value}`]);
  await run(['apt-get', ...options, 'update', '-qq']);
  return {
    async download(specs) {
      const folder = await mkdtemp(join(root, 'packages-'));
      await run(['apt-get', ...options, 'download', '-qq', ...specs], {cwd: folder});
      return Promise.all((await readdir(folder)).map(name => readFile(join(folder, name))));
    },
    async field(spec, field) {
      const text = await run(['apt-cache', ...options, 'show', '--no-all-versions', spec]);
      return new RegExp(`^${field}: (.*)$`, 'm').exec(text)?.[1] ?? '';
    },
    [Symbol.asyncDispose]: () => rm(root, {recursive: true}),
  };
}
