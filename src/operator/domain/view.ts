/** What the caches say about one Domain, gathered once at the start of a reconcile. */
import {findCondition} from '../../api/conditions.ts';
import {ANNOTATION} from '../../api/names.ts';
import type {CheckResult, ProofQuestion} from '../../dns/dns.ts';
import type {DeepReadonly, KubeObject} from '../../runtime/kube/object.ts';
import {type PublishedRoute, publishedRoute} from '../edge/provider.ts';
import {routeObjects} from '../edge/publish.ts';
import {type Account, accountOf} from '../model/account.ts';
import {routeKeyOf} from '../model/derived-names.ts';
import type {Certificate, Domain, DomainClaim, Project} from '../model/kinds.ts';
import type {Operator} from '../state/context.ts';
import type {DomainConditionType} from './conditions.ts';

/** Who holds the host: nobody, we, another account or namespace, or somebody who has let it go. */
export type Holder = 'nobody' | 'us' | 'another' | 'released';

export interface Subject {
  /** "namespace/host", the key of the Domain. */
  readonly key: string;
  readonly domain: DeepReadonly<Domain>;
  readonly namespace: string;
  readonly host: string;
  readonly account: Account;
  readonly project: DeepReadonly<Project> | undefined;
  readonly question: ProofQuestion;
  /** The last answer of DNS; undefined before the first. */
  readonly check: CheckResult | undefined;
  readonly claim: DeepReadonly<DomainClaim> | undefined;
  readonly holder: Holder;
  readonly certificate: DeepReadonly<Certificate> | undefined;
  readonly secret: DeepReadonly<KubeObject> | undefined;
  readonly published: PublishedRoute | undefined;
  /** A value of the annotation that has not been handled yet. */
  readonly verifyRequest: string | undefined;
  readonly nowMs: number;
}

/** Undefined while the namespace is not in the cache: its deletion takes the Domain along. */
export function subjectOf(operator: Operator, domain: DeepReadonly<Domain>): Subject | undefined {
  const {stores, config, identity} = operator;
  const {namespace = '', annotations = {}} = domain.metadata;
  const {host, projectRef} = domain.spec;
  const namespaceObject = stores.namespaces.get(namespace);
  if (!namespaceObject) return undefined;
  const account = accountOf(namespaceObject, config);
  const key = `${namespace}/${host}`;
  const routeKey = routeKeyOf(key);
  const claim = stores.claims.get(host);
  const requested = annotations[ANNOTATION.verifyRequestedAt]?.slice(0, 128);
  return {
    key,
    domain,
    namespace,
    host,
    account,
    project: stores.projects.get(`${namespace}/${projectRef.name}`),
    question: {
      host,
      target: identity.target(account.id),
      txtName: `_nameplate.${host}`,
      txtValue: identity.proofToken(account.id, host),
      apexProof: config.dns.apexProof,
      caaIdentities: config.certificates.caaIdentities,
    },
    check: operator.scheduler.get(key),
    claim,
    holder: holderOf(claim, account, namespace),
    certificate: stores.certificates.get(routeKey),
    secret: stores.secrets.get(routeKey),
    published: publishedRoute(operator.flavour, routeObjects(stores, routeKey)),
    verifyRequest: requested && requested !== domain.status?.lastHandledVerifyRequest ? requested : undefined,
    nowMs: operator.clock.now(),
  };
}

export function holderOf(claim: DeepReadonly<DomainClaim> | undefined, account: Account, namespace: string): Holder {
  if (!claim) return 'nobody';
  if (claim.spec.releasedAt !== undefined) return 'released';
  return claim.spec.account === account.id && claim.spec.namespace === namespace ? 'us' : 'another';
}

/** Such a check shows what was there before the host was taken: by it the former holder would take back what it lost. */
export function isOlderThanClaim({startedAt}: CheckResult, {spec}: DeepReadonly<DomainClaim>): boolean {
  return startedAt < Date.parse(spec.since) + 1000; // `since` is cut to whole seconds
}

/** The condition that the last reconcile wrote. */
export function before(subject: Subject, type: DomainConditionType) {
  return findCondition(subject.domain.status?.conditions, type);
}
