/**
 * Checks existing objects against the admission policies: the review resubmits each object as a dry run, as a user
 * without Nameplate's trust. The policies themselves decide, so there is no second copy of their rules.
 */
import {INGRESS, SERVICE} from '../operator/model/kinds.ts';
import {TransportError} from '../runtime/kube/errors.ts';
import {apiVersionOf, type KubeObject, keyOf, type ResourceType, resourceName} from '../runtime/kube/object.ts';
import {collectionPath} from '../runtime/kube/paths.ts';
import {policyReason} from './advice.ts';
import {type ApiAnswer, listAll} from './api.ts';
import {type Finding, findingOf, type Judged, type ReviewContext, type Unjudged} from './finding.ts';
import {METADATA_ONLY} from './kinds.ts';
import type {Policy, Rule} from './policies.ts';
import {type DryRunVerdict, resendable, verdictOf} from './resend.ts';
import {isByNameplate, isTrusted, type TrustedObjects} from './trusted-objects.ts';

/** The user to impersonate, and the policies to check. */
export interface DryRun {
  readonly user: string;
  readonly policies: readonly Policy[];
  /** The IngressClass of the configuration. */
  readonly edgeClass: string | undefined;
}

/** Equals the client's number of connections. */
const CONCURRENCY = 8;
const RETRIES = 5;
const RETRY_MS = 250;
/** How long an API server may take to notice a new right or policy. */
const SETTLE_MS = 15_000;

export async function judgeByPolicies(
  context: ReviewContext,
  dryRun: DryRun,
  kinds: readonly ResourceType[],
  isLeaving: (namespace: string) => boolean,
): Promise<Judged> {
  const trusted = await trustedObjects(context);
  const findings: Finding[] = [];
  const unjudged: Unjudged[] = [];
  let count = 0;
  for (const resource of kinds) {
    const objects = (await objectsOf(context, resource)).filter(
      ({metadata}) => metadata.deletionTimestamp === undefined && !isLeaving(metadata.namespace ?? ''),
    );
    const ofTenants = objects.filter(object => !isTrusted(object, trusted));
    count += objects.length;
    await inParallel(ofTenants, async object => {
      const verdict = await judge(context, dryRun, resource, object);
      if ('unjudged' in verdict) unjudged.push({what: `${resource.kind} ${keyOf(object)}`, why: verdict.unjudged});
      else if (verdict.refusals.length > 0) {
        const reasons = verdict.refusals.map(refusal => policyReason(refusal, object, dryRun.edgeClass));
        findings.push(findingOf(object, reasons));
      }
    });
  }
  return {objects: count, findings, unjudged};
}

async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const next = items.values();
  const worker = async () => {
    for (const item of next) await work(item);
  };
  await Promise.all(Array.from({length: CONCURRENCY}, worker));
}

async function objectsOf({client, namespace, signal}: ReviewContext, resource: ResourceType): Promise<KubeObject[]> {
  const content = METADATA_ONLY[resourceName(resource)];
  if (!content) return await listAll(client, resource, {namespace, signal});
  const {stub, isMeant} = content;
  const objects = await listAll(client, resource, {namespace, metadataOnly: true, signal});
  return objects.filter(isMeant).map(object => ({...object, ...stub}));
}

async function trustedObjects({client, namespace, signal}: ReviewContext): Promise<TrustedObjects> {
  const where = {namespace, signal};
  const ours = {labelSelector: 'app.kubernetes.io/managed-by=nameplate', metadataOnly: true};
  const services = await listAll(client, SERVICE, {...where, ...ours});
  return {services: new Set(services.filter(isByNameplate).map(keyOf))};
}

async function judge(
  context: ReviewContext,
  {user, policies}: DryRun,
  resource: ResourceType,
  object: KubeObject,
): Promise<DryRunVerdict> {
  try {
    return verdictOf(await dryRun(context, user, resource, resendable(object)), policies);
  } catch (error) {
    if (error instanceof TransportError) return {unjudged: error.message};
    throw error;
  }
}

/** This review's right was removed, usually by another review. */
export class RightsLostError extends Error {
  override readonly name = 'RightsLostError';
}

async function dryRun(
  {call, clock, signal}: ReviewContext,
  user: string,
  resource: ResourceType,
  object: KubeObject,
): Promise<ApiAnswer> {
  const path = `${collectionPath(resource, object.metadata.namespace)}?dryRun=All`;
  const body = {...object, apiVersion: apiVersionOf(resource), kind: resource.kind};
  const startMs = clock.monotonic();
  for (let failures = 0; ; failures++) {
    const isLast = failures >= RETRIES;
    const answer = await call({method: 'POST', path, body, as: user}, signal).catch((error: unknown) => {
      if (isLast || !(error instanceof TransportError)) throw error;
      return undefined;
    });
    const isRightMissing = answer?.status === 403 && answer.message.includes(`User "${user}" cannot create`);
    if (isRightMissing && clock.monotonic() - startMs > SETTLE_MS) throw new RightsLostError(answer.message);
    const isBusy = !answer || answer.status === 429 || answer.status === 503 || answer.status === 504;
    if (answer && !isRightMissing && (!isBusy || isLast)) return answer;
    await clock.sleep(answer?.retryAfterMs ?? RETRY_MS * 2 ** Math.min(failures, 4), signal);
  }
}

/** An object that each of these policies must reject with any configuration. */
const CANARIES: readonly {readonly rule: Rule; readonly resource: ResourceType; readonly content: object}[] = [
  {
    rule: 'routes',
    resource: INGRESS,
    content: {spec: {defaultBackend: {service: {name: 'none', port: {number: 80}}}}},
  },
  {
    rule: 'edge-addresses',
    resource: SERVICE,
    content: {spec: {ports: [{port: 80}], externalIPs: ['192.0.2.1']}},
  },
];
const CANARY = 'nameplate-review-canary';

/** The policies allow what they must reject, so the absence of findings means nothing. */
export class DeafError extends Error {
  override readonly name = 'DeafError';
}

/**
 * Verifies that the policies reject what they must; throws DeafError if they do not. Returns why this is unknown if
 * something else rejects first.
 */
export async function findDeafness(
  context: ReviewContext,
  run: DryRun,
  namespace: string,
): Promise<string | undefined> {
  let unsure: string | undefined;
  for (const {rule, resource, content} of CANARIES) {
    if (!run.policies.some(policy => policy.rule === rule)) continue;
    const object = {apiVersion: apiVersionOf(resource), kind: resource.kind, ...content};
    const startMs = context.clock.monotonic();
    for (;;) {
      const verdict = await judge(context, run, resource, {...object, metadata: {name: CANARY, namespace}});
      if ('unjudged' in verdict) unsure = verdict.unjudged;
      else if (verdict.refusals.some(refusal => refusal.rule === rule)) return undefined;
      else if (context.clock.monotonic() - startMs > SETTLE_MS) throw new DeafError(DEAF);
      if ('unjudged' in verdict) break;
      await context.clock.sleep(RETRY_MS, context.signal); // a new policy takes a moment
    }
  }
  return unsure;
}

const DEAF =
  'The policies accepted a test object that they must reject. Either every user is trusted like Nameplate (a ClusterRoleBinding grants `manage` on routes.nameplate.dev to system:authenticated), or a proxy between here and the API server drops the header "Warning".';
