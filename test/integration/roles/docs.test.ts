/** docs/rbac.md says what the chart grants, rule by rule. */
import {readFile} from 'node:fs/promises';
import {join} from 'node:path';
import {expect, test} from 'vitest';
import {parseAllDocuments} from 'yaml';
import {ensurePrograms, HELM} from '../../cluster/programs.ts';
import {renderRoles} from './chart.ts';

interface Role {
  readonly kind?: string;
  readonly metadata: {readonly name: string};
  readonly rules: readonly {
    readonly apiGroups: readonly string[];
    readonly resources: readonly string[];
    readonly verbs: readonly string[];
  }[];
}

const docs = await readFile(join(import.meta.dirname, '../../../docs/rbac.md'), 'utf8');
const helm = (await ensurePrograms([HELM])).path('helm');
const rendered = await renderRoles(helm);
const roles = rolesIn(rendered);
const onGateway = rolesIn(await renderRoles(helm, '--set', 'config.routing.provider=gateway'));
const withWildcards = rolesIn(
  await renderRoles(helm, '--set', 'config.routing.provider=gateway,config.routing.gateway.clientTrafficPolicy=any'),
);

test.each([
  {section: 'operator', name: 'nameplate'},
  {section: 'messages', name: 'nameplate-messages'},
  {section: 'nameserver', name: 'nameplate-nameserver'},
])('the table of the $section', ({section, name}) => {
  expect([...new Set(documented(section))]).toEqual([...rightsOf(roles, name)].sort());
});

test('the table of the operator on a Gateway', () => {
  const [usual, others] = [rightsOf(roles, 'nameplate'), rightsOf(onGateway, 'nameplate')];
  expect(documented('gateway')).toEqual([...others.difference(usual)].sort());
  const replaced = [...usual.difference(others)].map(right => right.split(' ')[1]);
  expect(new Set(replaced)).toEqual(new Set(['ingressclasses', 'ingresses', 'middlewares']));
});

test('the table of the operator on a Gateway with wildcards', () => {
  const [usual, others] = [rightsOf(onGateway, 'nameplate'), rightsOf(withWildcards, 'nameplate')];
  expect(documented('gateway-wildcards')).toEqual([...others.difference(usual)].sort());
  expect(usual.difference(others).size).toBe(0);
});

test('while a platform moves to a Gateway, the operator has the rights of both', async () => {
  const moving = ['--set', 'config.routing.provider=gateway,config.routing.movingFrom=traefik'];
  const both = rightsOf(rolesIn(await renderRoles(helm, ...moving)), 'nameplate');
  expect(both).toEqual(rightsOf(roles, 'nameplate').union(rightsOf(onGateway, 'nameplate')));
});

function rolesIn(manifests: string): readonly (Role | null)[] {
  return parseAllDocuments(manifests).map(document => document.toJS() as Role | null);
}

/** The rights as "group resource verb". */
function rightsOf(from: readonly (Role | null)[], name: string): ReadonlySet<string> {
  const granted = from.filter(role => role?.kind?.endsWith('Role') && role.metadata.name === name);
  const rights = granted
    .flatMap(role => role?.rules ?? [])
    .flatMap(({apiGroups, resources, verbs}) =>
      apiGroups.flatMap(group => resources.flatMap(resource => verbs.map(verb => `${group} ${resource} ${verb}`))),
    );
  return new Set(rights);
}

test('every role that the chart creates is named', () => {
  const made = roles.filter(role => role?.kind === 'ClusterRole').map(role => role?.metadata.name ?? '');
  const explained = new Set([
    'nameplate',
    'nameplate-messages',
    'nameplate-nameserver',
    'nameplate-view',
    'nameplate-edit',
  ]);
  const unnamed = made.filter(name => !explained.has(name) && !docs.includes(`\`${name}\``));
  expect(unnamed).toEqual([]);
  expect(made.length).toBeGreaterThan(explained.size);
});

/** The sorted rights from the tables between a section's markers, as "group resource verb". */
function documented(section: string): string[] {
  const [, text = ''] = new RegExp(`<!-- ${section}: begin -->(.*)<!-- ${section}: end -->`, 's').exec(docs) ?? [];
  const rows = text.split('\n').filter(line => /^\| (`|core )/.test(line));
  const rights = rows.flatMap(row => {
    const [, group = '', resources = '', verbs = ''] = row.split('|').map(cell => cell.replaceAll('`', '').trim());
    const names = resources.split(', ').flatMap(resource => verbs.split(', ').map(verb => `${resource} ${verb}`));
    return names.map(name => `${group === 'core' ? '' : group} ${name}`);
  });
  return rights.sort();
}
