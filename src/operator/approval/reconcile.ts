/**
 * Approves the certificate requests of hosts that their namespace holds, and denies all others, so that nobody gets a
 * certificate for a host that it has not proved, by whatever Certificate or CertificateRequest it may write.
 * Takes the place of cert-manager's own approver: https://cert-manager.io/docs/usage/certificaterequest/#approval
 */
import {timestamp} from '../../api/conditions.ts';
import type {Reconcile} from '../../runtime/controller/controller.ts';
import {after, done} from '../../runtime/controller/outcome.ts';
import type {DeepReadonly} from '../../runtime/kube/object.ts';
import type {ReadonlyStore} from '../../runtime/kube/store.ts';
import {accountOf} from '../account.ts';
import type {Operator} from '../context.ts';
import {holderOf} from '../domain/subject.ts';
import {CERTIFICATE_REQUEST, type CertificateRequest} from '../resources.ts';
import {INDEX} from '../stores.ts';
import {requestedNames} from './csr.ts';

/** A denial is for good, so it waits until the caches have surely seen the claim that a request may stand on. */
const GRACE_MS = 10_000;

type Decision = {readonly type: 'Approved' | 'Denied'; readonly reason: string; readonly message: string};

/** Keys are "namespace/name". */
export function reconcileCertificateRequest(
  operator: Operator,
  requests: ReadonlyStore<CertificateRequest>,
): Reconcile {
  const {stores, clock} = operator;
  return async (key, {client, signal}) => {
    const request = requests.get(key);
    if (!request || request.metadata.deletionTimestamp || isDecided(request)) return done();
    if (stores.claims.state !== 'synced' || stores.namespaces.state !== 'synced') return after(1000);
    const decision = decide(operator, request);
    const ageMs = clock.now() - Date.parse(request.metadata.creationTimestamp ?? '');
    if (decision.type === 'Denied' && ageMs < GRACE_MS) return after(1000);
    const condition = {...decision, status: 'True', lastTransitionTime: timestamp(clock.now())};
    const {name, namespace = '', resourceVersion = ''} = request.metadata;
    // At the version that was read: else another request, made under the same name meanwhile, would get this one's decision.
    const metadata = {name, namespace, resourceVersion};
    const identity = {apiVersion: 'cert-manager.io/v1', kind: 'CertificateRequest', metadata};
    await client.applyStatus(CERTIFICATE_REQUEST, {...identity, status: {conditions: [condition]}}, {signal});
    return done();
  };
}

/** What is cached: of a decided request, and most are, only that it is decided. */
export function undecidedPart(request: CertificateRequest): CertificateRequest {
  const {apiVersion, kind, metadata, spec, status} = request;
  const decided = status?.conditions?.filter(({type}) => type === 'Approved' || type === 'Denied') ?? [];
  if (decided.length > 0) return {apiVersion, kind, metadata, spec: {request: ''}, status: {conditions: decided}};
  const {request: text, isCA, usages} = spec;
  return {apiVersion, kind, metadata, spec: {request: text, ...(isCA && {isCA}), ...(usages && {usages})}};
}

function isDecided({status}: DeepReadonly<CertificateRequest>): boolean {
  return status?.conditions?.some(({type}) => type === 'Approved' || type === 'Denied') ?? false;
}

function decide(operator: Operator, {metadata, spec}: DeepReadonly<CertificateRequest>): Decision {
  const {namespace = ''} = metadata;
  if (operator.config.certificates.approval.exemptNamespaces.includes(namespace)) {
    return approved(
      'NamespaceExempt',
      `Namespace ${namespace} may ask for any certificate, as the platform has configured.`,
    );
  }
  const host = hostOf(spec);
  if (host === undefined) {
    return denied(
      'NotOneHost',
      'A certificate is approved for exactly one host, and for servers only. List the hosts in spec.domains of a Project: each gets a certificate of its own.',
    );
  }
  if (holds(operator, namespace, host)) return approved('HostHeld', `This namespace holds ${host}.`);
  return denied(
    'HostNotHeld',
    `This namespace does not hold ${host}. List it in spec.domains of a Project and create the record that the Domain shows; the certificate then comes by itself.`,
  );
}

/** The one host that is asked for; undefined where it is not one, or the certificate is to be good for more than a server. */
function hostOf({request, isCA, usages = []}: DeepReadonly<CertificateRequest['spec']>): string | undefined {
  if (isCA || usages.some(usage => !SERVER_USAGES.has(usage))) return undefined;
  try {
    const {dnsNames, others} = requestedNames(request);
    return dnsNames.length === 1 && !others ? dnsNames[0] : undefined;
  } catch {
    return undefined; // not a request that any CA could sign
  }
}

const SERVER_USAGES: ReadonlySet<string> = new Set(['digital signature', 'key encipherment', 'server auth']);

/** By a claim, or as the default host of one of its Projects where each has a certificate of its own. */
function holds({stores, config, identity}: Operator, namespace: string, host: string): boolean {
  const object = stores.namespaces.get(namespace);
  if (!object) return false;
  if (holderOf(stores.claims.get(host), accountOf(object, config), namespace) === 'us') return true;
  if (config.defaultHost.tls !== 'certificate') return false; // else a tenant could use up the CA's limit of the base domain
  const projects = [...stores.projects.byIndex(INDEX.namespace, namespace)];
  return projects.some(({metadata}) => identity.defaultHost(metadata.name, namespace) === host);
}

function approved(reason: string, message: string): Decision {
  return {type: 'Approved', reason, message};
}

function denied(reason: string, message: string): Decision {
  return {type: 'Denied', reason, message};
}
