/** The rights that the chart renders, without a cluster. */
import {join} from 'node:path';
import {renderTemplates} from '../../support/helm-template.ts';

const ROOT = join(import.meta.dirname, '../../..');

/** All roles, the service accounts, and the admission policies that check them. `helm`: path of the program. */
export function renderRoles(helm: string, ...further: readonly string[]): Promise<string> {
  const files = [
    'admission*',
    'rbac',
    'serviceaccount',
    'tenant-roles',
    'platform-role',
    'messages-rbac',
    'nameserver-rbac',
  ];
  const values = [
    '--values',
    join(ROOT, 'examples/values.yaml'),
    '--set',
    'messages.enabled=true,messages.host=api.example.net',
    '--set',
    'nameserver.enabled=true,nameserver.names={ns1.example.net},config.platform.acmeDomain=acme.example.net',
  ];
  return renderTemplates(helm, files, [...values, ...further]);
}
