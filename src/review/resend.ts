/** Turns an object into one that a tenant would create, and interprets the API server's response. */
import type {DeepReadonly, KubeObject} from '../runtime/kube/object.ts';
import type {ApiAnswer} from './api.ts';
import type {Policy, Rule} from './policies.ts';

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

/**
 * The API server may add the default class to an Ingress without one. The policies judge an empty class in the same
 * way.
 */
function withoutDefaultClass(ingress: Copy): KubeObject {
  const {annotations = {}} = ingress.metadata;
  const {ingressClassName} = (ingress.spec ?? {}) as {readonly ingressClassName?: string};
  if (ingressClassName !== undefined || CLASS in annotations) return ingress;
  return {...ingress, metadata: {...ingress.metadata, annotations: {...annotations, [CLASS]: ''}}};
}

export interface PolicyRefusal {
  readonly rule: Rule;
  readonly message: string;
}
/** `refusals` is empty if the policies allow the object. */
export type DryRunVerdict = {readonly refusals: readonly PolicyRefusal[]} | {readonly unjudged: string};

const WARNING = /^Validation failed for ValidatingAdmissionPolicy '([^']+)' with binding '[^']+': (.*)$/s;
const DENIAL = /ValidatingAdmissionPolicy '([^']+)' with binding '[^']+' denied request: (.*)$/s;

/**
 * The API server evaluates the policies before it checks whether the name exists, so `AlreadyExists` means that they
 * were evaluated. Quotas also come after them. Any other rejection may have come first.
 */
export function verdictOf({status, reason, message, warnings}: ApiAnswer, policies: readonly Policy[]): DryRunVerdict {
  const denial = status < 300 ? null : DENIAL.exec(message);
  const said = [...warnings.map(text => WARNING.exec(text)), denial].flatMap(match => (match ? [match] : []));
  const refusals = said.flatMap(([, name, text = '']) => {
    const policy = policies.find(each => each.name === name);
    return policy ? [{rule: policy.rule, message: text.trim()}] : [];
  });
  if (refusals.length > 0) return {refusals: unique(refusals)};
  // If several policies deny, only one is reported: a foreign one may hide ours, but it does not hide warnings.
  const wasHidden = denial !== null && policies.some(({mode}) => mode === 'enforce');
  const wereAsked =
    status < 300 ||
    (status === 409 && reason === 'AlreadyExists') ||
    (status === 403 && message.includes('exceeded quota')) ||
    (denial !== null && !wasHidden);
  return wereAsked ? {refusals} : {unjudged: `${status} ${message}`};
}

function unique(refusals: readonly PolicyRefusal[]): PolicyRefusal[] {
  return [...new Map(refusals.map(each => [`${each.rule} ${each.message}`, each])).values()];
}
