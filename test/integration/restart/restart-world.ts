/**
 * A CA that validates, cert-manager, and an operator whose clock the test moves. At rest, the wall clock stands still,
 * and all timers have fired.
 */
import {mkdtemp, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {isDeepStrictEqual} from 'node:util';
import type {Condition} from '../../../src/api/conditions.ts';
import {LABEL} from '../../../src/api/names.ts';
import {API_KEY, KEY_CLAIM} from '../../../src/apikey/apikey.ts';
import {MIDDLEWARE} from '../../../src/operator/edge/traefik.ts';
import {DerivedNames} from '../../../src/operator/kinds/derived-names.ts';
import * as kinds from '../../../src/operator/kinds/kinds.ts';
import {type KubeObject, keyOf, type ResourceType, resourceName} from '../../../src/runtime/kube/object.ts';
import {BASE_DOMAIN, TARGET_DOMAIN} from '../../cluster/state.ts';
import {until} from '../../cluster/wait.ts';
import {OPERATOR_USER, RELEASE} from '../../support/install.ts';
import {createLeapingClock, type LeapingClock} from '../../support/leaping-clock.ts';
import {type CaWorld, ISSUER_NAME, startCaWorld} from '../certificate/ca-world.ts';
import type {History, Version} from '../operator/history.ts';
import {CA_IDENTITY, installIngressClass} from '../operator/operator-world.ts';
import {type FaultProxy, startFaultProxy} from '../runtime/fault-proxy.ts';
import {CANARY, Canary} from './canary.ts';
import {dueIn} from './due.ts';
import {untrue} from './facts.ts';
import {type Family, FROZEN, FROZEN_KINDS, familyOf} from './family.ts';

/** The selector of the operator's caches of its own objects. */
const OURS = `${LABEL.managedBy}=nameplate`;
/** Metrics of the operator's work in progress. */
const LOADS = ['workqueue_depth', 'controller_runtime_active_workers', 'nameplate_dns_verdicts_in_flight'];
/** Longer than any pause of the operator, except those of hours and days. */
const LEAP_MS = 2_400_000;
/**
 * What is still due after this many leaps is due again and again. In total, they are shorter than the six hours after
 * which a Domain with a certificate is judged again in any case.
 */
const MAX_LEAPS = 4;
/** After so many leaps in a row that changed nothing, nothing is due: a wait may end in another one. */
const IDLE_LEAPS = 2;

/** What the operator and cert-manager write, without Leases and Events. */
const FOLLOWED: readonly ResourceType[] = [
  ...[kinds.PROJECT, kinds.DOMAIN, kinds.DOMAIN_CLAIM, kinds.SERVICE, kinds.INGRESS, MIDDLEWARE],
  ...[kinds.CERTIFICATE, kinds.CERTIFICATE_REQUEST, kinds.SECRET, kinds.NAMESPACE, API_KEY, KEY_CLAIM],
];
/** Kinds of the operator's caches. Whether it is ours decides to which one of a kind an object belongs. */
const CACHED: readonly ResourceType[] = [...FOLLOWED, ...[kinds.ACME_ISSUER, kinds.INGRESS_CLASS]];
/** Only their metadata is compared. */
const THEIRS: readonly ResourceType[] = [kinds.NAMESPACE, kinds.SECRET];

const ZONES = 20;
/** Who answers late on a busy machine is not silent. */
const DNS = {
  checks: {soonSeconds: 1, pendingMaxSeconds: 60, steadySeconds: 1200},
  queryTimeoutMs: 30_000,
  verdictTimeoutMs: 60_000,
};
const CONFIG = {
  plans: {
    free: {customDomains: false, maxDomains: 0, maxProjects: 1, maxApiKeys: 0},
    starter: {customDomains: true, maxDomains: 1, maxProjects: 1, maxApiKeys: 1},
    pro: {customDomains: true, maxDomains: 20},
  },
  controller: {workers: 16, leaderElection: {enabled: false}}, // a leap would end every lease
};
/** No sequence reaches a limit. */
const ISSUER = {limits: {orders: 1_000_000, newHostsPerDomain: 1_000_000}, caaIdentities: [CA_IDENTITY]};

/** An issuer with the same account at the same CA, which a configuration may name instead. */
const OTHER_ISSUER = 'other';
const OTHER_BASE_DOMAIN = 'other-apps.test';
const OTHER_EDGE = 'other';

type Config = Readonly<Record<string, unknown>>;

/** What the platform may change in the configuration. A change takes effect with the next process. */
const CHANGES: Readonly<Record<string, (ca: CaWorld) => Config>> = {
  'no change': () => ({}),
  'a pause': () => ({controller: {...CONFIG.controller, paused: true}}),
  'another base domain': ({config}) => ({platform: {...(config.platform as object), baseDomain: OTHER_BASE_DOMAIN}}),
  'another issuer': ca => ({certificates: certificatesOf(ca, OTHER_ISSUER)}),
  'another IngressClass': () => ({routing: {ingressClassName: OTHER_EDGE}}),
  'certificates of default hosts': () => ({defaultHost: {tls: 'certificate'}}),
  'larger plans': () => ({plans: {...CONFIG.plans, starter: CONFIG.plans.pro, free: CONFIG.plans.starter}}),
};
type Change = keyof typeof CHANGES;
export const CHANGE_NAMES: readonly Change[] = Object.keys(CHANGES);

export type Said = Readonly<Record<string, unknown>>;

export class RestartWorld {
  readonly ca: CaWorld;
  readonly names: DerivedNames;
  /** Between the operator and the API server. */
  readonly proxy: FaultProxy;
  #change: Change = 'no change';
  readonly #clock: LeapingClock;
  readonly #folder: string;
  readonly #canary: Canary;
  readonly #changes: Changes;
  /** How many changes cert-manager has taken up for certain. */
  #takenUp = 0;
  #replicas = 0;

  private constructor(
    folder: string,
    clock: LeapingClock,
    ca: CaWorld,
    names: DerivedNames,
    proxy: FaultProxy,
    canary: Canary,
  ) {
    this.proxy = proxy;
    this.#folder = folder;
    this.#clock = clock;
    this.ca = ca;
    this.names = names;
    this.#canary = canary;
    this.#changes = new Changes(ca.history, CACHED);
  }

  static async start(): Promise<RestartWorld> {
    const folder = await mkdtemp(join(tmpdir(), 'nameplate-restart-'));
    const clock = await createLeapingClock(folder);
    const ca = await startCaWorld({}, {program: [clock.program], atScale: true});
    for (const kind of [API_KEY, KEY_CLAIM, kinds.INGRESS_CLASS]) await ca.history.follow(kind);
    await freezeLabeled(ca);
    for (let zone = 0; zone < ZONES; zone++) await ca.dns.addZone(zoneOf(zone));
    await ca.dns.addZone(OTHER_BASE_DOMAIN);
    await ca.dns.set(`*.${OTHER_BASE_DOMAIN}`, 'A', ['127.0.0.1']);
    await installIngressClass(ca.client, OTHER_EDGE);
    const proxy = await startFaultProxy(ca.api, {kubeconfig: ca.kubeconfig});
    for (const issuer of [ISSUER_NAME, OTHER_ISSUER]) await ca.applyIssuer(ISSUER, issuer);
    await ca.startSigner('first', configOf(ca), proxy.kubeconfig);
    const key = {namespace: RELEASE.namespace, name: 'nameplate-platform-key'};
    const secret = await until('there is a platform key', () => ca.client.get(kinds.SECRET, key));
    const {data} = secret as KubeObject & {data: Record<string, string>};
    const platform = {baseDomain: BASE_DOMAIN, targetDomain: TARGET_DOMAIN};
    const names = new DerivedNames(Buffer.from(data['platform.key'] ?? '', 'base64'), platform);
    return new RestartWorld(folder, clock, ca, names, proxy, await Canary.start(ca));
  }

  /** The configuration pauses everything. */
  get isPaused(): boolean {
    return this.#change === 'a pause';
  }

  /** Of a family. All share a few: CoreDNS rereads each zone all the time, and changes to one wait for one another. */
  zone(number: number): string {
    return zoneOf(number % ZONES);
  }

  async applyIssuer(changes: Partial<kinds.ACMEIssuer['spec']> = {}): Promise<void> {
    await this.ca.applyIssuer({...ISSUER, ...changes});
  }

  async stop(): Promise<void> {
    await this.ca.stop();
    await this.proxy.stop();
    await rm(this.#folder, {recursive: true, force: true});
  }

  async kill(): Promise<void> {
    await this.ca.operator().kill();
  }

  /** `change`: of the configuration; default: as before. */
  async restart(change = this.#change): Promise<void> {
    await this.ca.operator().stop();
    this.#change = change;
    this.proxy.seen.length = 0;
    const config = {...configOf(this.ca), ...CHANGES[change]?.(this.ca)};
    await this.ca.startSigner(`replica-${++this.#replicas}`, config, this.proxy.kubeconfig);
  }

  /** Resolves once no work is due: time has leaped, and nothing changes what the objects say anymore. */
  async rest(families: readonly Family[]): Promise<void> {
    await this.quiet();
    await this.#clock.stand();
    await this.#clock.noticed();
    // An order that fails is placed again whenever the wall clock leaps.
    for (let leaps = 0; leaps < IDLE_LEAPS; leaps++) await this.#leap(ms => this.#clock.leap(ms));
    await this.#settle(families);
  }

  /** The same after a restart: the wall clock stays where it is. */
  async restAgain(families: readonly Family[]): Promise<void> {
    await this.quiet();
    await this.#settle(families);
  }

  /** Lets the wall clock run on from where it stands. */
  async resume(): Promise<void> {
    await this.#clock.run();
    await this.#clock.noticed();
  }

  /**
   * After a restart, the first DNS check of each host wakes its Domain, whatever it missed. This fires these checks, so
   * that only its own triggers wake it from now on.
   */
  async warmUp(): Promise<void> {
    await this.quiet();
    await this.#leap(ms => this.#clock.leap(ms));
  }

  /** All timers but those of the wall clock fire until nothing changes what the objects say anymore. */
  async #settle(families: readonly Family[]): Promise<void> {
    for (let leaps = 0, idle = 0; leaps < MAX_LEAPS && idle < IDLE_LEAPS; leaps++) {
      const before = this.said(families);
      await this.#leap(ms => this.#clock.leapMonotonic(ms));
      const after = this.said(families);
      idle = isDeepStrictEqual(before, after) ? idle + 1 : 0;
    }
  }

  async #leap(leap: (ms: number) => Promise<void>): Promise<void> {
    await leap(LEAP_MS);
    await this.#clock.noticed();
    await this.quiet();
  }

  /**
   * Resolves once nobody has anything to do until a timer of the operator rings: no object waits for others, cert-manager
   * and all caches of the operator have seen every change, nothing is in progress, and nothing has changed meanwhile.
   */
  async quiet(): Promise<void> {
    const {history} = this.ca;
    let due: readonly string[] = [];
    const isIdle = async () => {
      due = dueIn(history, FOLLOWED);
      if (due.length === 0) due = dueInOperator(await this.ca.operator().metrics(), this.#changes);
      return due.length === 0;
    };
    const isQuiet = async () => {
      if (!(await isIdle())) return false;
      const {count} = this.#changes;
      if (count > this.#takenUp) await this.#canary.renew();
      await history.catchUp(undefined, CACHED);
      if (!(await isIdle())) return false;
      if (this.#changes.count > count) due = [this.#changes.last];
      else this.#takenUp = count;
      return due.length === 0;
    };
    await until('no work is due', isQuiet, {timeoutMs: 900_000}).catch(cause => {
      throw new Error(`${due.length} are due: ${due.slice(0, 20).join('; ')}`, {cause});
    });
  }

  untrue(family: Family): string[] {
    return untrue(this.ca.history, family, this.isPaused);
  }

  /** What the objects of each family say, without DNS evidence, versions, and times. */
  said(families: readonly Family[]): Said[] {
    const said = new Map(families.map(({id}): [string, Record<string, unknown>] => [id, {}]));
    for (const kind of FOLLOWED) {
      for (const object of this.ca.history.list<KubeObject>(kind)) {
        const {namespace, name} = object.metadata;
        const its = said.get(familyOf(namespace ?? name) ?? '');
        if (its) its[`${kind.kind} ${keyOf(object)}`] = saidBy(kind, object);
      }
    }
    return [...said.values()];
  }
}

/** Of which cache a change is: of which kind, and of objects that are ours or not. */
const cacheOf = (resource: string, isOurs: boolean) => `${resource} ${isOurs ? 'ours' : 'others'}`;

/** What the test has seen of changes, without those of the canary. */
class Changes {
  count = 0;
  last = '';
  /** By cache, the resourceVersion of the last change. */
  readonly newest = new Map<string, number>();
  /** By object that exists. */
  readonly #isOurs = new Map<string, boolean>();

  constructor(history: History, followed: readonly ResourceType[]) {
    for (const kind of followed) {
      const resource = resourceName(kind);
      for (const object of history.list<KubeObject>(kind)) this.#take(resource, keyOf(object), 'ADDED', object);
      history.subscribe<KubeObject>(kind, ({type, key, object}) => {
        if (key === CANARY || key.startsWith(`${CANARY}/`)) return;
        this.#take(resource, key, type, object);
        if (!FOLLOWED.includes(kind)) return;
        this.count += 1;
        this.last = `${kind.kind} ${key} ${type}`;
      });
    }
  }

  /** An object that is no longer ours is deleted from one cache, and added to the other. */
  #take(resource: string, key: string, type: Version['type'], {metadata}: KubeObject): void {
    const id = `${resource} ${key}`;
    const isOurs = metadata.labels?.[LABEL.managedBy] === 'nameplate';
    for (const ours of new Set([isOurs, this.#isOurs.get(id) ?? isOurs])) {
      const cache = cacheOf(resource, ours);
      this.newest.set(cache, Math.max(this.newest.get(cache) ?? 0, Number(metadata.resourceVersion)));
    }
    if (type === 'DELETED') this.#isOurs.delete(id);
    else this.#isOurs.set(id, isOurs);
  }
}

/** Until a timer rings. */
function dueInOperator(metrics: string, {newest}: Changes): string[] {
  const loads = LOADS.flatMap(name =>
    samples(metrics, name).map(({labels, value}) => [`${name}{${labels}}`, value] as const),
  );
  const started = samples(metrics, 'controller_runtime_max_concurrent_reconciles').length;
  const caches = samples(metrics, 'reflector_cache_resource_version').map(({labels, value}) => {
    const [, resource = '', selector = ''] = /resource="([^"]*)",selector="([^"]*)"/.exec(labels) ?? [];
    const of = selector === '' ? [true, false] : [selector === OURS];
    return {resource, value, wanted: Math.max(...of.map(isOurs => newest.get(cacheOf(resource, isOurs)) ?? 0))};
  });
  const missing = CACHED.map(resourceName).filter(kind => !caches.some(({resource}) => resource === kind));
  return [
    ...loads.filter(([, value]) => value > 0).map(load => load.join(' ')),
    ...(started < samples(metrics, 'workqueue_depth').length ? [`only ${started} controllers have started`] : []),
    ...missing.map(resource => `there is no cache of ${resource}`),
    ...caches
      .filter(({value, wanted}) => value < wanted)
      .map(({resource, value, wanted}) => `the cache of ${resource} is at ${value}, not at ${wanted}`),
  ];
}

/** The exposition format of Prometheus: `name{label="value",…} number`. */
function samples(metrics: string, name: string): {readonly labels: string; readonly value: number}[] {
  return [...metrics.matchAll(new RegExp(`^${name}(?:\\{(.*)\\})? (.*)$`, 'gm'))].map(([, labels = '', value]) => ({
    labels,
    value: Number(value),
  }));
}

function configOf(ca: CaWorld): Config {
  return {...CONFIG, certificates: certificatesOf(ca), dns: {...(ca.config.dns as object), ...DNS}};
}

/** The Lease of cert-manager, whose clock does not leap, would seem to be old. */
function certificatesOf(ca: CaWorld, issuer?: string): object {
  const {approval} = ca.config.certificates as {approval: object};
  const exempting = {...approval, exemptNamespaces: [CANARY]};
  return {...ca.certificatesBy(issuer), approval: exempting, certManagerLease: {name: ''}};
}

function zoneOf(number: number): string {
  return `zone${number}.test`;
}

interface Status {
  readonly conditions?: readonly Condition[];
  readonly dns?: {readonly required?: unknown};
}

/** Their whole status is compared; of other kinds, only the conditions. */
const WITH_STATUS: readonly ResourceType[] = [kinds.PROJECT, kinds.DOMAIN, API_KEY];

function saidBy(kind: ResourceType, object: KubeObject): unknown {
  const {metadata, spec, status} = object as KubeObject & {spec?: unknown; status?: Status};
  const {labels, annotations, deletionTimestamp, finalizers} = metadata;
  return {
    ...{labels, annotations, finalizers, isEnding: deletionTimestamp !== undefined},
    ...(!THEIRS.includes(kind) && {spec}),
    ...(WITH_STATUS.includes(kind) ? withoutEvidence(status) : {conditions: conditionsOf(status)}),
  };
}

/** Without times of transitions. */
function conditionsOf({conditions}: Status = {}): unknown {
  return conditions?.map(({type, status, reason, message}) => [type, status, reason, message]);
}

function withoutEvidence(status: Status = {}): Record<string, unknown> {
  return {...status, dns: status.dns?.required, conditions: conditionsOf(status)};
}

/** A policy that rejects what the operator writes in labeled namespaces. The status is another resource. */
async function freezeLabeled({api}: CaWorld): Promise<void> {
  const rules = [{apiGroups: ['*'], apiVersions: ['*'], resources: FROZEN_KINDS, operations: ['*']}];
  const policy = {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicy',
    metadata: {name: 'frozen'},
    spec: {
      matchConstraints: {resourceRules: rules},
      matchConditions: [{name: 'operator', expression: `request.userInfo.username == '${OPERATOR_USER}'`}],
      validations: [
        {
          expression: `request.resource.resource != namespaceObject.metadata.labels['${FROZEN}']`,
          message: 'this namespace is frozen',
        },
      ],
    },
  };
  const binding = {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: {name: 'frozen'},
    spec: {
      policyName: 'frozen',
      validationActions: ['Deny'],
      matchResources: {namespaceSelector: {matchExpressions: [{key: FROZEN, operator: 'Exists'}]}},
    },
  };
  for (const object of [policy, binding]) await api.apply(JSON.stringify(object));
}
