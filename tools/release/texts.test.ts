import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {describe, expect, test} from 'vitest';
import {fill, linked, publicationIn} from './texts.ts';

const URL = 'https://github.com/acme/nameplate/releases/download/v1.2.3';
const published = publicationIn({IMAGE_REPOSITORY: 'ghcr.io/acme/nameplate', RELEASE_URL: URL});

function filled(name: string, publication?: typeof published): string {
  const values = {VERSION: '1.2.3', DIGEST: 'sha256:12', CLI_SHA256: '34'};
  return fill(readFileSync(join(import.meta.dirname, name), 'utf8'), values, publication);
}

describe.each([
  ['install.head.yaml', 'nameplate:1.2.3, which is in no registry', 'ghcr.io/acme/nameplate@sha256:12.'],
  ['NOTES.md', 'is not signed, and it is in no registry', 'are signed with cosign'],
  ['RELEASE.md', '**2. Push the image to your registry**', `cosign verify-blob`],
  ['krew.yaml', 'uri: RELEASE_URL/nameplate-cli-1.2.3.tgz', `uri: ${URL}/nameplate-cli-1.2.3.tgz`],
])('%s', (name, onlyBuilt, onlyPublished) => {
  test('of a release that is only built does not promise what needs a code host', () => {
    expect(filled(name)).toContain(onlyBuilt);
    expect(filled(name)).not.toContain(onlyPublished);
    expect(filled(name)).not.toMatch(/\{\{|VERSION|DIGEST|IMAGE/);
  });

  test('of a published release says where and how', () => {
    expect(filled(name, published)).toContain(onlyPublished);
    expect(filled(name, published)).not.toContain(onlyBuilt);
    expect(filled(name, published)).not.toMatch(/\{\{|VERSION|DIGEST|IMAGE|_URL/);
  });
});

test('the README of a published release installs the image by the digest whose signature it checks', () => {
  const readme = filled('RELEASE.md', published).replace(/\\\n +/g, '');
  const identity = 'https://github.com/acme/nameplate/.github/workflows/release.yaml@refs/tags/v1.2.3';
  expect(readme).toContain(`    cosign verify ghcr.io/acme/nameplate@sha256:12 --certificate-identity ${identity} `);
  expect(readme).toMatch(/^ {4}helm install nameplate nameplate-1\.2\.3\.tgz .* --set image\.digest=sha256:12 /m);
  expect(readme).not.toMatch(/^ {4}helm install .*image\.repository/m);
  expect(filled('RELEASE.md')).toMatch(
    /--set image\.repository=REGISTRY\/nameplate \\\n +--set image\.digest=sha256:12/,
  );
});

test('links of the notes lead to the files of the tag', () => {
  const notes = '[one](docs/a.md#b), [two\n  lines](examples/c.yaml), [web](https://example.com/), [here](#d)';
  const files = 'https://github.com/acme/nameplate/blob/v1.2.3';
  expect(linked(notes, '1.2.3', published)).toBe(
    `[one](${files}/docs/a.md#b), [two\n  lines](${files}/examples/c.yaml), [web](https://example.com/), [here](#d)`,
  );
  expect(linked(notes, '1.2.3')).toBe(notes);
});

test('a release is published with an address for both the image and the files, or for none', () => {
  expect(publicationIn({})).toBeUndefined();
  const image = {IMAGE_REPOSITORY: 'ghcr.io/acme/nameplate'};
  expect(() => publicationIn(image)).toThrow('set both');
  const elsewhere = {...image, RELEASE_URL: 'https://example.com/files/v1.2.3'};
  expect(() => publicationIn(elsewhere), 'no address of a repository').toThrow('/releases/download/');
});
