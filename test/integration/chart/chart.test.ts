/** The chart, installed by Helm into a real API server. No pod runs here; the tests on the full cluster do that. */
import {cp, readFile, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import {beforeAll, describe, expect, test} from 'vitest';
import {parse, parseAllDocuments} from 'yaml';
import {parseConfig} from '../../../src/config/load-config.ts';
import type {OperatorConfig} from '../../../src/operator/config/config.ts';
import {operatorConfigDefinition} from '../../../src/operator/config/schema.ts';
import type {KubeObject} from '../../../src/runtime/kube/object.ts';
import {run} from '../../cluster/children.ts';
import {installPrometheusOperatorCrds, untilEstablished} from '../../cluster/crds.ts';
import {ensurePrograms} from '../../cluster/programs.ts';
import {until} from '../../cluster/wait.ts';
import {chart, claimsOf, enabled, namespace, objectsIn, podsIn, release, root, useChart} from './chart-world.ts';

const world = useChart();
const {helm, install, template, get, expectAdmitted} = world;

describe('an installation', () => {
  let notes: string;

  beforeAll(async () => {
    notes = await install();
  });

  test('says what to do next', () => {
    expect(notes).toContain('*.apps.example.net');
    expect(notes).toContain('*.edge.example.net');
    expect(notes).toContain('kubectl label namespace NAMESPACE nameplate.dev/plan=pro');
    expect(notes).toContain('kubectl get projects,domains');
  });

  test('says that the policies reject nothing in audit mode', async () => {
    expect(notes).not.toContain('WARNING');
    const audited = await install('--set', 'admission.mode=audit', '--dry-run=server');
    expect(audited).toContain('tenants can serve hosts that\nthey do not hold, and get certificates for them');
    const bindings = audited.split(/^---$/m).filter(text => text.includes('kind: ValidatingAdmissionPolicyBinding'));
    expect(bindings.length).toBeGreaterThan(5);
    for (const binding of bindings) expect(binding).toContain('validationActions: [Audit, Warn]');
  });

  test('gives the operator a configuration that it accepts', async () => {
    const {data} = await get<{data: Record<string, string>}>('configmap', 'nameplate');
    const config = parseConfig<OperatorConfig>(
      data['nameplate.yaml'] ?? '',
      'nameplate.yaml',
      operatorConfigDefinition,
    );
    expect(config).toMatchObject({
      platform: {baseDomain: 'apps.example.net', keySecret: {name: 'nameplate-platform-key', key: 'platform.key'}},
      controller: {leaderElection: {leaseName: 'nameplate', namespace}},
    });
  });

  test('gives the operator and its Lease a place of their own in the queues of the API server', async () => {
    const kubectl = (await ensurePrograms(['kube'])).path('kubectl');
    const kubeconfig = await world.server.kubeconfigFor(namespace, 'nameplate');
    const schemaOf = async (...read: readonly string[]) => {
      const command = [kubectl, '--kubeconfig', kubeconfig, '-v=8', 'get', ...read].join(' ');
      const log = await run(['sh', '-c', `${command} 2>&1 || true`]);
      return /X-Kubernetes-Pf-Flowschema-Uid: ([0-9a-f-]+)/i.exec(log)?.[1];
    };
    for (const [name, read] of [
      ['nameplate', ['domainclaims']],
      ['nameplate-leader-election', ['lease', 'nameplate', '-n', namespace]],
    ] as const) {
      const uid = await world.server.kubectl('get', 'flowschema', name, '-o', 'jsonpath={.metadata.uid}');
      await until(`the operator is in FlowSchema ${name}`, async () => (await schemaOf(...read)) === uid);
    }
    expect(await template('--set', 'flowControl.enabled=false')).not.toContain('FlowSchema');
  });

  test('has no policy for its own kinds if that is disabled', async () => {
    const policy = 'name: nameplate-own-kinds';
    expect(await template()).toContain(policy);
    expect(await template('--set', 'admission.ownKinds.enabled=false')).not.toContain(policy);
  });

  test('runs pods that Pod Security "restricted" admits', async () => {
    const {spec} = await get<{spec: {template: {metadata: object; spec: object}}}>('deployment', 'nameplate');
    const pod = {apiVersion: 'v1', kind: 'Pod', ...spec.template};
    const file = join(world.folder, 'pod.json');
    await writeFile(file, JSON.stringify({...pod, metadata: {...pod.metadata, name: 'operator', namespace}}));
    await expect(world.server.kubectl('create', '--dry-run=server', '-f', file)).resolves.toContain(
      'pod/operator created',
    );
  });

  test('serves the kinds that users apply', async () => {
    await untilEstablished(world.server.kubectl, '-l', 'helm.sh/chart');
    await world.server.kubectl('apply', '-f', join(root, 'examples/tenant.yaml'));
    for (const example of ['project.yaml', 'domain.yaml', 'apikey.yaml']) {
      await world.server.kubectl('apply', '--dry-run=server', '-n', 'acme-shop', '-f', join(root, 'examples', example));
    }
  });

  test('an upgrade rolls the pods when the configuration changes', async () => {
    const checksum = async () => {
      const {spec} = await get<{spec: {template: {metadata: {annotations: Record<string, string>}}}}>(
        'deployment',
        'nameplate',
      );
      return spec.template.metadata.annotations['checksum/config'];
    };
    const before = await checksum();
    await install();
    expect(await checksum()).toBe(before);
    await install('--set', 'config.log.level=debug');
    expect(await checksum()).not.toBe(before);
  });

  test.each([[[]], [enabled]])('renders the same bytes each time, and no key %j', async args => {
    const rendered = await template(...args);
    expect(await template(...args)).toBe(rendered);
    expect(rendered).not.toMatch(/^kind: Secret$/m);
  });

  test('an upgrade upgrades the CRDs, from a packaged chart too', async () => {
    const copy = join(world.folder, 'nameplate');
    await cp(chart, copy, {recursive: true, dereference: true});
    const crd = join(copy, 'files/crds/projects.nameplate.dev.yaml');
    await writeFile(crd, (await readFile(crd, 'utf8')).replace('shortNames: [proj]', 'shortNames: [newer]'));
    await helm('package', copy, '--destination', world.folder);
    const archive = join(world.folder, 'nameplate-0.2.0.tgz');
    await helm('upgrade', 'nameplate', archive, ...release.slice(2));
    const shortNames = () =>
      world.server.kubectl('get', 'crd', 'projects.nameplate.dev', '-o', 'jsonpath={.spec.names.shortNames[*]}');
    expect(await shortNames()).toBe('newer');
    await helm('package', chart, '--destination', world.folder);
    await helm('upgrade', 'nameplate', archive, ...release.slice(2));
    expect(await shortNames()).toBe('proj');
  });

  test('uninstalling keeps the CRDs and what tenants created; installing again finds them', async () => {
    await world.server.kubectl('apply', '-n', 'acme-shop', '-f', join(root, 'examples/project.yaml'));
    await helm('uninstall', 'nameplate', '--namespace', namespace);
    await expect(world.server.kubectl('get', 'deployment,configmap', 'nameplate', '-n', namespace)).rejects.toThrow(
      /not found/,
    );
    await expect(world.server.kubectl('get', 'project', 'shop', '-n', 'acme-shop')).resolves.toContain('shop');
    await install();
  });
});

describe('rights', () => {
  const operator = `system:serviceaccount:${namespace}:nameplate`;

  beforeAll(async () => {
    await install();
    await world.server.kubectl('create', 'namespace', 'tenant');
    await world.server.kubectl(
      'create',
      'rolebinding',
      'tenant',
      '--clusterrole=edit',
      '--user=tenant',
      '-n',
      'tenant',
    );
    const granted = async () => (await allowed('tenant', 'tenant', 'create nameplate.dev domains')) === 'yes';
    await until('the role edit includes ours', granted);
  });

  test.each([
    ['patch nameplate.dev projects', 'yes'],
    ['patch nameplate.dev projects/status', 'yes'],
    ['patch nameplate.dev domains/status', 'yes'],
    ['patch nameplate.dev domains', 'yes'],
    ['update nameplate.dev domains', 'no'],
    ['patch nameplate.dev acmeissuers/status', 'yes'],
    ['create nameplate.dev acmeissuers', 'no'],
    ['update nameplate.dev domainclaims', 'yes'],
    ['patch nameplate.dev domainclaims', 'no'],
    ['create nameplate.dev projects', 'no'],
    ['delete nameplate.dev projects', 'no'],
    ['create cert-manager.io certificates', 'yes'],
    ['patch cert-manager.io certificates/status', 'yes'],
    ['create acme.cert-manager.io orders', 'no'],
    ['create acme.cert-manager.io challenges', 'no'],
    ['patch cert-manager.io clusterissuers', 'no'],
    ['patch nameplate.dev apikeys/status', 'yes'],
    ['create nameplate.dev apikeys', 'no'],
    ['patch nameplate.dev apikeys', 'no'],
    ['get nameplate.dev apikeys', 'yes'],
    ['update nameplate.dev keyclaims', 'yes'],
    ['patch nameplate.dev keyclaims', 'no'],
    ['patch core services', 'yes'],
    ['update core services', 'no'],
    ['patch core endpoints', 'no'],
    ['create discovery.k8s.io endpointslices', 'no'],
    ['approve cert-manager.io signers clusterissuers.cert-manager.io/*', 'yes'],
    ['approve cert-manager.io signers issuers.other.example/*', 'no'],
    ['manage nameplate.dev routes', 'yes'],
    ['assign nameplate.dev plans', 'no'],
    ['get core secrets', 'yes'],
    ['create core secrets', 'yes'],
    ['update core secrets', 'no'],
    ['create core pods', 'no'],
    ['update coordination.k8s.io leases nameplate', 'no'],
  ])("in a tenant's namespace, may the operator %s? %s", async (right, want) => {
    expect(await allowed(operator, 'tenant', right)).toBe(want);
  });

  test.each([
    ['update coordination.k8s.io leases nameplate', 'yes'],
    ['update coordination.k8s.io leases other', 'no'],
    ['get core configmaps', 'no'],
  ])('in its own namespace, may the operator %s? %s', async (right, want) => {
    expect(await allowed(operator, namespace, right)).toBe(want);
  });

  test.each([
    ['create nameplate.dev domains', 'yes'],
    ['delete nameplate.dev projects', 'yes'],
    ['patch nameplate.dev domains/status', 'no'],
    ['create nameplate.dev apikeys', 'yes'],
    ['patch nameplate.dev apikeys/status', 'no'],
    ['get nameplate.dev domainclaims', 'no'],
    ['update nameplate.dev domainclaims', 'no'],
    ['get nameplate.dev keyclaims', 'no'],
    ['update nameplate.dev keyclaims', 'no'],
  ])('with the role edit, may a tenant %s? %s', async (right, want) => {
    expect(await allowed('tenant', 'tenant', right)).toBe(want);
  });
});

describe('the messages API', () => {
  const user = `system:serviceaccount:${namespace}:nameplate-messages`;

  beforeAll(async () => {
    // Leaves out the Certificate, because cert-manager is not installed here.
    await install(...enabled, '--set', 'messages.ingress.enabled=false');
  });

  test.each([
    ['list nameplate.dev keyclaims', 'yes'],
    ['watch nameplate.dev keyclaims', 'yes'],
    ['create nameplate.dev keyclaims', 'no'],
    ['update nameplate.dev keyclaims', 'no'],
    ['list nameplate.dev apikeys', 'no'],
    ['patch nameplate.dev apikeys/status', 'no'],
    ['update nameplate.dev apikeys', 'no'],
    ['list nameplate.dev projects', 'no'],
    ['get core secrets', 'no'],
    ['get core secrets shop-apikey', 'no'],
    ['list core secrets', 'no'],
    ['watch core secrets', 'no'],
    ['create core secrets', 'no'],
    ['create core pods', 'no'],
    ['create core serviceaccounts/token', 'no'],
  ])('may it %s? %s', async (right, want) => {
    expect(await allowed(user, 'tenant', right)).toBe(want);
    expect(await allowed(user, namespace, right)).toBe(want);
  });

  test('runs a pod that Pod Security "restricted" admits', async () => {
    const {spec} = await get<{spec: {template: {metadata: object; spec: {volumes: object[]}}}}>(
      'statefulset',
      'nameplate-messages',
    );
    const {template} = spec;
    const volumes = [...template.spec.volumes, {name: 'messages', persistentVolumeClaim: {claimName: 'messages'}}];
    const metadata = {...template.metadata, name: 'messages', namespace};
    const file = join(world.folder, 'messages-pod.json');
    await writeFile(file, JSON.stringify({apiVersion: 'v1', kind: 'Pod', metadata, spec: {...template.spec, volumes}}));
    await expect(world.server.kubectl('create', '--dry-run=server', '-f', file)).resolves.toContain(
      'pod/messages created',
    );
  });

  test('has a host that no tenant may have', async () => {
    const {data} = await get<{data: Record<string, string>}>('configmap', 'nameplate');
    const {platform} = parse(data['nameplate.yaml'] ?? '') as OperatorConfig;
    expect(platform.reservedHosts).toEqual(['example.net', 'api.example.test']);
  });

  test('finds ports and folder in its configuration in addition to what was set', async () => {
    const {data} = await get<{data: Record<string, string>}>('configmap', 'nameplate-messages');
    expect(parse(data['messages.yaml'] ?? '')).toMatchObject({
      server: {port: 8080},
      operations: {port: 8081},
      store: {folder: '/var/lib/nameplate-messages'},
    });
  });

  test('keeps its volume when it is uninstalled, and is reachable only by https', async () => {
    const rendered = await template(...enabled);
    expect(rendered).toContain('persistentVolumeClaimRetentionPolicy: {whenDeleted: Retain, whenScaled: Retain}');
    const ingresses = rendered
      .split(/^---$/m)
      .filter(text => /^kind: Ingress$/m.test(text) && /^ {2}name: nameplate-messages$/m.test(text));
    expect(ingresses).toHaveLength(1);
    expect(ingresses[0]).toContain('traefik.ingress.kubernetes.io/router.entrypoints: websecure');
    expect(ingresses[0]).toContain('secretName: nameplate-messages-tls');
    expect(rendered).toMatch(/kind: Certificate\n[\s\S]*dnsNames: \[api.example.test\]/);
  });

  test('is on the Gateway if the hosts are, unless an IngressClass is named', async () => {
    const gateway =
      'config.routing.provider=gateway,config.routing.gateway.namespace=edge,config.routing.gateway.name=g';
    const onGateway = await template(...enabled, '--set', gateway);
    expect(onGateway).not.toMatch(/^kind: Ingress$/m);
    const objects = parseAllDocuments(onGateway).map(document => document.toJS() as KubeObject | null);
    const named = (kind: string) =>
      objects.find(object => object?.kind === kind && /^nameplate-messages(-tls)?$/.test(object.metadata.name));
    const tls = {certificateRefs: [{name: 'nameplate-messages-tls'}]};
    expect(named('ListenerSet')).toMatchObject({
      metadata: {name: 'nameplate-messages'},
      spec: {
        parentRef: {kind: 'Gateway', namespace: 'edge', name: 'g'},
        listeners: [{name: 'https', port: 443, protocol: 'HTTPS', hostname: 'api.example.test', tls}],
      },
    });
    expect(named('HTTPRoute')).toMatchObject({
      spec: {
        parentRefs: [{kind: 'ListenerSet', name: 'nameplate-messages', sectionName: 'https'}], // and not on port 80
        hostnames: ['api.example.test'],
        rules: [{backendRefs: [{name: 'nameplate-messages', port: 80}]}],
      },
    });
    expect(named('Certificate')).toMatchObject({spec: {secretName: 'nameplate-messages-tls'}});
    const onIngress = await template(...enabled, '--set', `${gateway},messages.ingress.className=nginx`);
    expect(onIngress).toContain('ingressClassName: nginx');
    expect(onIngress).not.toMatch(/^kind: ListenerSet$/m);
    const onBoth = await template(...enabled, '--set', `${gateway},config.routing.movingFrom=traefik`);
    for (const kind of ['Ingress', 'ListenerSet']) expect(onBoth).toMatch(new RegExp(`^kind: ${kind}$`, 'm'));
  });

  test('is not there unless it is wanted', async () => {
    expect(await template()).not.toMatch(/component: messages/);
  });

  test("has names that a StatefulSet can give its pods, however long the release's name", async () => {
    const rendered = await template(...enabled, '--set', `fullnameOverride=${'a'.repeat(52)}`);
    const [, name = ''] = /kind: StatefulSet\nmetadata:\n {2}name: (\S+)/.exec(rendered) ?? [];
    // The label controller-revision-hash consists of the name and up to 11 characters, and may have 63.
    expect(name).toMatch(/^a+-messages$/);
    expect(name.length).toBeLessThanOrEqual(52);
  });
});

interface Section {
  readonly properties?: Readonly<Record<string, Section>>;
  readonly required?: readonly string[];
}

/** The paths of all values that have values of their own, or that templates cannot do without. */
function sectionsOf({properties = {}, required = []}: Section, path: readonly string[] = []): string[] {
  return Object.entries(properties).flatMap(([name, section]) => {
    const isNeeded = section.properties || required.includes(name);
    return [...(isNeeded ? [[...path, name].join('.')] : []), ...sectionsOf(section, [...path, name])];
  });
}

/** `right`: verb, group, resource with or without subresource, and the name of an object if it matters. */
async function allowed(user: string, where: string, right: string): Promise<'yes' | 'no'> {
  const [verb, group, kind = '', name] = right.split(' ');
  const [resource, subresource] = kind.split('/');
  const file = join(world.folder, `review-${user.replaceAll(':', '-')}-${right.replaceAll(/[ /]/g, '-')}.json`);
  const review = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SubjectAccessReview',
    spec: {
      user,
      groups: user.startsWith('system:serviceaccount:') ? ['system:serviceaccounts', 'system:authenticated'] : [],
      resourceAttributes: {verb, group: group === 'core' ? '' : group, resource, subresource, name, namespace: where},
    },
  };
  await writeFile(file, JSON.stringify(review));
  const answer = await world.server.kubectl('create', '-f', file, '-o', 'jsonpath={.status.allowed}');
  return answer === 'true' ? 'yes' : 'no';
}

describe('values', () => {
  test.each([
    [['--set', 'config.platform.baseDomain='], /config\.platform\.baseDomain is required/],
    [['--set', 'config.certificates.issuerRef.name='], /config\.certificates\.issuerRef\.name is required/],
    [['--set', 'config.controller.leaderElection.enabled=false'], /replicas must be 1/],
    [['--set', 'config.dns.checks.inflight=4'], /inflight/],
    [['--set', 'config.controller.workers=0'], /workers/],
    [['--set', 'replica=3'], /replica/],
    [['--set', 'serviceAccount.create=false'], /serviceAccount\.name is required/],
    [['--set', 'messages.enabled=true'], /messages\.host is required/],
    [['--set', 'messages.replicas=2'], /replicas/],
    [[...enabled, '--set', 'messages.config.store.kind=postgres'], /messages\.postgres\.secret is required/],
    [
      [
        ...enabled,
        '--set',
        'messages.config.store.kind=postgres,messages.postgres.secret=s,messages.backup.enabled=true',
      ],
      /back up PostgreSQL with its own tools/,
    ],
    [[...enabled, '--set', 'messages.config.store.kind=mysql'], /kind/],
    [
      [...enabled, '--set', 'messages.config.store.kind=postgres,messages.postgres.undoMigration=true'],
      /set messages\.config\.store\.kind=sqlite, too/,
    ],
  ])('%s is refused by name', async (args, message) => {
    await expect(template(...args)).rejects.toThrow(message);
  });

  test('each section that is removed with null, and each value that has to be there, is refused by name', async () => {
    const schema = JSON.parse(await readFile(join(chart, 'values.schema.json'), 'utf8')) as Section;
    const sections = sectionsOf(schema);
    expect(sections.length).toBeGreaterThan(45);
    for (const path of sections) {
      const name = path.split('.').at(-1);
      await expect(template(...enabled, '--set', `${path}=null`), path).rejects.toThrow(
        new RegExp(`missing property '${name}'|${name} is required`),
      );
    }
  });

  test('an existing key is mounted, and no key is created', async () => {
    const rendered = await template('--set', 'platformKey.existingSecret=mine,platformKey.secretKey=key');
    expect(rendered).not.toContain('kind: Secret\n');
    expect(rendered).toContain('secretName: mine');
    expect(rendered).toContain('keyFile: /etc/nameplate/key/key');
  });

  test("for OpenShift's restricted-v2, no pod has IDs of its own, and all satisfy Pod Security", async () => {
    const unset = ['runAsUser', 'runAsGroup', 'fsGroup'].map(id => `podSecurityContext.${id}=null`).join();
    const pods = podsIn(await template(...enabled, '--set', `messages.backup.enabled=true,${unset}`));
    expect(Object.keys(pods).sort()).toEqual(['challenges', 'messages', 'messages-backup', 'operator', 'test']);
    expect(JSON.stringify(pods)).not.toMatch(/runAsUser|runAsGroup|fsGroup"/);
    for (const [kind, pod] of Object.entries(pods)) await expectAdmitted(kind, pod);
  });

  test('the pods of the backup and of `helm test` satisfy Pod Security, and no Service selects them', async () => {
    const rendered = await template(...enabled, '--set', 'messages.backup.enabled=true');
    const {'messages-backup': backup, test: readiness} = podsIn(rendered);
    for (const [kind, pod] of Object.entries({backup, readiness})) await expectAdmitted(kind, pod);
    expect(rendered).not.toMatch(/selector:\n(.*\n){0,3}.*component: (messages-backup|test)/);
  });

  test("the backup mounts the volume of the messages API's pod, on its node, if two pods may", async () => {
    const pods = podsIn(await template(...enabled, '--set', 'messages.backup.enabled=true'));
    const {'messages-backup': backup, messages} = pods;
    expect(claimsOf(backup)).toEqual(['messages-nameplate-messages-0', 'nameplate-messages-backup']);
    const [term] = backup?.spec.affinity?.podAffinity.requiredDuringSchedulingIgnoredDuringExecution ?? [];
    expect(term).toMatchObject({
      topologyKey: 'kubernetes.io/hostname',
      labelSelector: {matchLabels: {'app.kubernetes.io/component': 'messages'}},
    });
    expect(JSON.stringify(messages?.spec.volumes), 'bound before the first backup').toContain(
      'nameplate-messages-backup',
    );
    const only = 'messages.backup.enabled=true,messages.storage.accessMode=ReadWriteOncePod';
    await expect(template(...enabled, '--set', only)).rejects.toThrow(/set messages.storage.accessMode/);
  });

  test('the messages API is scheduled as the operator, except for what is set for it', async () => {
    const common = 'nodeSelector.pool=platform,priorityClassName=high,dnsPolicy=Default,runtimeClassName=gvisor';
    const own = 'messages.nodeSelector.pool=storage,messages.tolerations[0].operator=Exists';
    const {operator, messages} = podsIn(await template(...enabled, '--set', `${common},${own}`));
    const both = {priorityClassName: 'high', dnsPolicy: 'Default', runtimeClassName: 'gvisor'};
    expect(operator?.spec).toMatchObject({nodeSelector: {pool: 'platform'}, ...both});
    expect(operator?.spec).not.toHaveProperty('tolerations');
    expect(messages?.spec).toMatchObject({
      nodeSelector: {pool: 'storage'},
      tolerations: [{operator: 'Exists'}],
      ...both,
    });
  });

  test('every object carries the common labels, and none of them replaces one of the chart', async () => {
    const labels = ['commonLabels.team=platform', 'commonLabels.app\\.kubernetes\\.io/name=usurped'];
    const rendered = await template(...enabled, '--set', 'messages.backup.enabled=true', '--set', labels.join(','));
    type Labelled = {readonly kind: string; readonly metadata: {readonly labels?: object; readonly name: string}};
    const objects = parseAllDocuments(rendered).flatMap(each => (each.toJS() as Labelled | null) ?? []);
    const carries = ({metadata}: Labelled) =>
      Object.entries(metadata.labels ?? {})
        .join(';')
        .includes('team,platform');
    const without = objects.filter(each => !carries(each)).map(({kind, metadata}) => `${kind} ${metadata.name}`);
    expect(without).toEqual([]);
    expect(rendered).not.toContain('usurped');
  });

  test('others can create the roles and bindings, and only these', async () => {
    const args = [...enabled, '--set', 'messages.backup.enabled=true'];
    const isRight = (name: string) => /^(Cluster)?Role(Binding)?$/.test(name.replace(/ .*/, ''));
    const names = async (...more: readonly string[]) =>
      objectsIn(await template(...args, ...more)).map(({kind, metadata}) => `${kind} ${metadata.name}`);
    const all = await names();
    expect(all.filter(isRight).length).toBeGreaterThan(10);
    expect(await names('--set', 'rbac.create=false')).toEqual(all.filter(name => !isRight(name)));
  });

  test('workloads and Services carry the annotations of the values, and Services their IP families', async () => {
    const annotations = 'deploymentAnnotations.owner=a,serviceAnnotations.owner=b';
    const families = 'serviceIPFamilyPolicy=PreferDualStack,serviceIPFamilies={IPv6,IPv4}';
    const rendered = await template(...enabled, '--set', `${annotations},${families}`);
    const of = (...kinds: readonly string[]) => objectsIn(rendered).filter(({kind}) => kinds.includes(kind));
    const ownersOf = (...kinds: readonly string[]) => of(...kinds).map(each => each.metadata.annotations?.owner);
    expect(ownersOf('Deployment', 'StatefulSet')).toEqual(['a', 'a', 'a']);
    expect(ownersOf('Service')).toEqual(['b', 'b', 'b', 'b']);
    const dualStack = {ipFamilyPolicy: 'PreferDualStack', ipFamilies: ['IPv6', 'IPv4']};
    for (const {spec} of of('Service')) expect(spec).toMatchObject(dualStack);
  });

  test('all pods run in user namespaces if the values say so', async () => {
    const args = [...enabled, '--set', 'messages.backup.enabled=true'];
    const pods = podsIn(await template(...args, '--set', 'hostUsers=false'));
    expect(Object.values(pods).map(({spec}) => spec.hostUsers)).toEqual([false, false, false, false, false]);
    for (const [kind, pod] of Object.entries(pods)) await expectAdmitted(`hostusers-${kind}`, pod);
    expect(await template(...args)).not.toContain('hostUsers');
  });

  test('the values complete what Prometheus scrapes, for all programs', async () => {
    const monitor = 'metrics.serviceMonitor.enabled=true,metrics.serviceMonitor.annotations.owner=platform';
    const endpoint = 'metrics.serviceMonitor.endpoint.scrapeTimeout=5s,metrics.serviceMonitor.interval=10s';
    const monitorsOf = async (...args: readonly string[]) =>
      objectsIn(await template(...enabled, '--set', monitor, ...args)).filter(({kind}) => kind === 'ServiceMonitor');
    const monitors = await monitorsOf('--set', endpoint);
    const common = {path: '/metrics', interval: '10s', honorLabels: true, scrapeTimeout: '5s'};
    expect(monitors.map(({spec}) => spec?.endpoints)).toEqual([
      [{...common, port: 'http'}],
      [{...common, port: 'operations'}],
      [{...common, port: 'operations'}],
    ]);
    for (const {metadata} of monitors) expect(metadata).toMatchObject({namespace, annotations: {owner: 'platform'}});
    const moved = await monitorsOf('--set', 'metrics.serviceMonitor.namespace=monitoring');
    for (const {metadata, spec} of moved) {
      expect(metadata.namespace).toBe('monitoring');
      expect(spec?.namespaceSelector).toEqual({matchNames: [namespace]});
    }
  });

  test('pods of the operator are replaced one by one, or as the values say', async () => {
    type Deployment = {readonly spec: {readonly strategy: object}};
    const strategy = async (...args: readonly string[]) => {
      const rendered = await template('--show-only', 'templates/deployment.yaml', ...args);
      return (parse(rendered) as Deployment).spec.strategy;
    };
    expect(await strategy()).toEqual({rollingUpdate: {maxUnavailable: 0, maxSurge: 1}});
    expect(await strategy('--set', 'strategy.type=Recreate')).toEqual({type: 'Recreate'});
  });

  test('containers of the platform run beside those of the chart', async () => {
    const one = (name: string) => JSON.stringify([{name, image: 'sidecar'}]);
    const both = ['--set-json', `extraContainers=${one('a')}`, '--set-json', `messages.extraContainers=${one('b')}`];
    const {operator, messages} = podsIn(await template(...enabled, ...both));
    expect(operator?.spec.containers?.map(({name}) => name)).toEqual(['operator', 'a']);
    expect(messages?.spec.containers?.map(({name}) => name)).toEqual(['messages', 'b']);
  });

  test.each([
    ['operator', '', []],
    ['messages', 'messages.', [...enabled, '--set', 'messages.config.store.kind=postgres,messages.postgres.secret=s']],
  ])('the pods of the %s are spread across nodes, or as the values say', async (component, prefix, values) => {
    const spread = async (...args: readonly string[]) =>
      podsIn(await template(...values, ...args))[component]?.spec.topologySpreadConstraints;
    const labelSelector = {matchLabels: expect.objectContaining({'app.kubernetes.io/component': component})};
    const byNode = {maxSkew: 1, topologyKey: 'kubernetes.io/hostname', whenUnsatisfiable: 'ScheduleAnyway'};
    expect(await spread()).toEqual([{...byNode, labelSelector}]);
    const zone = {maxSkew: 2, topologyKey: 'topology.kubernetes.io/zone', whenUnsatisfiable: 'DoNotSchedule'};
    const given = await spread('--set-json', `${prefix}topologySpreadConstraints=[${JSON.stringify(zone)}]`);
    expect(given).toEqual([{...zone, labelSelector}]);
  });

  // attack: diagnostics
  test.each([
    [[], undefined],
    [['--set', 'diagnostics.enabled=true,diagnostics.sizeLimit=3Gi'], {cpuSeconds: 10, sizeLimit: '3Gi'}],
    [['--set', 'diagnostics.enabled=true,diagnostics.cpuSeconds=30'], {cpuSeconds: 30, sizeLimit: '2Gi'}],
  ])('%j: both programs write diagnostics into a volume: %j', async (args, want) => {
    const rendered = await template(...enabled, ...args);
    const configs = parseAllDocuments(rendered).flatMap(document => {
      const {kind, data} = (document.toJS() ?? {}) as {kind?: string; data?: Record<string, string>};
      const texts = kind === 'ConfigMap' ? [data?.['nameplate.yaml'], data?.['messages.yaml']] : [];
      return texts.flatMap(text => (text === undefined ? [] : [(parse(text) as OperatorConfig).diagnostics]));
    });
    const folder = '/var/lib/nameplate-diagnostics';
    const config = want ? {folder, cpuSeconds: want.cpuSeconds} : {};
    expect(configs).toEqual([config, config]);
    const {operator, messages} = podsIn(rendered);
    for (const [kind, pod] of Object.entries({operator, messages})) {
      const volume = pod?.spec.volumes?.find(({name}) => name === 'diagnostics');
      expect(volume).toEqual(want && {name: 'diagnostics', emptyDir: {sizeLimit: want.sizeLimit}});
      expect(JSON.stringify(pod).includes(`{"name":"diagnostics","mountPath":"${folder}"}`)).toBe(want !== undefined);
      if (kind === 'operator') await expectAdmitted(`diagnostics-${kind}`, pod);
    }
  });

  test('a digest wins over the tag', async () => {
    const rendered = await template('--set', 'image.repository=r/nameplate,image.tag=v1,image.digest=sha256:ab');
    expect(rendered).toContain('image: r/nameplate@sha256:ab\n');
  });

  test('the CRDs can be installed separately', async () => {
    expect(await template('--set', 'crds.enabled=false')).not.toContain('kind: CustomResourceDefinition');
  });

  test('one replica needs no disruption budget', async () => {
    expect(await template('--set', 'replicas=1,challenges.replicas=1')).not.toContain('kind: PodDisruptionBudget');
  });

  test('all options together make what the API server accepts', async () => {
    const values = join(world.folder, 'all.yaml');
    await writeFile(values, allOptions);
    const rendered = await template('--values', values, '--set', 'crds.enabled=false');
    const objects = rendered.split(/^---$/m).map(text => ({text, kind: (parse(text) as {kind?: string} | null)?.kind}));
    expect(objects.filter(({kind}) => kind === 'ServiceMonitor')).toHaveLength(3);
    for (const name of ['nameplate-map', 'nameplate-text']) expect(rendered).toMatch(new RegExp(`name: '?${name}\\b`));
    await installPrometheusOperatorCrds(world.server);
    // cert-manager is not installed here. The key was tested above.
    const absent = ['Certificate', 'Secret'];
    const others = objects.filter(({kind}) => kind !== undefined && !absent.includes(kind));
    const file = join(world.folder, 'all-rendered.yaml');
    await writeFile(file, others.map(({text}) => text).join('---\n'));
    await world.server.kubectl('apply', '--dry-run=server', '--server-side', '--force-conflicts', '-f', file);
  });
});

const allOptions = `
imagePullSecrets: [{name: registry}]
serviceAccount: {name: operator, annotations: {owner: platform}}
metrics:
  serviceMonitor:
    enabled: true
    labels: {release: prometheus}
    annotations: {owner: platform}
    endpoint: {scrapeTimeout: 10s, relabelings: [{action: labeldrop, regex: pod}]}
  prometheusRule: {enabled: true, labels: {release: prometheus}, runbookUrl: 'https://runbooks.example.test/'}
  dashboards: {enabled: true, labels: {dashboards: '1'}, annotations: {folder: Platform}}
networkPolicy:
  enabled: true
  metricsFrom: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: monitoring}}}]
  extraEgress: [{ports: [{port: 5353, protocol: UDP}]}]
messages:
  enabled: true
  host: api.example.test
  storage: {size: 1Gi, storageClassName: fast, accessMode: ReadWriteMany}
  ingress: {className: internal, annotations: {owner: platform}}
  certificate: {issuerRef: {name: other, kind: Issuer}}
  networkPolicy: {from: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: traefik}}}]}
  extraVolumes: [{name: extra, emptyDir: {}}]
  extraVolumeMounts: [{name: extra, mountPath: /extra}]
  extraContainers: [{name: extra, image: extra}]
  nodeSelector: {pool: storage}
  tolerations: [{key: storage, operator: Exists}]
  affinity: {podAntiAffinity: {}}
  priorityClassName: system-node-critical
  backup: {enabled: true, schedule: '*/5 * * * *', keep: 3, size: 5Gi, storageClassName: slow}
  env: [{name: NODE_EXTRA_CA_CERTS, value: /etc/ssl/platform.pem}]
  config: {log: {level: debug}}
diagnostics: {enabled: true}
env: [{name: NODE_EXTRA_CA_CERTS, value: /etc/ssl/platform.pem}]
hostUsers: false
deploymentAnnotations: {owner: platform}
serviceAnnotations: {owner: platform}
serviceIPFamilyPolicy: SingleStack
serviceIPFamilies: [IPv4]
podAnnotations: {a: b}
podLabels: {team: platform}
commonLabels: {cost-center: platform}
strategy: {type: Recreate}
extraContainers: [{name: extra, image: extra}]
hostAliases: [{ip: 192.0.2.1, hostnames: [registry.example.test]}]
nodeSelector: {kubernetes.io/os: linux}
tolerations: [{key: infra, operator: Exists}]
affinity: {nodeAffinity: {}}
priorityClassName: system-cluster-critical
dnsPolicy: None
dnsConfig: {nameservers: [192.0.2.53], options: [{name: ndots, value: '1'}]}
podSecurityContext: {supplementalGroups: [1]}
securityContext: {procMount: Default}
extraVolumes: [{name: extra, emptyDir: {}}]
extraVolumeMounts: [{name: extra, mountPath: /extra}]
topologySpreadConstraints: [{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule}]
extraObjects:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: '{{ .Release.Name }}-map', namespace: '{{ .Release.Namespace }}'}
- |
  apiVersion: v1
  kind: ConfigMap
  metadata: {name: {{ .Release.Name }}-text, namespace: {{ .Release.Namespace }}}
fullnameOverride: custom
config:
  plans: {free: null, gold: {customDomains: true, maxDomains: 100}}
  defaultPlan: gold
  dns: {rootServers: [198.41.0.4], recursives: ['9.9.9.9:53']}
`;
