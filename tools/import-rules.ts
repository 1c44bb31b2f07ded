/**
 * What each room of src may import, and the linter rules that enforce it: biome.json extends the generated file.
 *
 *     node tools/import-rules.ts           writes biome.rooms.json
 *     node tools/import-rules.ts --check   exits 1 if that file differs
 *
 * A room is a folder. src/rooms.test.ts checks that no two rooms can import each other, and that this table allows no
 * import that no file needs.
 */
import {existsSync, globSync, readFileSync, writeFileSync} from 'node:fs';
import {dirname, join, relative} from 'node:path';

const ROOT = join(import.meta.dirname, '..');
const FILE = 'biome.rooms.json';
const RUNTIME = ['runtime/kube', 'runtime/cache', 'runtime/apply', 'runtime/controller'];
const API = ['api', 'api/generated'];
/** What every reconcile of the operator needs. */
const RECONCILE = ['api', 'runtime/kube', 'runtime/controller', 'operator/model', 'operator/state'];

/** For each room of src, lowest first, the others that it may import: rooms, or single files of rooms. */
export const ROOMS: Readonly<Record<string, readonly string[]>> = {
  base: [],
  api: [],
  'api/generated': [],
  schedule: ['base'],
  process: ['base'],
  probe: ['base', 'schedule'],
  acme: ['base'],

  'dns/names': [],
  'dns/wire': ['base', 'dns/names'],
  'dns/resolve': ['base', 'dns/names', 'dns/wire'],
  'dns/verdict': ['base', 'dns/names', 'dns/wire', 'dns/resolve'],
  dns: ['base', 'schedule', 'dns/names', 'dns/wire', 'dns/resolve', 'dns/verdict'],

  'runtime/kube': ['base'],
  'runtime/cache': ['base', 'runtime/kube'],
  'runtime/apply': ['base', 'runtime/kube', 'runtime/cache'],
  'runtime/controller': ['base', 'runtime/kube', 'runtime/cache'],
  'runtime/example': ['base', 'runtime/kube', 'runtime/apply', 'runtime/controller'],

  keys: [...API, 'base', 'runtime/kube', 'runtime/cache'],

  'operator/generated': [],
  'operator/model': [...API, 'runtime/kube', 'operator/generated'],
  'operator/config-schema': ['api', 'base', 'dns/dns.ts', 'operator/model'],
  'operator/ca': ['api/generated', 'base', 'acme', 'runtime/kube', 'operator/model'],
  'operator/state': ['api', 'base', 'keys', 'probe', 'dns/dns.ts', ...RUNTIME, 'operator/model', 'operator/ca'],
  'operator/edge': ['api', 'base', 'runtime/kube', 'runtime/apply', 'operator/model', 'operator/state'],
  'operator/approval': [...RECONCILE, 'base', 'runtime/cache'],
  'operator/issuance': ['api', 'base', 'runtime/kube', 'operator/model', 'operator/state'],
  'operator/certificate': [
    ...RECONCILE,
    'api/generated',
    'base',
    'acme',
    'dns/dns.ts',
    'runtime/apply',
    'operator/ca',
    'operator/approval',
    'operator/issuance',
  ],
  'operator/sweep': [...RECONCILE, 'operator/ca', 'operator/certificate'],
  'operator/apikey': [...RECONCILE, 'base', 'api/generated', 'keys', 'runtime/apply'],
  'operator/project': [
    ...RECONCILE,
    'api/generated',
    'runtime/apply',
    'operator/certificate',
    'operator/edge',
    'operator/issuance',
  ],
  'operator/domain': [
    ...RECONCILE,
    'base',
    'api/generated',
    'probe',
    'dns/dns.ts',
    'runtime/apply',
    'operator/ca',
    'operator/certificate',
    'operator/edge',
    'operator/issuance',
  ],
  'operator/triggers': ['api', 'keys', 'runtime/kube', 'runtime/cache', 'operator/model', 'operator/state'],
  operator: [
    'api',
    'base',
    'keys',
    'probe',
    'dns/dns.ts',
    ...RUNTIME,
    'operator/apikey',
    'operator/approval',
    'operator/ca',
    'operator/certificate',
    'operator/config-schema',
    'operator/domain',
    'operator/edge',
    'operator/issuance',
    'operator/model',
    'operator/project',
    'operator/state',
    'operator/sweep',
    'operator/triggers',
  ],

  'messages/access': ['base', 'process', 'messages/store'],
  'messages/store': [],
  'messages/generated': [],
  'messages/http': ['base', 'process', 'messages/access', 'messages/generated', 'messages/store'],
  'messages/store/queue': ['messages/store'],
  'messages/store/sqlite': ['messages/store', 'messages/store/queue/operations.ts'],
  'messages/store/sqlite-thread': [
    'base',
    'messages/store',
    'messages/store/queue',
    'messages/store/sqlite/thread-messages.ts',
  ],
  'messages/store/postgres/session': ['base', 'messages/store'],
  'messages/store/postgres': ['base', 'messages/store', 'messages/store/queue', 'messages/store/postgres/session'],
  'messages/store/migration': ['base', 'messages/store', 'messages/store/sqlite', 'messages/store/postgres/session'],
  messages: [
    'base',
    'process',
    'messages/access',
    'messages/generated',
    'messages/http',
    'messages/store',
    'messages/store/sqlite-thread',
    'messages/store/postgres',
    'messages/store/postgres/session',
  ],

  challenges: ['process'],
  review: ['api', 'base', 'process', 'runtime/kube', 'operator', 'operator/model', 'operator/state'],
  kubectl: ['api', 'base', 'runtime/kube', 'operator/model'],
  bin: [
    '../package.json',
    'api',
    'base',
    'process',
    'keys',
    'dns/dns.ts',
    'runtime/kube',
    'runtime/controller',
    'challenges',
    'operator',
    'operator/model',
    'messages',
    'messages/access',
    'messages/store',
    'messages/store/sqlite',
    'messages/store/migration',
    'review',
    'kubectl',
  ],
};

const KUBECONFIG = 'src/runtime/kube/kubeconfig.ts';
const CLIENT_NODE = {
  group: ['@kubernetes/client-node', '@kubernetes/client-node/**'],
  message: `Only ${KUBECONFIG} imports @kubernetes/client-node. To talk to the API server, use the KubeClient of src/runtime/kube/client.ts.`,
};

/** Allows a room only its imports from src. The message names these, and where to change them. */
function roomRule(room: string, allowed: readonly string[]) {
  const patternOf = (path: string) => {
    const from = relative(room, path) || '.';
    const relativePath = from.startsWith('.') ? from : `./${from}`;
    return `!${relativePath}${/\.(ts|json)$/.test(path) ? '' : '/*'}`;
  };
  const list = allowed.length > 0 ? `only ${allowed.map(path => join('src', path)).join(', ')}` : 'nothing else';
  const front = allowed.includes('dns/dns.ts') ? ' Export what else you need in src/dns/dns.ts.' : '';
  return {
    group: ['../**', './*/**', ...allowed.map(patternOf)],
    message: `src/${room} may import ${list} from src. Move what it needs to one of these, or pass it in.${front} The table is in tools/import-rules.ts.`,
  };
}

function override(includes: readonly string[], patterns: readonly unknown[]) {
  const noRestrictedImports = {level: 'error', options: {patterns}};
  return {includes, linter: {rules: {style: {noRestrictedImports}}}};
}

function generate(): string {
  const overrides = Object.entries(ROOMS).map(([room, allowed]) =>
    override([`src/${room}/*.ts`, '!**/*.test.ts'], [CLIENT_NODE, roomRule(room, allowed)]),
  );
  const kube = roomRule('runtime/kube', ROOMS['runtime/kube'] ?? []);
  const lines = [...overrides, override([KUBECONFIG], [kube])].map(rule => `  ${JSON.stringify(rule)}`);
  return `{"overrides": [\n${lines.join(',\n')}\n]}\n`;
}

if (import.meta.main) {
  const files = globSync('src/*/**/*.ts', {cwd: ROOT}).filter(path => !path.endsWith('.test.ts'));
  const folders = new Set(files.map(path => relative('src', dirname(path))));
  const missing = [...folders].filter(folder => !(folder in ROOMS));
  const text = generate();
  const path = join(ROOT, FILE);
  if (missing.length > 0) {
    console.error(`tools/import-rules.ts lacks these folders of src: ${missing.join(', ')}`);
    process.exitCode = 1;
  } else if (!process.argv.includes('--check')) {
    writeFileSync(path, text);
  } else if (!existsSync(path) || readFileSync(path, 'utf8') !== text) {
    console.error(`${FILE} differs from tools/import-rules.ts: run \`make generate\`.`);
    process.exitCode = 1;
  }
}
