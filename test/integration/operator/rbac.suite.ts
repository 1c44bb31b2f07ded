/** Compares the chart's rights with what the operator really requested in all previous tests. */
import {expect, test} from 'vitest';
import {RELEASE} from '../../support/install.ts';
import type {OperatorWorld} from './operator-world.ts';

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

/** Rights that these tests do not use, and why they are needed. */
const UNUSED: readonly {readonly right: RegExp; readonly because: string}[] = [
  {right: /^list /, because: 'only where the API server cannot stream the first list of a cache (KEP-3157)'},
  {
    right: /acmeissuers\/status|configmaps|certificaterequests\/status/,
    because: 'only an ACMEIssuer needs them: integration/certificate',
  },
  {right: /^(get|delete) certificaterequests/, because: 'only with an ACMEIssuer, or if the operator approves'},
  {right: /^get leases/, because: 'cert-manager has no Lease here'},
];

export function rbacSuite(world: () => OperatorWorld): void {
  test('the operator was refused nothing', async () => {
    const events = await world().audit.events();
    const refused = events.filter(({responseStatus: {code, message = ''} = {}}) => {
      const goes = message.endsWith('because it is being terminated'); // a namespace is; no right would help
      return code === 403 && !goes;
    });
    expect([...new Set(refused.map(({verb, requestURI}) => `${verb} ${requestURI}`))]).toEqual([]);
  });

  test('every right that the chart grants was used', async () => {
    const used = new Set<string>();
    for (const {verb, objectRef} of await world().audit.events()) {
      if (!objectRef) continue;
      const {resource, subresource, apiGroup = ''} = objectRef;
      const name = [subresource ? `${resource}/${subresource}` : resource, apiGroup].filter(Boolean).join('.');
      used.add(`${verb} ${name}`);
    }
    const granted = await rights(world());
    const unused = granted.filter(right => !used.has(right));
    expect(unused.filter(right => !UNUSED.some(exception => exception.right.test(right)))).toEqual([]);
  });
}

async function rights({api}: OperatorWorld): Promise<string[]> {
  const roles = [await api.kubectl('get', 'clusterrole', 'nameplate', '-o', 'json')];
  roles.push(await api.kubectl('get', 'role', 'nameplate', '-n', RELEASE.namespace, '-o', 'json'));
  const rules = roles.flatMap(text => (JSON.parse(text) as {rules: Rule[]}).rules);
  return rules.flatMap(({apiGroups, resources, verbs}) =>
    apiGroups.flatMap(group =>
      resources.flatMap(resource => verbs.map(verb => `${verb} ${[resource, group].filter(Boolean).join('.')}`)),
    ),
  );
}
