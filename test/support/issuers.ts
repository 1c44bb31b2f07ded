/** Each tenant of the e2e tests has its own Issuer, so that a test can choose or remove it. */
import * as kinds from '../../src/operator/model/kinds.ts';
import type {KubeClient} from '../../src/runtime/kube/client.ts';
import type {KubeObject, ResourceType} from '../../src/runtime/kube/object.ts';
import type {ClusterInfo} from '../cluster/cluster.ts';

/** The Issuer that the operator is configured to use in every namespace. */
export const ISSUER_NAME = 'certificates';

/** The platform of the tests approves Certificates that tenants create themselves from an Issuer with this name. */
export const TENANTS_ISSUER = 'own';

interface Applied {
  readonly resource: ResourceType;
  readonly object: KubeObject;
}

/** `acme`: the platform's ACME CA, with the tenant's own account. `fast`: the cluster's CA, which signs immediately. */
export function issuerObjects(
  client: KubeClient,
  {issuers}: ClusterInfo,
  namespace: string,
  kind: 'acme' | 'fast',
): Promise<Applied[]> {
  return kind === 'acme' ? acmeIssuer(client, issuers.acme, namespace) : fastIssuer(client, issuers.fast, namespace);
}

async function acmeIssuer(client: KubeClient, platformIssuer: string, namespace: string): Promise<Applied[]> {
  const platform = (await client.get(kinds.CLUSTER_ISSUER, {name: platformIssuer})) as
    | {spec?: {acme: object}}
    | undefined;
  const acme = {...platform?.spec?.acme, privateKeySecretRef: {name: 'acme-account'}};
  return [issuer(namespace, {acme})];
}

async function fastIssuer(client: KubeClient, caSecret: string, namespace: string): Promise<Applied[]> {
  const ca = (await client.get(kinds.SECRET, {namespace: 'cert-manager', name: caSecret})) as
    | {data?: object}
    | undefined;
  const metadata = {namespace, name: 'ca'};
  const secret = {apiVersion: 'v1', kind: 'Secret', metadata, type: 'kubernetes.io/tls', data: ca?.data};
  return [{resource: kinds.SECRET, object: secret}, issuer(namespace, {ca: {secretName: 'ca'}})];
}

function issuer(namespace: string, spec: object): Applied {
  const object = {apiVersion: 'cert-manager.io/v1', kind: 'Issuer', metadata: {namespace, name: ISSUER_NAME}, spec};
  return {resource: kinds.ISSUER, object};
}
