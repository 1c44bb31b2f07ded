/** The console, as the chart installs it. */
import {describe, expect, test} from 'vitest';
import {objectsIn, type PodTemplate, useChart} from './chart-world.ts';

const world = useChart();
const {install, template, get, expectAdmitted} = world;
interface Deployment {
  readonly spec: {readonly template: PodTemplate};
}

const ON = [
  '--set',
  'console.enabled=true,console.host=console.example.com,console.oidc.issuer=https://id.example.net',
  '--set',
  'console.certificate.existingSecret=console-tls',
];

describe('the console', () => {
  test('is not there unless it is wanted', async () => {
    const named = async (...args: readonly string[]) =>
      objectsIn(await template(...args)).flatMap(({kind, metadata}) =>
        metadata.name.startsWith('nameplate-console') ? [`${kind} ${metadata.name}`] : [],
      );
    expect(await named()).toEqual([]);
    expect((await named(...ON)).sort()).toEqual([
      'ClusterRole nameplate-console-owner',
      'ClusterRole nameplate-console-platform',
      'ConfigMap nameplate-console',
      'Deployment nameplate-console',
      'Ingress nameplate-console',
      'NetworkPolicy nameplate-console',
      'Service nameplate-console',
      'ServiceAccount nameplate-console',
    ]);
  });

  test('runs a pod that Pod Security "restricted" admits, without a token, and never two', async () => {
    await install(...ON);
    const {spec} = await get<Deployment>('deployment', 'nameplate-console');
    expect(spec).toMatchObject({replicas: 1, strategy: {type: 'Recreate'}});
    const pod = spec.template;
    await expectAdmitted('console', pod);
    expect(pod.spec).toMatchObject({serviceAccountName: 'nameplate-console', automountServiceAccountToken: false});
    expect(JSON.stringify(pod)).not.toContain('serviceAccountToken');
  });

  // attack: console-rights
  test('has no rights', async () => {
    const objects = objectsIn(await template(...ON));
    const bindings = objects.filter(({kind}) => kind.endsWith('Binding'));
    expect(JSON.stringify(bindings)).toContain('"nameplate"');
    expect(JSON.stringify(bindings)).not.toContain('nameplate-console');
  });

  test('reserves its host, and has one outside the base domain', async () => {
    const config = objectsIn(await template(...ON)).find(
      ({kind, metadata}) => kind === 'ConfigMap' && metadata.name === 'nameplate',
    );
    expect(JSON.stringify(config)).toContain('console.example.com');
    for (const host of ['apps.example.com', 'console.apps.example.com']) {
      const below = template(...ON, '--set', `config.platform.baseDomain=apps.example.com,console.host=${host}`);
      await expect(below).rejects.toThrow(/console\.host is below config\.platform\.baseDomain/);
    }
  });
});
