/** The CRDs on a real API server: what they refuse, with which message, and what kubectl shows. */
import {join} from 'node:path';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {type ApiServer, startApiServer} from '../../cluster/apiserver.ts';
import {rows} from './crds.rows.ts';

const CRDS = join(import.meta.dirname, '../../../crds');

let api: ApiServer;
beforeAll(async () => {
  api = await startApiServer({crds: [CRDS]});
});
afterAll(() => api?.stop());

function yaml(kind: string, name: string, spec: unknown, more: Record<string, unknown> = {}): string {
  const metadata = {name, ...(!kind.endsWith('Claim') && {namespace: 'default'})};
  return JSON.stringify({
    apiVersion: 'nameplate.dev/v1alpha1',
    kind,
    metadata,
    ...(spec !== undefined && {spec}),
    ...more,
  });
}

const service = {name: 'shop', port: 'http'};
const projectRef = {name: 'shop'};
const scopes = ['messages:write'];

describe.concurrent('refused, with a message that helps', () => {
  test.each(rows)('$kind: $case', async ({kind, name, spec, says}) => {
    const refused = await api.apply(yaml(kind, name ?? 'shop', spec)).catch((error: Error) => error.message);
    for (const text of says) expect(refused).toContain(text);
  });

  test('the host of a Domain cannot be changed', async () => {
    await api.apply(yaml('Domain', 'fixed.example.com', {host: 'fixed.example.com', projectRef}));
    const patch = JSON.stringify({spec: {host: 'moved.example.com'}});
    const refused = api.kubectl('patch', 'domain', 'fixed.example.com', '--type', 'merge', '-p', patch);
    await expect(refused).rejects.toThrow('to use another host, create another Domain');
  });

  test.each([
    {
      case: 'a revoked APIKey cannot be made valid again',
      spec: {scopes, revoked: true},
      changed: {scopes, revoked: false},
      says: 'a revoked key stays revoked; create another APIKey',
    },
    {
      case: 'nor by leaving revoked out',
      spec: {scopes, revoked: true},
      changed: {scopes},
      says: 'a revoked key stays revoked; create another APIKey',
    },
    {
      case: 'the Secret of an APIKey cannot be changed',
      spec: {scopes, secretName: 'one'},
      changed: {scopes, secretName: 'other'},
      says: 'secretName cannot be changed; create another APIKey',
    },
    {
      case: 'nor named later',
      spec: {scopes},
      changed: {scopes, secretName: 'other'},
      says: 'secretName cannot be changed; create another APIKey',
    },
  ])('$case', async ({case: name, spec, changed, says}) => {
    const key = name.toLowerCase().replaceAll(' ', '-');
    await api.apply(yaml('APIKey', key, spec));
    await api.apply(yaml('APIKey', key, {...spec, expiresAt: '2026-01-01T00:00:00Z'}));
    await expect(api.apply(yaml('APIKey', key, changed))).rejects.toThrow(says);
  });

  test('kubectl reports a misspelled field', async () => {
    const misspelt = yaml('Project', 'misspelt', {service, domians: {}});
    await expect(api.apply(misspelt)).rejects.toThrow('domians');
  });
});

describe.concurrent('accepted', () => {
  test.each([
    {case: 'a port by number', kind: 'Project', name: 'number', spec: {service: {name: 'shop', port: 8080}}},
    {
      case: 'a Project with all there is',
      kind: 'Project',
      name: 'all',
      spec: {
        service,
        domains: {
          primary: 'a.example.com',
          aliases: ['b.example.com', '*.example.com'],
          redirects: [{from: 'c.example.com'}, {from: 'd.example.com', to: 'c.example.com', status: 302}],
        },
      },
    },
    {
      case: 'an internationalized name in A-label form',
      kind: 'Domain',
      name: 'xn--bcher-kva.example',
      spec: {host: 'xn--bcher-kva.example', projectRef},
    },
    {
      case: 'a wildcard',
      kind: 'Domain',
      name: 'wc--any.shop.example.com',
      spec: {host: '*.shop.example.com', projectRef},
    },
    {
      case: 'a host of 253 characters',
      kind: 'Domain',
      name: `${'a.'.repeat(121)}example.com`,
      spec: {host: `${'a.'.repeat(121)}example.com`, projectRef},
    },
    {
      case: 'a top-level domain that ends in a digit',
      kind: 'Domain',
      name: 'shop.xn--p1ai',
      spec: {host: 'shop.xn--p1ai', projectRef},
    },
  ])('$case', async ({kind, name, spec}) => {
    expect(await api.apply(yaml(kind, name, spec))).toContain('serverside-applied');
  });
});

describe.concurrent('kubectl', () => {
  test.each([
    {field: 'domain.spec', says: ['The desired state', 'host	<string> -required-', 'projectRef', 'redirect']},
    {field: 'domain.spec.host', says: ['Internationalized names must be in', 'A-label form']},
    {field: 'domain.status.state', says: ['Blocked: cannot start', 'Degraded: published']},
    {field: 'domain.status.dns.required.label', says: ["'@' means the domain"]},
    {field: 'project.spec.domains', says: ['They require a plan that allows', 'primary', 'aliases', 'redirects']},
    {field: 'apikey', says: ['The operator generates the key', 'nowhere else']},
    {field: 'apikey.spec', says: ['scopes	<[]string> -required-', 'expiresAt', 'revoked', 'rotation', 'secretName']},
    {field: 'domainclaim', says: ['Records which account holds a host']},
    {
      field: 'keyclaim',
      says: ['Records which account a key of the messages API belongs to', 'Back it up with the rest of the cluster'],
    },
  ])('explain $field', async ({field, says}) => {
    const explained = await api.kubectl('explain', field);
    for (const text of says) expect(explained).toContain(text);
  });

  test('explain has a description for every field', async () => {
    for (const kind of ['domain', 'project', 'domainclaim', 'apikey', 'keyclaim']) {
      const crd = await api.kubectl(
        'get',
        'crd',
        `${kind}s.nameplate.dev`,
        '-o',
        'jsonpath={.spec.versions[0].schema.openAPIV3Schema}',
      );
      expect(undescribed(JSON.parse(crd) as Schema, kind)).toEqual([]);
    }
  });

  test('get domains shows host, state, ready, project, expiry, and age; -o wide also the reason', async () => {
    const name = 'columns.example.com';
    await api.apply(yaml('Domain', name, {host: name, projectRef, redirect: {to: 'b.example.com'}}));
    const condition = {
      type: 'Ready',
      status: 'False',
      reason: 'RecordMissing',
      message: 'Create it.',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    };
    const status = {
      observedGeneration: 1,
      state: 'Unverified',
      conditions: [condition],
      certificate: {notAfter: '2026-04-01T00:00:00Z'},
    };
    await api.kubectl(
      'patch',
      'domain',
      name,
      '--subresource',
      'status',
      '--type',
      'merge',
      '-p',
      JSON.stringify({status}),
    );
    const [head = '', line = ''] = (await api.kubectl('get', 'domains', name)).split('\n');
    expect(head.split(/\s{2,}/).map(text => text.trim())).toEqual([
      'NAME',
      'HOST',
      'STATE',
      'READY',
      'PROJECT',
      'EXPIRES',
      'AGE',
    ]);
    expect(line.split(/\s+/).slice(0, 6)).toEqual([name, name, 'Unverified', 'False', 'shop', '2026-04-01T00:00:00Z']);
    const wide = await api.kubectl('get', 'dom', name, '-o', 'wide');
    for (const text of ['REASON', 'REDIRECT', 'MESSAGE', 'RecordMissing', 'b.example.com', 'Create it.'])
      expect(wide).toContain(text);
    const waited = await api.kubectl('wait', '--for=condition=Ready=False', 'domain', name, '--timeout=5s');
    expect(waited).toContain('condition met');
    expect(await api.kubectl('get', 'nameplate', '-o', 'name')).toContain(`domain.nameplate.dev/${name}`);
    const byState = await api.kubectl(
      'get',
      'domains',
      '--field-selector',
      `status.state=Unverified,spec.host=${name},spec.projectRef.name=shop`,
      '-o',
      'name',
    );
    expect(byState.trim()).toBe(`domain.nameplate.dev/${name}`);
    expect(await api.kubectl('get', 'domains', '--field-selector', 'status.state=Live', '-o', 'name')).toBe('');
  });

  test('get projects shows where it is and how its domains are', async () => {
    await api.apply(yaml('Project', 'columns', {service}));
    const [head = ''] = (await api.kubectl('get', 'projects', 'columns')).split('\n');
    expect(head.trim().split(/\s+/)).toEqual(['NAME', 'URL', 'READY', 'DOMAINS', 'AGE']);
    const byService = await api.kubectl('get', 'proj', '--field-selector', 'spec.service.name=shop', '-o', 'name');
    expect(byService).toContain('project.nameplate.dev/columns');
  });

  test('get apikeys shows how a key starts, whether it works, where it is, and when it expires', async () => {
    await api.apply(yaml('APIKey', 'columns', {scopes, expiresAt: '2027-01-01T00:00:00Z'}));
    const condition = {type: 'Active', status: 'True', reason: 'Active', message: 'It works.'};
    const status = {
      observedGeneration: 1,
      account: 'acme',
      secretName: 'columns-apikey',
      prefix: 'npk_abcdef',
      conditions: [{...condition, lastTransitionTime: '2026-01-01T00:00:00Z'}],
    };
    const patch = JSON.stringify({status});
    await api.kubectl('patch', 'apikey', 'columns', '--subresource', 'status', '--type', 'merge', '-p', patch);
    const [head = '', line = ''] = (await api.kubectl('get', 'akey', 'columns')).split('\n');
    expect(head.trim().split(/\s+/)).toEqual(['NAME', 'PREFIX', 'ACTIVE', 'REASON', 'SECRET', 'EXPIRES', 'AGE']);
    expect(line.split(/\s+/).slice(0, 6)).toEqual([
      'columns',
      'npk_abcdef',
      'True',
      'Active',
      'columns-apikey',
      '2027-01-01T00:00:00Z',
    ]);
    const found = (selector: string) => api.kubectl('get', 'apikeys', '--field-selector', selector, '-o', 'name');
    expect((await found('status.prefix=npk_abcdef')).trim()).toBe('apikey.nameplate.dev/columns');
    expect((await found('status.account=acme')).trim()).toBe('apikey.nameplate.dev/columns');
  });

  test('get domainclaims shows who holds what, and since when', async () => {
    const since = '2026-01-01T00:00:00Z';
    await api.apply(yaml('DomainClaim', 'claimed.example.com', {account: 'acme', namespace: 'default', since}));
    const [head = '', line = ''] = (await api.kubectl('get', 'dclaim')).split('\n');
    expect(head.trim().split(/\s+/)).toEqual(['NAME', 'ACCOUNT', 'NAMESPACE', 'SINCE', 'RELEASED']);
    expect(line.split(/\s+/).slice(0, 3)).toEqual(['claimed.example.com', 'acme', 'default']);
    const byAccount = await api.kubectl('get', 'dclaim', '--field-selector', 'spec.account=acme', '-o', 'name');
    expect(byAccount.trim()).toBe('domainclaim.nameplate.dev/claimed.example.com');
  });
});

describe.concurrent('kubectl and the records of keys', () => {
  test('get keyclaims shows whose key each one is and when it ends', async () => {
    const held = {account: 'acme', namespace: 'default', name: 'shop', uid: 'u', scopes};
    const name = 'c'.repeat(64);
    await api.apply(yaml('KeyClaim', name, {...held, expiresAt: '2027-01-01T00:00:00Z'}));
    const [head = '', ...lines] = (await api.kubectl('get', 'kclaim')).split('\n');
    expect(head.trim().split(/\s+/)).toEqual([
      'NAME',
      'ACCOUNT',
      'NAMESPACE',
      'APIKEY',
      'EXPIRES',
      'REPLACED',
      'RELEASED',
    ]);
    const line = lines.find(each => each.startsWith(name)) ?? '';
    expect(line.split(/\s+/).slice(0, 5)).toEqual([name, 'acme', 'default', 'shop', '2027-01-01T00:00:00Z']);
    const byAccount = await api.kubectl('get', 'kclaim', '--field-selector', 'spec.account=acme', '-o', 'name');
    expect(byAccount.trim()).toBe(`keyclaim.nameplate.dev/${name}`);
  });
});

describe.concurrent('GitOps', () => {
  const manifests = [
    yaml('Project', 'drift', {service, domains: {primary: 'a.example.com', redirects: [{from: 'www.example.com'}]}}),
    yaml('Domain', 'drift.example.com', {host: 'drift.example.com', projectRef, redirect: {to: 'a.example.com'}}),
    yaml('APIKey', 'drift', {scopes, rotation: {}, expiresAt: '2027-01-01T00:00:00Z'}),
  ];

  test.each(manifests.map(manifest => ({kind: (JSON.parse(manifest) as {kind: string}).kind, manifest})))(
    'what was applied comes back as it was: no default appears in the spec of a $kind',
    async ({manifest}) => {
      const applied = JSON.parse(manifest) as {kind: string; metadata: {name: string}; spec: unknown};
      // Applied twice, because a create does not store the default of `status`, but the next write of any kind does.
      await api.apply(manifest);
      await api.apply(manifest);
      const [kind, name] = [applied.kind, applied.metadata.name];
      const get = async () => JSON.parse(await api.kubectl('get', kind, name, '-o', 'json')) as Live;
      const live = await get();
      expect(live.spec).toEqual(applied.spec);
      expect(live.status, 'kstatus: no object that nobody has seen is current').toEqual({observedGeneration: -1});
      await api.apply(manifest);
      expect((await get()).metadata.resourceVersion).toBe(live.metadata.resourceVersion);
    },
  );
});

interface Live {
  readonly spec: unknown;
  readonly status: unknown;
  readonly metadata: {readonly resourceVersion: string};
}

interface Schema {
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
}

/** The paths of fields without a description. `metadata` is Kubernetes' own. */
function undescribed(schema: Schema, path: string): string[] {
  const own = schema.description ? [] : [path];
  const properties = Object.entries(schema.properties ?? {}).filter(([name]) => name !== 'metadata');
  const inner = properties.flatMap(([name, property]) => undescribed(property, `${path}.${name}`));
  const items = Object.entries(schema.items?.properties ?? {});
  return [...own, ...inner, ...items.flatMap(([name, property]) => undescribed(property, `${path}[].${name}`))];
}
