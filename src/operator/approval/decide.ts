/** Whether a request may have what it asks for: exactly one host, which its namespace holds. */
import type {DeepReadonly} from '../../runtime/kube/object.ts';
import {accountOf} from '../account.ts';
import type {Operator} from '../context.ts';
import {holderOf} from '../domain/subject.ts';
import type {CertificateRequest} from '../resources.ts';
import {INDEX} from '../stores.ts';
import {requestedNames} from './csr.ts';

export interface Decision {
  readonly type: 'Approved' | 'Denied';
  readonly reason: 'HostHeld' | 'DefaultHost' | 'NamespaceExempt' | 'NotOneHost' | 'HostNotHeld';
  readonly message: string;
  /** The one host that is asked for; absent where that does not matter, or it is not one. */
  readonly host?: string;
}

export function decide(operator: Operator, request: DeepReadonly<CertificateRequest>): Decision {
  const {namespace = ''} = request.metadata;
  if (operator.config.certificates.approval.exemptNamespaces.includes(namespace)) {
    return approved(
      'NamespaceExempt',
      `Namespace ${namespace} may ask for any certificate, as the platform has configured.`,
    );
  }
  const host = hostOf(request);
  if (host === undefined) {
    return denied(
      'NotOneHost',
      'A certificate is approved for exactly one host, and for servers only. List the hosts in spec.domains of a Project: each gets a certificate of its own.',
    );
  }
  const reason = howHeld(operator, namespace, host);
  if (reason) return approved(reason, `This namespace holds ${host}.`, host);
  return denied(
    'HostNotHeld',
    `This namespace does not hold ${host}. List it in spec.domains of a Project and create the record that the Domain shows; the certificate then comes by itself.`,
  );
}

/** The one host that is asked for; undefined where it is not one, or the certificate is to be good for more than a server. */
function hostOf(request: DeepReadonly<CertificateRequest>): string | undefined {
  if (!known.has(request)) known.set(request, readHost(request.spec));
  return known.get(request);
}

/** A request that waits for its turn is looked at often, and read once: what is cached never changes. */
const known = new WeakMap<object, string | undefined>();

function readHost({request, isCA, usages = []}: DeepReadonly<CertificateRequest['spec']>): string | undefined {
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
function howHeld(
  {stores, config, identity}: Operator,
  namespace: string,
  host: string,
): 'HostHeld' | 'DefaultHost' | undefined {
  const object = stores.namespaces.get(namespace);
  if (!object) return undefined;
  if (holderOf(stores.claims.get(host), accountOf(object, config), namespace) === 'us') return 'HostHeld';
  if (config.defaultHost.tls !== 'certificate') return undefined; // else a tenant could use up the CA's limit of the base domain
  const projects = [...stores.projects.byIndex(INDEX.namespace, namespace)];
  const isDefault = projects.some(({metadata}) => identity.defaultHost(metadata.name, namespace) === host);
  return isDefault ? 'DefaultHost' : undefined;
}

function approved(reason: Decision['reason'], message: string, host?: string): Decision {
  return {type: 'Approved', reason, message, ...(host !== undefined && {host})};
}

function denied(reason: Decision['reason'], message: string): Decision {
  return {type: 'Denied', reason, message};
}
