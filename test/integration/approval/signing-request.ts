import {mkdtemp, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {run} from '../../cluster/children.ts';

export interface SigningRequestOptions {
  readonly commonName?: string;
  /** Attributes before the common name, as OpenSSL writes them: /O=system:masters. */
  readonly subject?: string;
  /** As OpenSSL writes them: DNS:a.example.com, IP:192.0.2.1. */
  readonly names?: readonly string[];
}

/** Base64 of PEM, as in `spec.request` of a CertificateRequest, created by OpenSSL with a temporary key. */
export async function signingRequest({commonName, subject = '', names = []}: SigningRequestOptions): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'nameplate-csr-'));
  try {
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', join(folder, 'key')];
    const subj = ['-subj', `${subject}${commonName ? `/CN=${commonName}` : ''}` || '/'];
    const extensions = names.length > 0 ? ['-addext', `subjectAltName=${names.join(',')}`] : [];
    const pem = await run(['openssl', 'req', '-new', ...key, ...subj, ...extensions]);
    return Buffer.from(pem).toString('base64');
  } finally {
    await rm(folder, {recursive: true});
  }
}
