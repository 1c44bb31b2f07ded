/**
 * Packages the chart as `helm package` does, but with the same bytes each time, and with annotations for Artifact Hub.
 */
import {readdir, readFile, stat} from 'node:fs/promises';
import {join, relative} from 'node:path';
import {gzipSync} from 'node:zlib';
import {parse, stringify} from 'yaml';
import {changesOf} from './changelog.ts';
import {ARCHITECTURES} from './pins.ts';
import type {Source} from './source.ts';
import {type Entry, file, writeTar} from './tar.ts';
import {filesUrl, type Publication} from './texts.ts';

/** Sections of the changelog → kinds of https://artifacthub.io/docs/topics/annotations/helm */
const KINDS: Readonly<Record<string, string>> = {
  Security: 'security',
  Added: 'added',
  Changed: 'changed',
  Deprecated: 'deprecated',
  Removed: 'removed',
  Fixed: 'fixed',
};
/** The image's name in the chart's default values. */
const IMAGE = 'nameplate';
const EXAMPLES = ['project', 'domain', 'apikey'];

interface Crd {
  readonly spec: {
    readonly names: {readonly kind: string};
    readonly versions: readonly {
      readonly name: string;
      readonly schema: {readonly openAPIV3Schema: {readonly description?: string}};
    }[];
  };
}

/**
 * The addresses of a publication become default values. Without one, a user pushes the image, and the alerts name the
 * files of their runbooks.
 */
export async function packageChart(source: Source, publication?: Publication): Promise<Buffer> {
  const root = join(source.repository, 'charts/nameplate');
  const paths = (await filesIn(root)).sort();
  const entries = await Promise.all(
    paths.map(async path => file(`nameplate/${path}`, await contentOf(join(root, path), path, source, publication))),
  );
  entries.push(file('nameplate/LICENSE', await readFile(join(source.repository, 'LICENSE'))));
  return gzipSync(writeTar(sorted(entries), source.epoch), {level: 9});
}

/** Helm reads Chart.yaml first. */
function sorted(entries: readonly Entry[]): Entry[] {
  const rank = ({path}: Entry) => (path.endsWith('/Chart.yaml') ? '' : path);
  return entries.toSorted((a, b) => (rank(a) < rank(b) ? -1 : 1));
}

/** Follows links to folders, as Helm does. */
async function filesIn(root: string, folder = root): Promise<string[]> {
  const paths = (await readdir(folder)).filter(name => name !== '.helmignore').map(name => join(folder, name));
  const nested = paths.map(async path =>
    (await stat(path)).isDirectory() ? filesIn(root, path) : [relative(root, path)],
  );
  return (await Promise.all(nested)).flat();
}

async function contentOf(
  from: string,
  path: string,
  source: Source,
  publication?: Publication,
): Promise<Buffer | string> {
  const content = await readFile(from);
  if (path === 'Chart.yaml') return chartYaml(content.toString(), source, publication?.image ?? IMAGE);
  if (path === 'values.yaml' && publication) {
    const runbooks = `${filesUrl(publication, source.version)}/docs/runbooks`;
    const values = replaceOne(`${content}`, `repository: ${IMAGE}\n`, `repository: ${publication.image}\n`);
    return replaceOne(values, "runbookUrl: ''\n", `runbookUrl: ${runbooks}\n`);
  }
  if (path !== 'README.md') return content;
  const readme = replaceOne(`${content}`, 'nameplate-VERSION.tgz', `nameplate-${source.version}.tgz`);
  return publication ? replaceOne(readme, 'REGISTRY/nameplate', publication.image) : readme;
}

function replaceOne(text: string, from: string, to: string): string {
  if (text.split(from).length !== 2) throw new Error(`the chart must contain "${from}" once`);
  return text.replace(from, to);
}

async function chartYaml(text: string, source: Source, repository: string): Promise<string> {
  const chart = parse(text) as Record<string, unknown>;
  if (chart.version !== source.version || chart.appVersion !== source.version) {
    throw new Error(
      `Chart.yaml has version ${chart.version} and appVersion ${chart.appVersion}, not ${source.version}`,
    );
  }
  const read = (path: string) => readFile(join(source.repository, path));
  const icon = `data:image/svg+xml;base64,${(await read('charts/nameplate/icon.svg')).toString('base64')}`;
  return stringify(
    {...chart, icon, annotations: await annotations(source, `${repository}:${source.version}`)},
    {lineWidth: 0},
  );
}

async function annotations({repository, version}: Source, image: string): Promise<Record<string, string>> {
  const read = (path: string) => readFile(join(repository, path), 'utf8');
  const {entries} = changesOf(await read('CHANGELOG.md'), version);
  const changes = [...entries].flatMap(([heading, items]) => {
    const kind = KINDS[heading];
    return kind ? items.map(description => ({kind, description})) : []; // Upgrade is part of the release notes
  });
  const crds = (await readdir(join(repository, 'crds'))).sort().map(async name => {
    const {spec} = parse(await read(`crds/${name}`)) as Crd;
    return spec.versions.map(each => ({
      kind: spec.names.kind,
      version: each.name,
      name: name.replace(/\.yaml$/, ''),
      displayName: spec.names.kind,
      description: each.schema.openAPIV3Schema.description ?? '',
    }));
  });
  const examples = await Promise.all(EXAMPLES.map(name => read(`examples/${name}.yaml`)));
  const own = examples
    .flatMap(text => text.split(/^---\n/m))
    .filter(text => text.includes('\napiVersion: nameplate.dev/') || text.startsWith('apiVersion: nameplate.dev/'));
  const platforms = ARCHITECTURES.map(name => `linux/${name}`);
  const values = {
    changes,
    crds: (await Promise.all(crds)).flat(),
    crdsExamples: own.map(text => parse(text)),
    images: [{name: 'nameplate', image, platforms}],
  };
  return {
    'artifacthub.io/license': 'Apache-2.0',
    'artifacthub.io/operator': 'true',
    'artifacthub.io/containsSecurityUpdates': String(entries.has('Security')),
    ...Object.fromEntries(Object.entries(values).map(([name, value]) => [`artifacthub.io/${name}`, stringify(value)])),
  };
}
