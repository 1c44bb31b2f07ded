/**
 * Watches the edge, the CA, and the API during the attacks, and reports what must not happen. It does not know the
 * moves, only who is entitled to which host.
 */
import {createHash, X509Certificate} from 'node:crypto';
import {setTimeout as pause} from 'node:timers/promises';
import {HTTP_ROUTE, LISTENER_SET} from '../../../src/operator/edge/gateway-kinds.ts';
import {
  CERTIFICATE_REQUEST,
  type CertificateRequest,
  DOMAIN_CLAIM,
  INGRESS,
  SECRET,
  SERVICE,
} from '../../../src/operator/kinds/kinds.ts';
import type {KubeObject, ResourceType} from '../../../src/runtime/kube/object.ts';
import type {Answer, Visit} from '../../support/http.ts';
import {RELEASE} from '../../support/install.ts';
import {follow, listAll} from '../../support/kube.ts';
import {kindOf, POD} from '../../support/workload.ts';
import {admin, cluster, visitor} from '../world.ts';
import {ISSUER} from './platform.ts';
import type {CaOrder, WatchedCa} from './watched-ca.ts';
import {watchCa} from './watched-ca.ts';

/** One thing that must not happen. */
export interface Violation {
  readonly rule: 'edge' | 'certificate' | 'orders' | 'takeover' | 'work' | 'solver' | 'contact' | 'messages';
  readonly text: string;
}

export interface Guarded {
  readonly namespace: string;
  readonly host: string;
  /** The pods of the entitled tenant answer with this text. */
  readonly text: string;
  /** Whether the host has a certificate from the platform's CA, rather than the default certificate. */
  readonly certified: boolean;
}

/** How long a certificate may still be in progress after its host's claim has moved. */
const MOVING_MS = 10_000;
const ROUND_OF_VISITS_MS = 1_000;
/** How many orders cert-manager may duplicate, because it read a cache without its own last write. */
const ORDERS_TWICE = 3;

/** Only Nameplate writes these, and here it has no reason to. */
const EDGE_KINDS: readonly ResourceType[] = [kindOf('gateway.networking.k8s.io', 'Gateway'), LISTENER_SET, HTTP_ROUTE];

/** cert-manager's: with them, it solves challenges. A tenant may have none of them, whoever creates it. */
const SOLVING = [kindOf('acme.cert-manager.io', 'Order'), kindOf('acme.cert-manager.io', 'Challenge')];
const SOLVERS: readonly ResourceType[] = [POD, SERVICE, INGRESS];
const SOLVER_LABEL = 'acme.cert-manager.io/http01-solver';
/** Of the programs that tenants could send anywhere. The edge and the CA visit what hosts point to. */
const VISITORS = [RELEASE.namespace, 'cert-manager'];
const PLATFORM = new Set([...VISITORS, 'pebble', 'traefik', 'gateway']);

interface RunningPod extends KubeObject {
  status?: {podIP?: string};
}

interface SecretWithKey extends KubeObject {
  data?: Record<string, string>;
  type?: string;
}

export class Oracle {
  readonly ca: WatchedCa;
  readonly #report: (violation: Violation) => void;
  readonly #reported = new Set<string>();
  readonly #guarded = new Map<string, Guarded>();
  /** By host. There is no namespace once its holder has released it. */
  readonly #claims = new Map<string, {namespace: string | undefined; sinceMs: number}>();
  /** Namespace by digest of the signing request. */
  readonly #requests = new Map<string, string>();
  readonly #approved = new Set<string>();
  readonly #serials = new Map<string, Set<string>>();
  readonly #ends: (() => Promise<unknown>)[] = [];
  readonly #attackers = new Set<string>();
  #tokens: readonly string[] = [];
  #platformAccount = '';
  #counted = {orders: 0, approved: 0};

  private constructor(ca: WatchedCa, report: (violation: Violation) => void) {
    this.ca = ca;
    this.#report = report;
  }

  /** Calls `report` once per violation. */
  static async start(report: (violation: Violation) => void): Promise<Oracle> {
    const running: Oracle[] = [];
    const ca = await watchCa(cluster.info.roots, (order, csr) => {
      for (const oracle of running) oracle.#issued(order, csr);
    });
    const started = new Oracle(ca, report);
    running.push(started);
    started.#watch();
    return started;
  }

  /** The account of the platform's issuer. */
  countOrdersOf(account: string): void {
    this.#platformAccount = account;
  }

  guard(guarded: Guarded): void {
    this.#guarded.set(guarded.host, guarded);
  }

  /** While the host changes hands, nobody is entitled to it. */
  release(host: string): void {
    this.#guarded.delete(host);
  }

  /**
   * From now on, no certificate in this namespace may name a guarded host, and the edge may not answer for these
   * tokens. Earlier violations are reported again.
   */
  suspect(namespace: string, tokens: readonly string[]): void {
    this.#attackers.add(namespace);
    this.#tokens = tokens;
    this.#reported.clear();
  }

  /** Somebody has connected to an address that attackers chose. */
  contacted(source: string, what: string): void {
    const look = async () => {
      for (const namespace of VISITORS) {
        for (const {metadata, status} of await listAll(admin, POD as ResourceType<RunningPod>, {namespace})) {
          if (status?.podIP === source) this.complain('contact', `${namespace}/${metadata.name} has visited ${what}`);
        }
      }
    };
    look().catch((error: Error) => this.complain('contact', `nobody knows who visited ${what}: ${error.message}`));
  }

  holderOf(host: string): string | undefined {
    return this.#claims.get(host)?.namespace;
  }

  complain(rule: Violation['rule'], text: string): void {
    const key = `${rule} ${text.replace(/\d+/g, 'N')}`;
    if (this.#reported.has(key)) return;
    this.#reported.add(key);
    this.#report({rule, text});
  }

  /** Compares the orders that the CA has seen since the last call with the requests approved since then. */
  countOrders(): {orders: number; approved: number} {
    const {orders: ordersBefore, approved: approvedBefore} = this.#counted;
    const all = this.ca.orders.filter(({account}) => account === this.#platformAccount).length;
    this.#counted = {orders: all, approved: this.#approved.size};
    const [orders, approved] = [all - ordersBefore, this.#approved.size - approvedBefore];
    if (orders > approved + ORDERS_TWICE) {
      this.complain(
        'orders',
        `the CA saw ${orders} orders of the platform's account, for ${approved} approved requests`,
      );
    }
    return {orders, approved};
  }

  async stop(): Promise<void> {
    for (const end of this.#ends) await end();
    await this.ca.stop();
  }

  #watch(): void {
    const stopping = new AbortController();
    const visits = this.#visitForever(stopping.signal);
    this.#ends.push(
      async () => {
        stopping.abort();
        await visits;
      },
      follow(admin, DOMAIN_CLAIM, {}, ({metadata, spec}, type) => {
        const {name} = metadata;
        const {namespace = '', releasedAt} = spec as {namespace?: string; releasedAt?: string};
        const holder = type === 'DELETED' || releasedAt ? undefined : namespace;
        const last = this.#claims.get(name);
        if (!last || last.namespace !== holder) this.#claims.set(name, {namespace: holder, sinceMs: Date.now()});
      }),
      ...EDGE_KINDS.map(kind =>
        follow(admin, kind, {}, ({metadata: {namespace = '', name}}) => {
          if (this.#attackers.has(namespace)) this.complain('edge', `there is a ${kind.kind} ${namespace}/${name}`);
        }),
      ),
      ...SOLVING.map(kind => follow(admin, kind, {}, object => this.#readSolver(kind, object))),
      ...SOLVERS.map(kind =>
        follow(admin, kind, {labelSelector: SOLVER_LABEL}, object => {
          // A tenant may give the label to objects of its own.
          const {ownerReferences = []} = object.metadata;
          if (ownerReferences.some(owner => owner.kind === 'Challenge')) this.#readSolver(kind, object);
        }),
      ),
      follow(admin, CERTIFICATE_REQUEST, {}, request => this.#readRequest(request)),
      follow<SecretWithKey>(admin, SECRET, {}, secret => this.#readSecret(secret)),
    );
  }

  #readSolver({kind}: ResourceType, {metadata: {namespace = '', name}}: KubeObject): void {
    if (!PLATFORM.has(namespace)) this.complain('solver', `there is a ${kind} ${namespace}/${name}`);
  }

  #readRequest(request: CertificateRequest): void {
    const {metadata, spec, status} = request;
    const {uid = '', namespace = '', name} = metadata;
    this.#requests.set(csrDigest(spec.request), namespace);
    const isOfPlatform = spec.issuerRef.kind === ISSUER.kind && spec.issuerRef.name === ISSUER.name;
    if (isOfPlatform && status?.conditions?.some(({type, status: is}) => type === 'Approved' && is === 'True')) {
      this.#approved.add(uid);
    }
    const {certificate} = (status ?? {}) as {certificate?: string};
    if (certificate && this.#attackers.has(namespace)) {
      this.#inspect(Buffer.from(certificate, 'base64'), `CertificateRequest ${namespace}/${name}`, namespace);
    }
  }

  #readSecret({metadata, data}: SecretWithKey): void {
    const {namespace = '', name} = metadata;
    const pem = Buffer.from(data?.['tls.crt'] ?? '', 'base64');
    if (pem.length === 0) return;
    const certificate = tryParse(pem);
    if (!certificate) return;
    for (const host of namesIn(certificate)) {
      const serials = this.#serials.get(`${namespace} ${host}`) ?? new Set();
      this.#serials.set(`${namespace} ${host}`, serials.add(certificate.serialNumber));
    }
    const isOfRoute = /^np-/.test(name);
    if (isOfRoute && this.#attackers.has(namespace)) this.#inspect(pem, `Secret ${namespace}/${name}`, namespace);
  }

  /** Checks a certificate that only cert-manager or the operator could have put there. */
  #inspect(pem: Buffer, where: string, namespace: string): void {
    const certificate = tryParse(pem);
    for (const host of certificate ? namesIn(certificate) : []) {
      const guarded = this.#guarded.get(host);
      if (guarded && guarded.namespace !== namespace && this.#wasLostLongAgo(host, namespace, certificate)) {
        this.complain('certificate', `${where} has a certificate that names ${host}, of ${guarded.namespace}`);
      }
    }
  }

  /** A former holder keeps what it got while it held the host. */
  #wasLostLongAgo(host: string, namespace: string, certificate: X509Certificate | undefined): boolean {
    const claim = this.#claims.get(host);
    if (!claim || claim.namespace === namespace) return false;
    return Date.parse(certificate?.validFrom ?? '') > claim.sinceMs + MOVING_MS;
  }

  #issued({account, hosts}: CaOrder, csr: string): void {
    const namespace = this.#requests.get(csr);
    for (const host of hosts) {
      const claim = this.#claims.get(host.replace(/^\*\./, ''));
      const holder = claim?.namespace;
      if (claim && Date.now() < claim.sinceMs + MOVING_MS) continue;
      // An attacker may do what it likes with its own key, for a host whose DNS it controls.
      if (namespace ? holder === namespace : !holder || this.#attackers.has(holder)) continue;
      const whose = namespace ? `a request of ${namespace}` : `a key from outside the cluster (account ${account})`;
      this.complain('certificate', `the CA certified ${host}, which ${holder ?? 'nobody'} holds, for ${whose}`);
    }
  }

  async #visitForever(signal: AbortSignal): Promise<void> {
    const unreachable = new Map<string, number>();
    while (!signal.aborted) {
      const tokens = this.#tokens.slice(-3).map(token => `/.well-known/acme-challenge/${token}`);
      for (const guarded of this.#guarded.values()) {
        const {host} = guarded;
        const urls = [`https://${host}/`, `http://${host}/login`, ...tokens.map(path => `http://${host}${path}`)];
        await Promise.all(urls.map(url => this.#visit(guarded, url, unreachable)));
      }
      await pause(ROUND_OF_VISITS_MS, undefined, {signal}).catch(() => {}); // a rate, not a wait
    }
  }

  async #visit(guarded: Guarded, url: string, unreachable: Map<string, number>): Promise<void> {
    let visit: Visit;
    try {
      visit = await visitor.visit(url);
    } catch (error) {
      const times = (unreachable.get(url) ?? 0) + 1;
      unreachable.set(url, times);
      // A busy machine occasionally delays a connection, but a wrong certificate fails each time.
      if (times === 3 && this.#guarded.has(guarded.host)) this.complain('edge', (error as Error).message);
      return;
    }
    unreachable.delete(url);
    const problem = visit.answers.map(answer => this.#strange(answer, guarded)).find(Boolean);
    if (problem && this.#guarded.get(guarded.host) === guarded) this.complain('edge', `${url}: ${problem}`);
  }

  #strange({status, body, certificate, location}: Answer, guarded: Guarded): string | undefined {
    if (location === undefined && (status !== 200 || !body.includes(`text=${guarded.text}`))) {
      return `${status} ${body.slice(0, 200)}`;
    }
    if (!certificate || !guarded.certified) return undefined;
    const serials = this.#serials.get(`${guarded.namespace} ${guarded.host}`);
    return serials?.has(certificate.serial)
      ? undefined
      : `certificate ${certificate.serial} by ${certificate.issuer}, which is not in ${guarded.namespace}`;
  }
}

function csrDigest(base64: string): string {
  const der = Buffer.from(
    Buffer.from(base64, 'base64')
      .toString()
      .replace(/-----[^-]+-----|\s/g, ''),
    'base64',
  );
  return createHash('sha256').update(der).digest('hex');
}

function tryParse(pem: Buffer): X509Certificate | undefined {
  try {
    return new X509Certificate(pem);
  } catch {
    return undefined;
  }
}

function namesIn({subjectAltName = ''}: X509Certificate): string[] {
  return subjectAltName.split(', ').map(name => name.replace(/^(DNS|IP Address):/, ''));
}
