/** A host to serve, as the caches show it at the start of a reconcile. */
import {findCondition} from '../../api/conditions.ts';
import {LABEL} from '../../api/names.ts';
import type {DeepReadonly, KubeObject} from '../../runtime/kube/object.ts';
import {INDEX} from '../caches/stores.ts';
import {publishedRoute, routeObjects} from '../edge/publish.ts';
import type {Account} from '../kinds/account.ts';
import {routeKeyOf} from '../kinds/derived-names.ts';
import type {PublishedRoute} from '../kinds/edge-provider.ts';
import type {CachedProject, Certificate, Domain, DomainClaim} from '../kinds/kinds.ts';
import {lastCondition, stepAfter} from '../kinds/steps.ts';
import type {DomainCondition, StepResult} from './conditions.ts';
import type {HostOperator} from './context.ts';
import type {DomainConditionType} from './reasons.ts';

/** A custom host, which has a Domain, or the default host of a Project. */
export interface HostView extends HostObjects {
  /** "namespace/host". */
  readonly key: string;
  readonly namespace: string;
  readonly host: string;
  readonly account: Pick<Account, 'id'>;
  /** The Domain, or the Project of a default host: the objects of the host belong to it, and it reports on them. */
  readonly owner: DeepReadonly<Domain | CachedProject>;
  readonly project: DeepReadonly<CachedProject> | undefined;
  /**
   * It belongs to the platform, so nobody has to prove it or can claim it. The edge may have a certificate for all
   * default hosts.
   */
  readonly isDefault: boolean;
  /** If the CA does not validate the host by HTTP-01: the kind of challenge. */
  readonly challenge?: string | undefined;
  /** A new attempt at its certificate was requested. */
  readonly isRequested: boolean;
  /** Continues "To start a new attempt,". */
  readonly again: string;
  /** The certificate names other hosts, too, but the route stays, because that harms nobody. */
  readonly isMisnamed?: boolean;
  /** The step Routed, if the API server rejected the removal of the route or its certificate. */
  readonly unremoved?: StepResult;
  /** Its reconciles have failed for a while, as in `ReconcileContext`. */
  readonly keepsFailing: boolean;
  readonly nowMs: number;
}

interface HostObjects {
  readonly claim: DeepReadonly<DomainClaim> | undefined;
  readonly certificate: DeepReadonly<Certificate> | undefined;
  readonly secret: DeepReadonly<KubeObject> | undefined;
  readonly published: PublishedRoute | undefined;
}

/** `key`: "namespace/host". */
export function objectsOf(operator: HostOperator, key: string): HostObjects {
  const {stores} = operator;
  const routeKey = routeKeyOf(key);
  return {
    claim: stores.claims.get(key.slice(key.indexOf('/') + 1)),
    certificate: stores.certificates.get(routeKey),
    secret: stores.secrets.get(routeKey),
    published: publishedRoute(operator, routeKey),
  };
}

/**
 * The objects of a Domain's host: nothing that belongs to the default host of a Project, also a former one, although its
 * names are the same.
 */
export function objectsOfDomain(operator: HostOperator, key: string): HostObjects {
  const {stores} = operator;
  const found = objectsOf(operator, key);
  const isProjects = ({metadata}: DeepReadonly<KubeObject>) => metadata.labels?.[LABEL.project] !== undefined;
  if (!isDefaultHost(operator, key) && !routeObjects(stores, routeKeyOf(key)).some(isProjects)) return found;
  return {claim: found.claim, certificate: undefined, secret: undefined, published: undefined};
}

/** Of a Project in its namespace. A Domain for it is refused. */
export function isDefaultHost({stores}: Pick<HostOperator, 'stores'>, key: string): boolean {
  return stores.projects.byIndex(INDEX.defaultHost, key).length > 0;
}

type Reported = Pick<HostView, 'owner' | 'isDefault'>;

/** A Project reports on its default host in one condition. */
function reportedIn({isDefault}: Reported, type: DomainConditionType): DomainConditionType {
  return isDefault ? 'Ready' : type;
}

/** The condition that the last reconcile wrote. */
export function lastReported(view: Reported, type: DomainConditionType) {
  return findCondition(view.owner.status?.conditions, reportedIn(view, type));
}

/** The same, if it observed this generation of the spec. */
export function lastOfThisSpec(view: Reported, type: DomainConditionType) {
  const {metadata, status} = view.owner;
  const last = lastCondition(reportedIn(view, type), status?.conditions, metadata.generation);
  return last && {...last, type};
}

interface FailureMessages {
  readonly refused: (message: string, isTrue: boolean) => DomainCondition;
  readonly retrying: (message: string) => DomainCondition;
  readonly paused: (isTrue: boolean) => DomainCondition;
}

/** The step after a write that failed: it has decided nothing, and reports the state without the write. */
export function unacted(
  view: HostView,
  failure: unknown,
  {refused, retrying, paused}: FailureMessages,
  isTrue: boolean,
): StepResult {
  return stepAfter(failure, {
    works: view.published !== undefined,
    keepsFailing: view.keepsFailing,
    last: lastOfThisSpec(view, retrying('').type),
    refused: message => refused(message, isTrue),
    retrying,
    paused: () => paused(isTrue),
  });
}

/** What the edge answers for the host; undefined if nothing probes it, or the edge cannot tell routes apart. */
export function proofOf(
  {edge, names, stores}: HostOperator,
  {namespace, host, isDefault}: HostView,
): string | undefined {
  return edge.provesRoutes?.(stores.platform) && !isDefault ? names.routeProof(namespace, host) : undefined;
}
