/** The challenge responder, as the chart installs it. */
import {describe, expect, test} from 'vitest';
import {namespace, objectsIn, type PodTemplate, useChart} from './chart-world.ts';

const world = useChart();
const {install, template, get, expectAdmitted} = world;
const OFF = ['--set', 'challenges.enabled=false'];

type Deployment = {readonly spec: {readonly replicas: number; readonly template: PodTemplate}};

describe('the challenge responder', () => {
  test('is not there unless it is wanted; only its Service is, which the edge names', async () => {
    const named = async (...args: readonly string[]) =>
      objectsIn(await template(...args)).flatMap(({kind, metadata}) =>
        metadata.name === 'nameplate-challenges' && !kind.includes('Admission') ? [kind] : [],
      );
    expect(await named(...OFF)).toEqual(['Service']);
    expect((await named()).sort()).toEqual([
      'Deployment',
      'Ingress',
      'NetworkPolicy',
      'PodDisruptionBudget',
      'Service',
      'ServiceAccount',
    ]);
    const one = await named('--set', 'challenges.replicas=1,networkPolicy.enabled=false');
    expect(one.sort()).toEqual(['Deployment', 'Ingress', 'Service', 'ServiceAccount']);
  });

  test('runs pods that Pod Security "restricted" admits, without a token', async () => {
    await install('--set', 'challenges.replicas=3');
    const {spec} = await get<Deployment>('deployment', 'nameplate-challenges');
    expect(spec.replicas).toBe(3);
    await expectAdmitted('challenges', spec.template);
    expect(spec.template.spec).toMatchObject({
      serviceAccountName: 'nameplate-challenges',
      automountServiceAccountToken: false,
      volumes: [{name: 'thumbprint', configMap: {name: 'nameplate-challenges', optional: false}}],
    });
  });

  // attack: account-key, challenge-responder
  test('has no rights', async () => {
    await install();
    const user = `system:serviceaccount:${namespace}:nameplate-challenges`;
    const bindings = await world.server.kubectl('get', 'clusterrolebindings,rolebindings', '-A', '-o', 'json');
    expect(bindings).toContain('"nameplate"');
    expect(bindings).not.toContain('nameplate-challenges');
    const may = world.server.kubectl('auth', 'can-i', 'get', 'configmaps', '-n', namespace, '--as', user);
    await expect(may).rejects.toThrow(/no/);
  });

  test('has a Service with a fixed port, for its pods alone', async () => {
    const objects = objectsIn(await template());
    const service = objects.find(({kind, metadata}) => kind === 'Service' && metadata.name === 'nameplate-challenges');
    expect(service?.spec).toMatchObject({
      selector: {'app.kubernetes.io/component': 'challenges'},
      ports: [
        {name: 'http', port: 80, targetPort: 'http'},
        {name: 'operations', port: 8081, targetPort: 'operations'},
      ],
    });
  });
});
