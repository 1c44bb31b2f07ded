/** docs/rbac.md says what the chart grants, rule by rule. */
import {readFile} from 'node:fs/promises';
import {join} from 'node:path';
import {expect, test} from 'vitest';
import {parseAllDocuments} from 'yaml';
import {ensurePrograms} from '../../cluster/programs.ts';
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
const rendered = await renderRoles((await ensurePrograms(['helm'])).path('helm'));
const roles = parseAllDocuments(rendered).map(document => document.toJS() as Role | null);

test.each([
  {section: 'operator', name: 'nameplate'},
  {section: 'messages', name: 'nameplate-messages'},
])('the table of the $section', ({section, name}) => {
  const granted = roles.filter(role => role?.kind?.endsWith('Role') && role.metadata.name === name);
  const rights = granted
    .flatMap(role => role?.rules ?? [])
    .flatMap(({apiGroups, resources, verbs}) =>
      apiGroups.flatMap(group => resources.flatMap(resource => verbs.map(verb => `${group} ${resource} ${verb}`))),
    );
  expect(documented(section)).toEqual([...new Set(rights)].sort());
});

test('every role that the chart creates is named', () => {
  const made = roles.filter(role => role?.kind === 'ClusterRole').map(role => role?.metadata.name ?? '');
  const explained = new Set(['nameplate', 'nameplate-messages', 'nameplate-view', 'nameplate-edit']);
  const unnamed = made.filter(name => !explained.has(name) && !docs.includes(`\`${name}\``));
  expect(unnamed).toEqual([]);
  expect(made.length).toBeGreaterThan(explained.size);
});

/** Sorted "group resource verb", from the tables between the markers of a section. */
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
