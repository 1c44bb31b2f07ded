import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {describe, expect, test} from 'vitest';
import {KIND, NODE, publishedImages} from './published.ts';

/** The version of a module in the go.mod of a tool. */
function versionIn(tool: string, module: string): string {
  const file = readFileSync(join(import.meta.dirname, '../../../tools', tool, 'go.mod'), 'utf8');
  const [, version] = new RegExp(`^\\s*${module} (v\\S+)`, 'm').exec(file) ?? [];
  if (version === undefined) throw new Error(`tools/${tool}/go.mod has no ${module}`);
  return version;
}

function minorOf(version: string): string {
  return version.split('.').slice(0, 2).join('.');
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
    const traefik = versionIn('traefik', 'github.com/traefik/traefik/v3');
    expect(publishedImages('traefik')).toEqual({...shared, traefik: `docker.io/library/traefik:${traefik}`});
    const gateway = versionIn('envoygateway', 'github.com/envoyproxy/gateway');
    expect(publishedImages('gateway')).toEqual({...shared, 'envoy-gateway': `docker.io/envoyproxy/gateway:${gateway}`});
  });
});
