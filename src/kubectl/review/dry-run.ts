/** Sends an object again as a tenant would create it. The policies themselves decide, so no rule exists twice. */

import {apiVersionOf, type DeepReadonly, type KubeObject, type ResourceType} from '../../runtime/kube/object.ts';
import {collectionPath} from '../../runtime/kube/paths.ts';
import type {Clock} from '../../time/clock.ts';
import type {ApiAnswer, Call} from './call.ts';

export interface DryRun {
  readonly call: Call;
  readonly clock: Pick<Clock, 'sleep'>;
  readonly signal: AbortSignal;
  /** The user to impersonate. */
  readonly user: string;
  /** The names of the policies. */
  readonly policies: ReadonlySet<string>;
}

/** `refusals`: the name and the message of each policy that refuses the object. */
export type DryRunVerdict = {readonly refusals: readonly string[]} | {readonly unchecked: string};

/** In total, twice as long as an API server may take to notice a right. */
const RETRIES = 7;
const RETRY_MS = 250;

export async function dryRun(
  {call, clock, signal, user, policies}: DryRun,
  resource: ResourceType,
  object: DeepReadonly<KubeObject>,
): Promise<DryRunVerdict> {
  const path = `${collectionPath(resource, object.metadata.namespace)}?dryRun=All`;
  const body = {...resendable(object), apiVersion: apiVersionOf(resource), kind: resource.kind};
  for (let retries = 0; ; retries++) {
    const answer = await call({method: 'POST', path, body, as: user});
    const mayNot = answer.status === 403 && answer.message.includes(`User "${user}" cannot create`);
    if (!mayNot && answer.status !== 429) return verdictOf(answer, policies);
    if (retries === RETRIES) throw new Error(`the dry runs were not accepted: ${answer.message}`);
    await clock.sleep(RETRY_MS * 2 ** retries, signal);
  }
}

interface ServiceSpec {
  readonly clusterIP?: string;
  readonly ports?: readonly {readonly nodePort?: number}[];
  readonly [field: string]: unknown;
}

const CLASS = 'kubernetes.io/ingress.class';

/** Without the fields that the API server assigns. */
export function resendable(object: DeepReadonly<KubeObject>): KubeObject {
  const {apiVersion, kind, metadata, status: _, ...content} = object as DeepReadonly<KubeObject> & {status?: unknown};
  const {name, namespace = '', labels = {}, annotations = {}} = metadata;
  const copy = {apiVersion, kind, metadata: {name, namespace, labels, annotations}, ...content};
  if (apiVersion === 'v1' && kind === 'Service') return withoutAddresses(copy);
  return kind === 'Ingress' ? withoutDefaultClass(copy) : copy;
}

type Copy = KubeObject & {readonly spec?: unknown};

function withoutAddresses(service: Copy): KubeObject {
  const {clusterIP, clusterIPs: _, healthCheckNodePort: __, ports, ...spec} = (service.spec ?? {}) as ServiceSpec;
  const portsToSend = ports?.map(({nodePort: ___, ...port}) => port);
  const kept = {...(clusterIP === 'None' && {clusterIP}), ...(portsToSend && {ports: portsToSend})};
  return {...service, spec: {...spec, ...kept}} as KubeObject;
}

/** The API server may add the default class to an Ingress without one. An empty class means the same to the policies. */
function withoutDefaultClass(ingress: Copy): KubeObject {
  const {annotations = {}} = ingress.metadata;
  const {ingressClassName} = (ingress.spec ?? {}) as {readonly ingressClassName?: string};
  if (ingressClassName !== undefined || CLASS in annotations) return ingress;
  return {...ingress, metadata: {...ingress.metadata, annotations: {...annotations, [CLASS]: ''}}};
}

const WARNING = /^Validation failed for ValidatingAdmissionPolicy '([^']+)' with binding '[^']+': (.*)$/s;
const DENIAL = /ValidatingAdmissionPolicy '([^']+)' with binding '[^']+' denied request: (.*)$/s;

/**
 * The API server evaluates the policies before it checks whether the name exists, so 409 (AlreadyExists) means that they
 * were evaluated. Quotas also come after them. Any other rejection may have come first. Nothing can be created in a
 * namespace that is being deleted, so nothing there matters.
 */
export function verdictOf({status, message, warnings}: ApiAnswer, policies: ReadonlySet<string>): DryRunVerdict {
  const said = [...warnings.map(text => WARNING.exec(text)), status < 300 ? null : DENIAL.exec(message)];
  const refusals = said.flatMap(match => {
    const [, name = '', text = ''] = match ?? [];
    return policies.has(name) ? [`${name}: ${text.trim()}`] : [];
  });
  const wereAsked =
    refusals.length > 0 ||
    status < 300 ||
    status === 409 ||
    (status === 403 && /exceeded quota|because it is being terminated/.test(message));
  return wereAsked ? {refusals: [...new Set(refusals)]} : {unchecked: `${status} ${message}`};
}
