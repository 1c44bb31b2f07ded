/**
 * The undecided certificate requests for which an order may be placed, according to the caches. There may be tens of
 * thousands, and each pass over the orders judges all of them. So what a request contains is read once, and a verdict
 * holds until one of the objects that it depends on is another one: cached objects never change.
 */
import {registrableDomain} from '../../dns/dns.ts';
import {type DeepReadonly, keyOf} from '../../runtime/kube/object.ts';
import {decide} from '../approval/decide.ts';
import {accountId} from '../model/account.ts';
import {issuerOf} from '../model/ca-account.ts';
import {requestedHost} from '../model/certificate-request.ts';
import {routeKeyOf} from '../model/derived-names.ts';
import type {Certificate, CertificateRequest, DomainClaim, Issuer} from '../model/kinds.ts';
import type {Operator} from '../state/context.ts';
import {defaultHostOrders, isRecorded} from './order-history.ts';
import type {WaitingOrder} from './order-ledger.ts';

type Request = DeepReadonly<CertificateRequest>;

export interface Waiting {
  readonly request: Request;
  readonly order: WaitingOrder;
  /** "namespace/host". */
  readonly hostKey: string;
  /** Its order is already recorded and counts. */
  readonly recorded: boolean;
}

/** What follows from the request alone. Parsing it takes a millisecond, and the hash and the domain some microseconds. */
interface Contents extends Pick<WaitingOrder, 'key' | 'host' | 'domain' | 'sinceMs'> {
  readonly hostKey: string;
  /** Of the host's Certificate. */
  readonly certificateKey: string;
}

/** What else a verdict depends on, except for a default host. */
interface Basis {
  readonly namespace: ReturnType<Operator['stores']['namespaces']['get']>;
  readonly claim: DeepReadonly<DomainClaim> | undefined;
  readonly certificate: DeepReadonly<Certificate> | undefined;
  readonly issuer: DeepReadonly<Issuer> | undefined;
  readonly renewal: boolean;
}

interface Known {
  /** Undefined if the request is not for exactly one host. */
  readonly contents: Contents | undefined;
  verdict?: {readonly basis: Basis; readonly waiting: Waiting | undefined};
}

export class WaitingOrders {
  readonly #operator: Operator;
  readonly #known = new WeakMap<Request, Known>();

  constructor(operator: Operator) {
    this.#operator = operator;
  }

  read(request: Request): void {
    this.#known.set(request, {contents: contentsOf(request)});
  }

  /** Undefined if no order may be placed for the request. */
  judge(request: Request, nowMs: number): Waiting | 'unread' | undefined {
    const known = this.#known.get(request);
    if (!known) return 'unread';
    const {contents, verdict} = known;
    if (!contents) return undefined;
    const basis = this.#basisOf(request, contents, nowMs);
    if (verdict && isSame(verdict.basis, basis)) return verdict.waiting;
    const waiting = this.#waitingOf(request, contents, basis);
    if (!this.#mayBeDefaultHost(contents)) known.verdict = {basis, waiting};
    return waiting;
  }

  #basisOf({metadata: {namespace = ''}, spec}: Request, {host, certificateKey}: Contents, nowMs: number): Basis {
    const {stores} = this.#operator;
    const {kind, name} = issuerOf(spec.issuerRef);
    const certificate = stores.certificates.get(certificateKey);
    const renewalTime = certificate?.status?.renewalTime;
    return {
      namespace: stores.namespaces.get(namespace),
      claim: stores.claims.get(host),
      certificate,
      issuer: kind === 'Issuer' ? stores.issuers.get(`${namespace}/${name}`) : undefined,
      renewal: renewalTime !== undefined && Date.parse(renewalTime) <= nowMs,
    };
  }

  #waitingOf(request: Request, contents: Contents, {namespace, claim, renewal}: Basis): Waiting | undefined {
    const {host, reason} = decide(this.#operator, request);
    if (host === undefined) return undefined;
    const {key, domain, sinceMs, hostKey} = contents;
    const orders = reason === 'HostHeld' ? claim?.spec.orders : defaultHostOrders(this.#operator, request, host);
    const account = namespace ? accountId(namespace) : '';
    return {
      request,
      order: {key, host, account, domain, renewal, sinceMs},
      hostKey,
      recorded: isRecorded(orders, request),
    };
  }

  /** Such a verdict also depends on Projects, their number, their plan, and the record of their orders. */
  #mayBeDefaultHost({host}: Contents): boolean {
    const {defaultHost, platform} = this.#operator.config;
    return defaultHost.tls === 'certificate' && host.endsWith(`.${platform.baseDomain}`);
  }
}

function contentsOf(request: Request): Contents | undefined {
  const host = requestedHost(request);
  if (host === undefined) return undefined;
  const {namespace = '', creationTimestamp = ''} = request.metadata;
  const hostKey = `${namespace}/${host}`;
  return {
    key: keyOf(request),
    host,
    hostKey,
    certificateKey: routeKeyOf(hostKey),
    domain: registrableDomain(host) ?? host,
    sinceMs: Date.parse(creationTimestamp),
  };
}

function isSame(a: Basis, b: Basis): boolean {
  return (
    a.claim === b.claim &&
    a.certificate === b.certificate &&
    a.namespace === b.namespace &&
    a.issuer === b.issuer &&
    a.renewal === b.renewal
  );
}
