/** An issuer that a tenant runs: of a kind that cert-manager leaves to others, so that it certifies whatever names it likes. */
import {mkdtemp, rm, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {timestamp} from '../../../src/api/conditions.ts';
import {CERTIFICATE, CERTIFICATE_REQUEST, type CertificateRequest} from '../../../src/operator/resources.ts';
import {run} from '../../cluster/children.ts';
import {until} from '../../cluster/wait.ts';
import type {Tenant} from './tenant.ts';

const ISSUER_REF = {name: 'liar', kind: 'Issuer', group: 'issuers.test'};

/** From now on the host's certificates are asked of it. */
export async function askLiar(tenant: Tenant, host: string): Promise<void> {
  const name = tenant.certificate(host)?.metadata.name ?? '';
  await tenant.world.client.patch(CERTIFICATE, {namespace: tenant.namespace, name}, {spec: {issuerRef: ISSUER_REF}});
}

/**
 * Issues whatever waits for it, for the public key that was asked for, until `isDone`: there may
 * be more than one request. `names`: as OpenSSL writes them.
 */
export async function certify(
  tenant: Tenant,
  host: string,
  names: readonly string[],
  isDone: () => boolean,
): Promise<void> {
  const {history} = tenant.world;
  const issued = new Set<string | undefined>();
  const issueAll = async () => {
    const requests = tenant.certificateRequests(host).map(({key}) => history.get(CERTIFICATE_REQUEST, key));
    for (const request of requests) {
      if (!request || issued.has(request.metadata.uid) || !isWaiting(request)) continue;
      await issue(tenant, request, names);
      issued.add(request.metadata.uid);
    }
    return isDone();
  };
  await until(`${host}: what is issued for ${names.join(',')} has its effect`, issueAll, {timeoutMs: 60_000});
}

async function issue({world}: Tenant, request: CertificateRequest, names: readonly string[]): Promise<void> {
  const {metadata, spec, status} = request;
  const certificate = await sign(Buffer.from(spec.request, 'base64'), names);
  const issued = {type: 'Ready', status: 'True', reason: 'Issued', message: 'certified'};
  const conditions = [...(status?.conditions ?? []), {...issued, lastTransitionTime: timestamp(Date.now())}];
  const patch = {status: {conditions, certificate: certificate.toString('base64')}};
  const {namespace, name} = metadata;
  await world.client.patch(CERTIFICATE_REQUEST, {namespace, name}, patch, {subresource: 'status'});
}

function isWaiting({spec, status}: CertificateRequest): boolean {
  if (spec.issuerRef.group !== ISSUER_REF.group) return false;
  const has = (wanted: string) => status?.conditions?.some(({type}) => type === wanted) ?? false;
  return has('Approved') && !has('Ready');
}

async function sign(request: Buffer, names: readonly string[]): Promise<Buffer> {
  const folder = await mkdtemp(join(tmpdir(), 'nameplate-liar-'));
  const at = (name: string) => join(folder, name);
  try {
    await writeFile(at('request'), request);
    await writeFile(at('names'), `subjectAltName=${names.join(',')}\n`);
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', at('key')];
    await run(['openssl', 'req', '-x509', ...key, '-subj', '/CN=liar', '-out', at('ca')]);
    const by = ['-CA', at('ca'), '-CAkey', at('key'), '-days', '90', '-extfile', at('names')];
    return Buffer.from(await run(['openssl', 'x509', '-req', '-in', at('request'), ...by]));
  } finally {
    await rm(folder, {recursive: true});
  }
}
