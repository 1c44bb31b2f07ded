/** A tenant's real workloads in the e2e tests, in addition to objects.ts, and kinds that the operator does not know. */
import type {KubeObject, ResourceType} from '../../src/runtime/kube/object.ts';

export interface Deployment extends KubeObject {
  spec?: {replicas?: number; selector?: {matchLabels?: Record<string, string>}; [field: string]: unknown};
  status?: {readyReplicas?: number; updatedReplicas?: number; observedGeneration?: number};
}
export interface Pod extends KubeObject {
  status?: {phase?: string; conditions?: {type: string; status: string}[]};
}

/** A namespaced kind with a regular plural. */
export const kindOf = <T extends KubeObject>(group: string, kind: string, version = 'v1'): ResourceType<T> => ({
  group,
  version,
  kind,
  plural: `${kind.toLowerCase()}s`,
  namespaced: true,
});

export const DEPLOYMENT: ResourceType<Deployment> = kindOf('apps', 'Deployment');
export const POD: ResourceType<Pod> = kindOf('', 'Pod');
export const CERTIFICATE_REQUEST = kindOf('cert-manager.io', 'CertificateRequest');
export const ORDER = kindOf('acme.cert-manager.io', 'Order');

/** Marks tenants' namespaces, so that a later run in the same cluster finds those left by an earlier one. */
export const TENANT_LABEL = 'test.nameplate.dev/tenant';

export function runningService(namespace: string, name: string) {
  const ports = [{name: 'http', port: 80, targetPort: 8080}];
  return {apiVersion: 'v1', kind: 'Service', metadata: {namespace, name}, spec: {selector: {app: name}, ports}};
}

/** The web server of test/cluster/programs/web, which answers with `status` and, in the body, `text=` and its name. */
export function deployment(namespace: string, name: string, status = 200) {
  const httpGet = {path: '/healthz', port: 8080};
  const container = {
    name: 'web',
    image: 'localhost/nameplate/web:test',
    imagePullPolicy: 'Never',
    env: [
      {name: 'TEXT', value: name},
      {name: 'STATUS', value: `${status}`},
    ],
    // Without a request, a pod gets next to no CPU on a busy machine.
    resources: {requests: {cpu: '10m'}},
    // The pod is ready within a second of its start. After that, probes are rare, to spare a busy node.
    startupProbe: {httpGet, periodSeconds: 1, timeoutSeconds: 5, failureThreshold: 120},
    readinessProbe: {httpGet, periodSeconds: 10, timeoutSeconds: 10},
  };
  const spec = {
    selector: {matchLabels: {app: name}},
    template: {
      metadata: {labels: {app: name}},
      spec: {containers: [container], terminationGracePeriodSeconds: 0, enableServiceLinks: false},
    },
  };
  return {apiVersion: 'apps/v1', kind: 'Deployment', metadata: {namespace, name}, spec};
}
