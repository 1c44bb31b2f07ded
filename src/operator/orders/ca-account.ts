import type {OperatorConfig} from '../config.ts';
import type {Certificate} from '../resources.ts';

/**
 * The platform's account at the CA, by the issuer that a certificate is asked of: "ClusterIssuer/name", or
 * "Issuer/namespace/name". Undefined for any other issuer: what is ordered there is not ours to limit.
 */
export function caAccountOf(
  {certificates}: OperatorConfig,
  namespace: string,
  {name, kind = 'Issuer', group = 'cert-manager.io'}: Readonly<Certificate['spec']['issuerRef']>,
): string | undefined {
  const ours = certificates.issuerRef;
  if (name !== ours.name || kind !== ours.kind || group !== ours.group) return undefined;
  return kind === 'Issuer' ? `${kind}/${namespace}/${name}` : `${kind}/${name}`;
}

/** The namespace whose orders alone are of the account; undefined: those of all namespaces. */
export function namespaceOf(caAccount: string): string | undefined {
  const [kind, namespace] = caAccount.split('/');
  return kind === 'Issuer' ? namespace : undefined;
}
