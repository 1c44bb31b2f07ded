/** What the tests of the chart share: a real API server, and Helm. No pod runs there. */
import {mkdtemp, rm, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterAll, beforeAll, expect} from 'vitest';
import {parse, parseAllDocuments} from 'yaml';
import {type ApiServer, startApiServer} from '../../cluster/apiserver.ts';
import {run} from '../../cluster/children.ts';
import {ensurePrograms, HELM} from '../../cluster/programs.ts';

export const root = join(import.meta.dirname, '../../..');
export const chart = join(root, 'charts/nameplate');
export const namespace = 'nameplate-system';
export const release = ['nameplate', chart, '--namespace', namespace, '--values', join(root, 'examples/values.yaml')];
export const enabled = ['--set', 'messages.enabled=true,messages.host=api.example.test'];

export interface ChartWorld {
  readonly server: ApiServer;
  /** For files of the tests. */
  readonly folder: string;
  /** Runs Helm with separate state, so that the user's repositories and plugins do not interfere. */
  helm(...args: readonly string[]): Promise<string>;
  /** Installs or upgrades the release. */
  install(...args: readonly string[]): Promise<string>;
  template(...args: readonly string[]): Promise<string>;
  get<T>(...args: readonly string[]): Promise<T>;
  /** Expects that the release's namespace, which enforces "restricted", admits the pod. */
  expectAdmitted(name: string, pod: PodTemplate | undefined): Promise<void>;
}

/** Call it at the top of a file. The server and the folder exist once the first test, or a later `beforeAll`, begins. */
export function useChart(): ChartWorld {
  let server: ApiServer;
  let helmProgram: string;
  let folder: string;
  beforeAll(async () => {
    const programs = await ensurePrograms([HELM, 'traefik']);
    helmProgram = programs.path('helm');
    folder = await mkdtemp(join(tmpdir(), 'nameplate-chart-'));
    server = await startApiServer({crds: [programs.asset('traefik-crds.yml')]});
    await server.apply(`
apiVersion: v1
kind: Namespace
metadata:
  name: ${namespace}
  labels: {pod-security.kubernetes.io/enforce: restricted}
`);
  });
  afterAll(async () => {
    await server?.stop();
    if (folder) await rm(folder, {recursive: true});
  });
  const helm = (...args: readonly string[]) => {
    const home = ['HELM_CACHE_HOME', 'HELM_CONFIG_HOME', 'HELM_DATA_HOME'].map(name => `${name}=${folder}`);
    return run(['env', ...home, helmProgram, '--kubeconfig', server.kubeconfig, ...args]);
  };
  return {
    get server() {
      return server;
    },
    get folder() {
      return folder;
    },
    helm,
    install: (...args) => helm('upgrade', '--install', ...release, ...args),
    template: (...args) => helm('template', ...release, ...args),
    get: async (...args) => JSON.parse(await server.kubectl('get', ...args, '-n', namespace, '-o', 'json')),
    expectAdmitted: async (name, pod) => {
      const claimed = {name: 'messages', persistentVolumeClaim: {claimName: 'messages'}};
      const volumes = pod?.spec.volumes?.some(volume => volume.name === 'messages') ? [] : [claimed];
      const metadata = {...pod?.metadata, name: `as-${name.toLowerCase()}`, namespace};
      const spec = {...pod?.spec, volumes: [...(pod?.spec.volumes ?? []), ...volumes], serviceAccountName: 'nameplate'};
      const file = join(folder, `pod-of-${name}.json`);
      await writeFile(file, JSON.stringify({apiVersion: 'v1', kind: 'Pod', metadata, spec}));
      await expect(server.kubectl('create', '--dry-run=server', '-f', file)).resolves.toContain('created');
    },
  };
}

export interface Rendered {
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec?: Readonly<Record<string, unknown>>;
}

export function objectsIn(rendered: string): Rendered[] {
  return parseAllDocuments(rendered).flatMap(each => (each.toJS() as Rendered | null) ?? []);
}

export interface PodTemplate {
  readonly metadata: {readonly name?: string; readonly labels?: Readonly<Record<string, string>>};
  readonly spec: {
    readonly hostUsers?: boolean;
    readonly containers?: readonly {readonly name: string}[];
    readonly volumes?: readonly {
      readonly name: string;
      readonly persistentVolumeClaim?: {readonly claimName: string};
    }[];
    readonly affinity?: {
      readonly podAffinity: {readonly requiredDuringSchedulingIgnoredDuringExecution: readonly object[]};
    };
    readonly topologySpreadConstraints?: readonly object[];
  };
}
export type Workload = PodTemplate & {
  readonly kind: string;
  readonly spec: {
    readonly template: PodTemplate;
    readonly jobTemplate: {readonly spec: {readonly template: PodTemplate}};
  };
};

/** The pods that the rendered chart leads to, by their component. */
export function podsIn(rendered: string): Readonly<Record<string, PodTemplate>> {
  const pods = rendered.split(/^---$/m).flatMap(text => podOf(parse(text) as Workload | null) ?? []);
  return Object.fromEntries(pods.map(pod => [pod.metadata.labels?.['app.kubernetes.io/component'], pod]));
}

function podOf(object: Workload | null): PodTemplate | undefined {
  switch (object?.kind) {
    case 'Pod':
      return {metadata: object.metadata, spec: object.spec};
    case 'CronJob':
      return object.spec.jobTemplate.spec.template;
    case 'Deployment':
    case 'StatefulSet':
      return object.spec.template;
    default:
      return undefined;
  }
}

export function claimsOf(pod: PodTemplate | undefined): readonly string[] | undefined {
  return pod?.spec.volumes?.flatMap(({persistentVolumeClaim}) => persistentVolumeClaim?.claimName ?? []);
}
