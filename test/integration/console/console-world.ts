/**
 * An API server that accepts the ID tokens of a real identity provider, as docs/console.md says, with the chart's roles,
 * and the console as a separate process. By default, there is no operator: the tests write what it would report.
 */
import {mkdtemp, readFile, rm, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {parse, stringify} from 'yaml';
import {type ApiServer, startApiServer} from '../../cluster/apiserver.ts';
import {type Child, failOnExit, startChild} from '../../cluster/children.ts';
import {freePorts} from '../../cluster/free-ports.ts';
import {ensurePrograms, HELM} from '../../cluster/programs.ts';
import {until} from '../../cluster/wait.ts';
import {
  CLIENT_ID,
  CLIENT_SECRET,
  startIdentityProvider,
  type TestUser,
} from '../../support/console/identity-provider.ts';
import {startTlsFront} from '../../support/console/tls-front.ts';
import {renderTemplates} from '../../support/helm-template.ts';
import {selfSigned} from '../../support/self-signed.ts';
import {Visitor} from './visitor.ts';

const ROOT = join(import.meta.dirname, '../../..');

export const USERS: Readonly<Record<string, TestUser>> = {
  tenant: {groups: ['acme-owners'], namespaces: ['acme', 'globex', 'not/a name']},
  other: {groups: ['globex-owners'], namespaces: ['globex']},
  reader: {groups: ['acme-readers'], namespaces: ['acme']},
  platform: {groups: ['platform']},
};

export interface ConsoleWorld {
  readonly api: ApiServer;
  readonly url: string;
  readonly issuer: string;
  readonly ca: string;
  readonly consolePid: number;
  readonly metricsUrl: string;
  /** The lifetime of the ID tokens issued from now on. */
  idTokenSeconds: number;
  visitor(): Visitor;
  /** Everything that the console has logged. */
  log(): Promise<string>;
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** `startApi`: with these flags, and with our CRDs. */
export async function startConsoleWorld(users = USERS, startApi = startBareApi): Promise<ConsoleWorld> {
  const programs = await ensurePrograms([HELM, 'kube', 'etcd']);
  const folder = await mkdtemp(join(tmpdir(), 'nameplate-console-'));
  const stops: (() => Promise<unknown>)[] = [() => rm(folder, {recursive: true, force: true})];
  const stop = async () => {
    for (const each of stops.splice(0).toReversed()) await each();
  };
  try {
    const [frontPort = 0, port = 0, operationsPort = 0] = await freePorts(3);
    const {cert, key} = await selfSigned(folder, 'console', 'DNS:localhost,IP:127.0.0.1');
    const ca = cert.toString();
    const url = `https://localhost:${frontPort}`;
    const tokens = {seconds: 600};
    const provider = await startIdentityProvider({
      ...{cert, key, host: '127.0.0.1', port: 0, consoleUrl: url, users},
      idTokenSeconds: () => tokens.seconds,
    });
    stops.push(provider.stop);
    const authentication = join(folder, 'authentication.yaml');
    await writeFile(authentication, await authenticationConfig(provider.issuer, ca));
    const api = await startApi([`--authentication-config=${authentication}`]);
    stops.push(api.stop);
    await api.apply(await renderRoles(programs.path('helm')));
    await bindRoles(api);
    const front = await startTlsFront({cert, key, port: frontPort, target: () => port});
    stops.push(front.stop);
    const config = await writeConfig(folder, {url, issuer: provider.issuer, ca, api, port, operationsPort});
    const log = join(folder, 'console.log');
    const start = () => startConsole(config, log, operationsPort);
    let child = await start();
    stops.push(() => child.kill());
    const visitors: Visitor[] = [];
    stops.push(() => Promise.all(visitors.map(visitor => visitor.close())));
    return {
      ...{api, url, issuer: provider.issuer, ca, stop},
      metricsUrl: `http://127.0.0.1:${operationsPort}/metrics`,
      get consolePid() {
        return child.pid;
      },
      get idTokenSeconds() {
        return tokens.seconds;
      },
      set idTokenSeconds(seconds) {
        tokens.seconds = seconds;
      },
      visitor: () => {
        const visitor = new Visitor(ca, url);
        visitors.push(visitor);
        return visitor;
      },
      log: () => readFile(log, 'utf8'),
      restart: async () => {
        await child.stop();
        child = await start();
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

function startBareApi(flags: readonly string[]): Promise<ApiServer> {
  return startApiServer({crds: [`${ROOT}/crds`], flags});
}

/** The one of the documentation, with the address and the certificate of this provider. */
async function authenticationConfig(issuer: string, ca: string): Promise<string> {
  const docs = await readFile(join(ROOT, 'docs/console.md'), 'utf8');
  const [, text = ''] = /<!-- authentication: begin -->\s+```yaml\n(.*?)```/s.exec(docs) ?? [];
  const config = parse(text) as {jwt: {issuer: {url: string; certificateAuthority?: string}}[]};
  for (const each of config.jwt) Object.assign(each.issuer, {url: issuer, certificateAuthority: ca});
  return stringify(config);
}

async function renderRoles(helm: string): Promise<string> {
  const values = [
    'console.enabled=true',
    'console.host=console.example.com',
    'console.oidc.issuer=https://id.example.net',
    'console.certificate.existingSecret=console-tls',
  ];
  const further = ['--values', join(ROOT, 'examples/values.yaml'), '--set', values.join(',')];
  return await renderTemplates(helm, ['console-roles'], further);
}

async function bindRoles(api: ApiServer): Promise<void> {
  for (const namespace of ['acme', 'globex']) {
    await api.kubectl('create', 'namespace', namespace);
    const flags = ['--clusterrole=nameplate-console-owner', `--group=console:${namespace}-owners`];
    await api.kubectl('create', 'rolebinding', 'owners', '-n', namespace, ...flags);
  }
  await api.kubectl(
    'create',
    'rolebinding',
    'readers',
    '-n',
    'acme',
    '--clusterrole=nameplate-console-platform',
    '--group=console:acme-readers',
  );
  const platform = ['--clusterrole=nameplate-console-platform', '--group=console:platform'];
  await api.kubectl('create', 'clusterrolebinding', 'console-platform', ...platform);
  // Worth nothing here: the console's audience has another prefix.
  await api.kubectl(
    'create',
    'clusterrolebinding',
    'admins',
    '--clusterrole=cluster-admin',
    '--group=oidc:acme-owners',
  );
}

interface ConfigParts {
  readonly url: string;
  readonly issuer: string;
  readonly ca: string;
  readonly api: ApiServer;
  readonly port: number;
  readonly operationsPort: number;
}

async function writeConfig(folder: string, {url, issuer, ca, api, port, operationsPort}: ConfigParts): Promise<string> {
  const [caFile, clientSecretFile, apiCa, path] = ['ca.pem', 'secret', 'api.pem', 'console.yaml'].map(name =>
    join(folder, name),
  );
  if (!caFile || !clientSecretFile || !apiCa || !path) throw new Error('no paths');
  await Promise.all([writeFile(caFile, ca), writeFile(clientSecretFile, CLIENT_SECRET), writeFile(apiCa, api.ca)]);
  const config = {
    url,
    oidc: {issuer, clientId: CLIENT_ID, clientSecretFile, caFile, namespacesClaim: 'namespaces'},
    apiServer: {url: api.url, caFile: apiCa},
    help: 'help@platform.example',
    server: {port},
    operations: {port: operationsPort},
    log: {level: 'trace'},
  };
  await writeFile(path, stringify(config));
  return path;
}

async function startConsole(config: string, log: string, operationsPort: number): Promise<Child> {
  const argv = [process.execPath, join(ROOT, 'src/bin/console.ts'), '--config', config];
  const child = startChild('console', argv, {log});
  const isReady = async () =>
    (await fetch(`http://127.0.0.1:${operationsPort}/readyz`).catch(() => undefined))?.status === 200;
  await Promise.race([until('the console is ready', isReady), failOnExit(child, log)]);
  return child;
}
