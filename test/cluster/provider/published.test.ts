import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {describe, expect, test} from 'vitest';
import {KIND, NODE, publishedImages} from './published.ts';

/** The version of a module in the go.mod of a tool. */
function versionIn(tool: string, module: string): string {
  const file = readFileSync(join(import.meta.dirname, '../programs', tool, 'go.mod'), 'utf8');
  const [, version] = new RegExp(`^\\s*${module} (v\\S+)`, 'm').exec(file) ?? [];
  if (version === undefined) throw new Error(`programs/${tool}/go.mod has no ${module}`);
  return version;
}

function minorOf(version: string): string {
  return version.split('.').slice(0, 2).join('.');
}

/** Fails if an image has no digest. */
function withoutDigests(images: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const digests = new Set(Object.values(images).map(image => /@sha256:[0-9a-f]{64}$/.exec(image)?.[0]));
  expect([...digests].filter(Boolean)).toHaveLength(Object.keys(images).length);
  return Object.fromEntries(Object.entries(images).map(([name, image]) => [name, image.replace(/@.*/, '')]));
}

describe('the published images', () => {
  test('have a node of the kind that is built, with the minor version of the Kubernetes that is built', () => {
    expect(versionIn('kind', 'sigs.k8s.io/kind')).toBe(KIND);
    const [, tag = ''] = /^kindest\/node:(v\S+)@sha256:[0-9a-f]{64}$/.exec(NODE) ?? [];
    for (const tool of ['kube', 'kubeadm']) {
      expect(minorOf(tag)).toBe(minorOf(versionIn(tool, 'k8s.io/kubernetes')));
    }
  });

  test('are those of the versions that are built', () => {
    const certManager = versionIn('certmanager', 'github.com/cert-manager/cert-manager');
    const shared = {
      'cert-manager-controller': `quay.io/jetstack/cert-manager-controller:${certManager}`,
      'cert-manager-webhook': `quay.io/jetstack/cert-manager-webhook:${certManager}`,
      'cert-manager-cainjector': `quay.io/jetstack/cert-manager-cainjector:${certManager}`,
      'cert-manager-acmesolver': `quay.io/jetstack/cert-manager-acmesolver:${certManager}`,
    };
    const traefik = `docker.io/library/traefik:${versionIn('traefik', 'github.com/traefik/traefik/v3')}`;
    expect(withoutDigests(publishedImages('traefik'))).toEqual({...shared, traefik});
    const gateway = `docker.io/envoyproxy/gateway:${versionIn('envoygateway', 'github.com/envoyproxy/gateway')}`;
    expect(withoutDigests(publishedImages('gateway'))).toEqual({...shared, 'envoy-gateway': gateway});
  });
});
