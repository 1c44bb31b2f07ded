/** Checks a cluster's existing objects against the rules for new writes and certificate requests. */
import type {OperatorConfig} from '../operator/model/config.ts';
import {NAMESPACE} from '../operator/model/kinds.ts';
import type {KubeObject} from '../runtime/kube/object.ts';
import {DeafError, type DryRun, findDeafness, judgeByPolicies, RightsLostError} from './admission.ts';
import {listAll} from './api.ts';
import {judgeByApprover} from './approval.ts';
import type {Finding, ReviewContext, Unjudged} from './finding.ts';
import {matchedKinds} from './kinds.ts';
import {findConfig, findPolicies, type Policy, RULES} from './policies.ts';
import {lendRights, removeRights} from './rights.ts';

export interface Review {
  readonly objects: {readonly byPolicies: number; readonly byApprover: number};
  readonly findings: readonly Finding[];
  /** In exemptNamespaces, where only the platform writes. */
  readonly ofPlatform: readonly Finding[];
  readonly unjudged: readonly Unjudged[];
  readonly notes: readonly string[];
}

/** `given`: the configuration to use instead of the installed one. */
export async function review(context: ReviewContext, given: OperatorConfig | undefined): Promise<Review> {
  const namespaces = await listAll(context.client, NAMESPACE, {signal: context.signal});
  if (context.namespace !== undefined && !namespaces.some(({metadata}) => metadata.name === context.namespace)) {
    throw new Error(`namespace ${context.namespace} does not exist`);
  }
  const policies = await findPolicies(context.client, context.signal);
  const config = given ?? (await findConfig(context.client, context.signal));
  const unjudged = [...missing(policies, config)];
  const byPolicies = await judgePolicies(context, policies, config, namespaces, unjudged);
  const byApprover = config && (await judgeByApprover(context, config, namespaces));
  const exempt = new Set(config?.certificates.approval.exemptNamespaces);
  const findings = merged([...(byPolicies?.findings ?? []), ...(byApprover?.findings ?? [])]);
  return {
    objects: {byPolicies: byPolicies?.objects ?? 0, byApprover: byApprover?.objects ?? 0},
    findings: findings.filter(({namespace}) => !exempt.has(namespace)),
    ofPlatform: findings.filter(({namespace}) => exempt.has(namespace)),
    unjudged: [...unjudged, ...(byPolicies?.unjudged ?? []), ...(byApprover?.unjudged ?? [])],
    notes: notesOn(policies, config),
  };
}

async function judgePolicies(
  context: ReviewContext,
  installed: readonly Policy[],
  config: OperatorConfig | undefined,
  namespaces: readonly KubeObject[],
  unjudged: Unjudged[],
) {
  const policies = installed.filter(({mode}) => mode !== 'silent');
  if (policies.length === 0) return undefined;
  const kinds = await matchedKinds(policies, context.call, context.signal);
  const leaving = new Set(
    namespaces.flatMap(({metadata}) => (metadata.deletionTimestamp === undefined ? [] : [metadata.name])),
  );
  try {
    const user = await lendRights(context.client, kinds, context.namespace, context.signal);
    const run: DryRun = {user, policies, edgeClass: config?.routing.ingressClassName};
    const unsure = await findDeafness(context, run, context.namespace ?? 'default');
    if (unsure !== undefined) unjudged.push({what: 'Whether the policies answer', why: unsure});
    return await judgeByPolicies(context, run, kinds, name => leaving.has(name));
  } catch (error) {
    if (!(error instanceof DeafError || error instanceof RightsLostError)) throw error;
    unjudged.push({what: 'Everything that the admission policies judge', why: error.message});
    return undefined;
  } finally {
    await removeRights(context.client); // and those of a review that was killed
  }
}

function missing(policies: readonly Policy[], config: OperatorConfig | undefined): readonly Unjudged[] {
  const noPolicies = {
    what: 'Everything that the admission policies judge',
    why: 'No admission policy of Nameplate is installed. Install the chart with admission.mode=audit: in this mode, the policies reject nothing.',
  };
  const noConfig = {
    what: 'Certificates, certificate requests, and Issuers',
    why: 'The cluster has no ConfigMap of a Nameplate release. Install the chart, or pass its configuration with --config.',
  };
  const silent = policies.filter(({mode}) => mode === 'silent');
  return [
    ...(policies.length === 0 ? [noPolicies] : []),
    ...silent.map(({name}) => ({
      what: `By policy ${name}`,
      why: 'The binding of this policy neither denies nor warns.',
    })),
    ...(config ? [] : [noConfig]),
  ];
}

function notesOn(policies: readonly Policy[], config: OperatorConfig | undefined): readonly string[] {
  const off = RULES.filter(rule => policies.length > 0 && !policies.some(policy => policy.rule === rule));
  const enforced = policies.some(({mode}) => mode === 'enforce');
  return [
    ...(off.length > 0 ? [`These policies are off, so the review does not apply them: ${off.join(', ')}.`] : []),
    ...(enforced
      ? ['In enforce mode, the API server reports one reason per object. Fix it, then run the review again.']
      : []),
    ...(config && !config.certificates.approval.enabled
      ? ['config.certificates.approval.enabled is false. The review checks Certificates as if it were true.']
      : []),
  ];
}

/** One finding per object, sorted by namespace. */
function merged(findings: readonly Finding[]): readonly Finding[] {
  const byObject = Map.groupBy(findings, ({kind, namespace, name}) => `${namespace} ${kind} ${name}`);
  return [...byObject]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([, same]) => {
      const [first] = same;
      return first ? [{...first, reasons: same.flatMap(({reasons}) => reasons)}] : [];
    });
}
