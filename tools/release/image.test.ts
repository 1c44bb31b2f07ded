import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, test} from 'vitest';
import {archive, type Image, readDockerfile, sha256} from './image.ts';
import pins from './pins.json' with {type: 'json'};
import {readTar} from './tar.ts';

const ROOT = join(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

test('the image is configured as the last stage of the Dockerfile says', () => {
  expect(readDockerfile(read('Dockerfile'))).toEqual({
    User: '65532:65532',
    Env: ['NODE_ENV=production', 'PATH=/usr/local/bin:/usr/bin:/bin'],
    Entrypoint: ['node', '--max-semi-space-size=4', '--no-parallel-scavenge', '/app/operator.mjs'],
    labels: {
      'org.opencontainers.image.title': 'Nameplate',
      'org.opencontainers.image.description': 'A Kubernetes operator for custom domains',
      'org.opencontainers.image.licenses': 'Apache-2.0',
    },
  });
});

test('the Dockerfile takes the architecture that Docker builds for, which a default would replace', () => {
  expect(read('Dockerfile')).toMatch(/^ARG TARGETARCH$/m);
});

test('the Node of the image is the one that runs the tests', () => {
  const {devDependencies} = JSON.parse(read('package.json')) as {devDependencies: Record<string, string>};
  expect(pins.node.version).toBe(devDependencies.node);
  expect(read('Dockerfile')).toContain(`node:${pins.node.version}-`);
});

function image(architecture: 'amd64' | 'arm64'): Image {
  const content = Buffer.from(architecture);
  const manifest = {
    mediaType: 'application/vnd.oci.image.manifest.v1+json',
    digest: sha256(content),
    size: content.length,
  };
  return {architecture, manifest, blobs: [{descriptor: manifest, content}]};
}

test('an archive of two images names an index of both, which has the digest that is returned', () => {
  const {content, digest} = archive([image('amd64'), image('arm64')], 'docker.io/library/nameplate:1.2.3');
  const files = readTar(content);
  const top = JSON.parse(`${files.get('index.json')?.content}`);
  expect(top.manifests).toMatchObject([
    {digest, annotations: {'io.containerd.image.name': 'docker.io/library/nameplate:1.2.3'}},
  ]);
  const index = files.get(`blobs/${digest.replace(':', '/')}`)?.content ?? Buffer.alloc(0);
  expect(sha256(index)).toBe(digest);
  const {manifests} = JSON.parse(`${index}`) as {manifests: {digest: string; platform: {architecture: string}}[]};
  expect(manifests.map(({platform}) => platform.architecture)).toEqual(['amd64', 'arm64']);
  for (const each of manifests) expect(files.has(`blobs/${each.digest.replace(':', '/')}`)).toBe(true);
});

test('an archive of one image names it without an index', () => {
  const {digest} = archive([image('arm64')], 'nameplate:test');
  expect(digest).toBe(image('arm64').manifest.digest);
});
