/** The open challenges, from the records of the operator's orders: a cache that the API server keeps current. */
import type {Logger} from 'pino';
import type {Registry} from 'prom-client';
import type {DomainClaimSpec} from '../api/generated/domainclaim.ts';
import {API_VERSION} from '../api/names.ts';
import {Reflector} from '../runtime/cache/reflector.ts';
import type {KubeClient} from '../runtime/kube/client.ts';
import {type KubeObject, resourceType} from '../runtime/kube/object.ts';
import type {Clock} from '../time/clock.ts';

/** Of a DomainClaim, only what an answer needs: its holder is nobody's business here. */
interface OpenChallenge extends KubeObject {
  readonly spec: {readonly issuance?: Pick<NonNullable<DomainClaimSpec['issuance']>, 'challenge'>};
}

const RESOURCE = resourceType<OpenChallenge>(API_VERSION, 'DomainClaim', 'domainclaims', 'cluster');
/** The API server sends no others. */
const SELECTOR = 'spec.issuance.challenge.name!=';
const BY_NAME = 'name';
/** A replica whose watch is lost may lack a challenge, and should get no queries if another one is better. */
const LOST_MS = 10_000;
/** After this time, an API server that drops packets is noticed. Bookmarks arrive every minute. */
const IDLE_TIMEOUT_MS = 90_000;
const BACKOFF = {initialMs: 200, maxMs: 2_000, factor: 2, jitter: 0.5};

interface OpenChallengesOptions {
  /** Needs only the rights to list and watch DomainClaims. */
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly registry: Registry;
}

export class OpenChallenges {
  readonly #reflector: Reflector<OpenChallenge>;
  readonly #clock: Clock;

  constructor(options: OpenChallengesOptions) {
    this.#clock = options.clock;
    this.#reflector = new Reflector<OpenChallenge>({
      ...options,
      resource: RESOURCE,
      fieldSelector: SELECTOR,
      transform: slim,
      idleTimeoutMs: IDLE_TIMEOUT_MS,
      backoff: BACKOFF,
    });
    this.#reflector.store.addIndex(BY_NAME, ({spec: {issuance}}) =>
      issuance?.challenge ? [issuance.challenge.name] : [],
    );
  }

  /** Runs until the signal aborts, and never rejects. */
  run(signal: AbortSignal): Promise<void> {
    return this.#reflector.run(signal);
  }

  /** Several if the CA validates a host and the wildcard of its subdomains at the same time. */
  valuesOf(name: string): string[] {
    const claims = this.#reflector.store.byIndex(BY_NAME, name);
    return claims.flatMap(({spec: {issuance}}) => issuance?.challenge?.value ?? []);
  }

  /** Why this replica should get no queries. */
  problem(): string | undefined {
    const {store, lostSince} = this.#reflector;
    if (store.state === 'syncing') return 'the open challenges have not been loaded yet';
    if (store.state === 'missing') return 'the kind DomainClaim is not installed';
    const lostMs = this.#clock.monotonic() - (lostSince ?? this.#clock.monotonic());
    if (lostMs <= LOST_MS) return undefined;
    return `the API server has been unreachable for ${Math.round(lostMs / 1000)} s, so new challenges are unknown`;
  }
}

function slim({
  apiVersion,
  kind,
  metadata: {name, uid = '', resourceVersion = ''},
  spec,
}: OpenChallenge): OpenChallenge {
  const {challenge} = spec.issuance ?? {};
  return {apiVersion, kind, metadata: {name, uid, resourceVersion}, spec: challenge ? {issuance: {challenge}} : {}};
}
