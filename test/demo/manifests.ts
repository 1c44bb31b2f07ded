/** What a tenant applies in the story. Pure. */

/** The Project shop. `domains` are the lines of its spec.domains. */
export function shop(...domains: readonly string[]): string {
  return projectManifest('acme', 'shop', domains);
}

export function projectManifest(namespace: string, name: string, domains: readonly string[]): string {
  const lines = domains.length > 0 ? ['  domains:', ...domains.map(line => `    ${line}`)] : [];
  return [
    'apiVersion: nameplate.dev/v1alpha1',
    'kind: Project',
    `metadata: {name: ${name}, namespace: ${namespace}}`,
    'spec:',
    `  service: {name: ${name}, port: 80}`,
    ...lines,
  ].join('\n');
}

export function apiKey(namespace: string, name: string): string {
  return [
    'apiVersion: nameplate.dev/v1alpha1',
    'kind: APIKey',
    `metadata: {name: ${name}, namespace: ${namespace}}`,
    "spec: {scopes: ['messages:write', 'messages:read', 'messages:process']}",
  ].join('\n');
}

export function domainManifest(namespace: string, host: string, projectName: string): string {
  return [
    'apiVersion: nameplate.dev/v1alpha1',
    'kind: Domain',
    `metadata: {name: ${host}, namespace: ${namespace}}`,
    `spec: {host: ${host}, projectRef: {name: ${projectName}}}`,
  ].join('\n');
}
