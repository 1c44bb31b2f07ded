/** Requests about the tenant's namespace. Changes are dry runs. */

export const ACME = 'acme';

export interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly body?: object;
}

export const DRY_RUN = '?dryRun=All';
export const RBAC = ofTenant('rbac.authorization.k8s.io/v1', '');

/** The path of a resource in the tenant's namespace. */
export function ofTenant(group: string, resource: string): string {
  return `/apis/${group}/namespaces/${ACME}/${resource}`;
}

export function creation(path: string, body: object): ApiRequest {
  return {method: 'POST', path: path + DRY_RUN, body};
}

export function change(path: string, body: object): ApiRequest {
  return {method: 'PATCH', path: path + DRY_RUN, body};
}
