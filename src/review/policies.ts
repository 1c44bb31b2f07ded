/** Finds Nameplate in the cluster: its admission policies, what they do, and the configuration of the operator. */
import {parse} from 'yaml';
import {operatorConfigDefinition} from '../operator/config-schema.ts';
import type {OperatorConfig} from '../operator/model/config.ts';
import {parseConfig} from '../process/load-config.ts';
import type {KubeClient} from '../runtime/kube/client.ts';
import {type DeepReadonly, type KubeObject, resourceType} from '../runtime/kube/object.ts';
import {listAll} from './api.ts';

interface ResourceRule {
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly operations?: readonly string[];
}
export interface PolicyObject extends KubeObject {
  spec: {matchConstraints?: {resourceRules?: ResourceRule[]}};
}
export interface BindingObject extends KubeObject {
  spec: {policyName: string; validationActions?: string[]};
}
interface ConfigMap extends KubeObject {
  data?: Record<string, string>;
}

const ADMISSION = 'admissionregistration.k8s.io/v1';
const POLICY = resourceType<PolicyObject>(
  ADMISSION,
  'ValidatingAdmissionPolicy',
  'validatingadmissionpolicies',
  'cluster',
);
const BINDING = resourceType<BindingObject>(
  ADMISSION,
  'ValidatingAdmissionPolicyBinding',
  'validatingadmissionpolicybindings',
  'cluster',
);
const CONFIG_MAP = resourceType<ConfigMap>('v1', 'ConfigMap', 'configmaps');

/** The endings of the chart's policy names. Only these policies check objects that a tenant creates. */
export const RULES = [
  'routes',
  'issuers',
  'certificates',
  'solver-objects',
  'next-private-keys',
  'edge-addresses',
  'dns-names',
  'managed-objects',
  'challenges',
] as const;
export type Rule = (typeof RULES)[number];

export interface Policy {
  readonly name: string;
  readonly rule: Rule;
  /** `silent`: neither the writer nor the review gets the policy's message. */
  readonly mode: 'enforce' | 'audit' | 'silent';
  /** The resources whose creation it checks, as the policy names them. A star means all. */
  readonly matches: readonly {readonly group: string; readonly resource: string}[];
}

/** Whether the policy is the chart's, with any release name. */
function isOfChart({metadata}: DeepReadonly<KubeObject>): boolean {
  return /^nameplate-\d/.test(metadata.labels?.['helm.sh/chart'] ?? '');
}

/** Empty: Nameplate's policies are not installed. */
export async function findPolicies(client: KubeClient, signal: AbortSignal): Promise<readonly Policy[]> {
  const policies = await listAll(client, POLICY, {signal});
  const bindings = await listAll(client, BINDING, {signal});
  return policiesOf(policies.filter(isOfChart), bindings);
}

export function policiesOf(
  policies: readonly DeepReadonly<PolicyObject>[],
  bindings: readonly DeepReadonly<BindingObject>[],
): readonly Policy[] {
  return policies.flatMap(({metadata: {name}, spec}) => {
    const rule = RULES.find(each => name.endsWith(`-${each}`));
    const bound = bindings.filter(binding => binding.spec.policyName === name);
    if (!rule || bound.length === 0) return [];
    const actions = new Set(bound.flatMap(binding => binding.spec.validationActions ?? []));
    const mode = actions.has('Deny') ? 'enforce' : actions.has('Warn') ? 'audit' : 'silent';
    const rules = spec.matchConstraints?.resourceRules ?? [];
    const judged = rules.filter(({operations = []}) => operations.some(each => each === 'CREATE' || each === '*'));
    const matches = judged.flatMap(({apiGroups = [], resources = []}) =>
      apiGroups.flatMap(group => resources.map(resource => ({group, resource}))),
    );
    return [{name, rule, mode, matches}];
  });
}

/** From the ConfigMap of the release; undefined if there is none. Throws ConfigError. */
export async function findConfig(client: KubeClient, signal: AbortSignal): Promise<OperatorConfig | undefined> {
  const found = await listAll(client, CONFIG_MAP, {labelSelector: 'app.kubernetes.io/component=operator', signal});
  const ours = found.filter(isOfChart).find(({data}) => data?.[CONFIG_KEY] !== undefined);
  if (!ours) return undefined;
  const {namespace, name} = ours.metadata;
  return parseConfig(ours.data?.[CONFIG_KEY] ?? '', `the ConfigMap ${namespace}/${name}`, operatorConfigDefinition);
}

const CONFIG_KEY = 'nameplate.yaml';

/** The text of a configuration file, or of the chart's ConfigMap as `helm template` prints it. Throws ConfigError. */
export function readConfig(text: string, source: string): OperatorConfig {
  const map = mapIn(text)?.data?.[CONFIG_KEY];
  return parseConfig(map ?? text, source, operatorConfigDefinition);
}

function mapIn(text: string): ConfigMap | undefined {
  try {
    return parse(text) as ConfigMap | undefined;
  } catch {
    return undefined; // parseConfig says what is wrong with it
  }
}
