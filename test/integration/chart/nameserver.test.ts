/** The name server of the ACME domain, as the chart installs it. */
import {describe, expect, test} from 'vitest';
import {namespace, objectsIn, type PodTemplate, useChart} from './chart-world.ts';

const world = useChart();
const {install, template, get, expectAdmitted} = world;
const ON = [
  '--set',
  'nameserver.enabled=true,nameserver.names={ns1.example.net,ns2.example.net},config.platform.acmeDomain=acme.example.net',
];

type Deployment = {readonly spec: {readonly replicas: number; readonly template: PodTemplate}};

describe('the name server', () => {
  test('is not there unless it is wanted', async () => {
    const named = async (...args: readonly string[]) =>
      objectsIn(await template(...args)).flatMap(({kind, metadata}) =>
        metadata.name.startsWith('nameplate-nameserver') ? [kind] : [],
      );
    expect(await named()).toEqual([]);
    expect((await named(...ON)).sort()).toEqual([
      'ClusterRole',
      'ClusterRoleBinding',
      'Deployment',
      'NetworkPolicy',
      'PodDisruptionBudget',
      'Service',
      'Service',
      'ServiceAccount',
    ]);
    const one = await named(...ON, '--set', 'nameserver.replicas=1,networkPolicy.enabled=false,rbac.create=false');
    expect(one.sort()).toEqual(['Deployment', 'Service', 'Service', 'ServiceAccount']);
  });

  test('runs pods that Pod Security "restricted" admits, with the zone of the configuration', async () => {
    await install(...ON);
    const {spec} = await get<Deployment>('deployment', 'nameplate-nameserver');
    expect(spec.replicas).toBe(2);
    await expectAdmitted('nameserver', spec.template);
    const args = ['--zone=acme.example.net', '--name-server=ns1.example.net', '--name-server=ns2.example.net'];
    expect(spec.template.spec).toMatchObject({serviceAccountName: 'nameplate-nameserver', containers: [{args}]});
  });

  // attack: name-server
  test('may list and watch the claims, and nothing else', async () => {
    await install(...ON);
    const user = `system:serviceaccount:${namespace}:nameplate-nameserver`;
    const may = async (verb: string, resource: string) =>
      (await world.server.kubectl('auth', 'can-i', verb, resource, '-A', '--as', user).catch(String)).includes('yes');
    for (const verb of ['list', 'watch']) expect(await may(verb, 'domainclaims.nameplate.dev')).toBe(true);
    for (const verb of ['get', 'update', 'patch', 'create', 'delete']) {
      expect(await may(verb, 'domainclaims.nameplate.dev')).toBe(false);
    }
    for (const resource of ['secrets', 'configmaps', 'pods', 'keyclaims.nameplate.dev', 'domains.nameplate.dev']) {
      expect(await may('list', resource)).toBe(false);
    }
  });

  test('has a public Service of both transports that keeps the senders’ addresses, and another one for metrics', async () => {
    const services = objectsIn(await template(...ON)).filter(({kind}) => kind === 'Service');
    const specOf = (name: string) => services.find(({metadata}) => metadata.name === name)?.spec;
    expect(specOf('nameplate-nameserver')).toMatchObject({
      type: 'LoadBalancer',
      externalTrafficPolicy: 'Local',
      ports: [
        {port: 53, targetPort: 'dns', protocol: 'UDP'},
        {port: 53, targetPort: 'dns-tcp', protocol: 'TCP'},
      ],
    });
    expect(specOf('nameplate-nameserver-metrics')).toMatchObject({ports: [{name: 'operations', port: 8081}]});
  });

  test.each([
    [['--set', 'nameserver.enabled=true'], /config\.platform\.acmeDomain is required/],
    [[...ON, '--set', 'nameserver.names=null'], /nameserver\.names is required/],
    [[...ON, '--set', 'config.platform.acmeDomain=Acme.example.net.'], /acmeDomain/],
  ])('%j is refused', async (args, message) => {
    await expect(template(...args)).rejects.toThrow(message);
  });
});
