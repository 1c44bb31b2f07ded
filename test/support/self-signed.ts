import {readFile} from 'node:fs/promises';
import {join} from 'node:path';
import {run} from '../cluster/children.ts';

/** A certificate and its key, in PEM. `altNames`: as openssl writes them, `DNS:…` or `IP:…`. */
export async function selfSigned(folder: string, name: string, altNames: string, days = 2) {
  const [certFile, keyFile] = [join(folder, `${name}.pem`), join(folder, `${name}.key`)];
  const subject = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=${altNames}`, '-days', `${days}`];
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', keyFile];
  await run(['openssl', 'req', '-x509', ...key, ...subject, '-out', certFile]);
  return {cert: await readFile(certFile), key: await readFile(keyFile)};
}
