/**
 * Finds the fields of any object that name something that may belong to another tenant, only by their name and place.
 */

/** What the value of a field names. */
export type Meaning =
  | 'host'
  | 'class'
  | 'secret'
  | 'service'
  | 'issuer'
  | 'issuerKind'
  | 'url'
  | 'address'
  | 'namespace'
  | 'rule'
  | 'role';

const BY_NAME: readonly (readonly [RegExp, Meaning])[] = [
  [/^(host|hosts|hostnames?|dnsNames?|commonName|sans|externalName|main|primary|aliases|from|to|targets)$/, 'host'],
  [/^(className|ingressClassName|ingressClass|class|gatewayClassName|loadBalancerClass)$/, 'class'],
  [/^(secretName|nextPrivateKeySecretName|tokenSecretName)$/, 'secret'],
  [/^(serviceName)$/, 'service'],
  [/^(server|url|uri|endpoint|nameserver|authorizationURL)$/, 'url'],
  [/^(externalIPs|loadBalancerIP|addresses|ip|ipAddresses|clusterIPs?)$/, 'address'],
  [/^(namespace|namespaces)$/, 'namespace'],
  [/^match$/, 'rule'],
];

/** By the name of the parent field, for `name` and `kind` in a reference. */
const BY_PARENT: readonly (readonly [RegExp, Meaning])[] = [
  [/^(issuerRef)$/, 'issuer'],
  [/(secret|Secret|certificate)\w*Refs?$|^(secret|secrets|imagePullSecrets)$/, 'secret'],
  [/^(service|services|backend|backendRefs|serviceRef)$/, 'service'],
  [/^roleRef$/, 'role'],
];

/**
 * `path`: the names of the fields on the way, without list indexes. Undefined: the field names nothing of that sort.
 */
export function meaningOf(path: readonly string[]): Meaning | undefined {
  const [name = ''] = path.slice(-1);
  const [parent = ''] = path.slice(-2, -1);
  if (path[0] === 'metadata') return undefined;
  const reference = BY_PARENT.find(([pattern]) => pattern.test(parent))?.[1];
  if (name === 'kind' && reference === 'issuer') return 'issuerKind';
  if (name === 'name') return reference;
  return BY_NAME.find(([pattern]) => pattern.test(name))?.[1];
}

/** Annotations that well-known controllers obey, with what each value names; '' for "true". */
export const ANNOTATIONS: readonly (readonly [key: string, meaning: Meaning | ''])[] = [
  ['kubernetes.io/ingress.class', 'class'],
  ['cert-manager.io/issuer', 'issuer'],
  ['cert-manager.io/cluster-issuer', 'issuer'],
  ['cert-manager.io/issuer-kind', 'issuerKind'],
  ['cert-manager.io/common-name', 'host'],
  ['cert-manager.io/alt-names', 'host'],
  ['cert-manager.io/secret-template', ''],
  ['cert-manager.io/issue-temporary-certificate', ''],
  ['kubernetes.io/tls-acme', ''],
  ['acme.cert-manager.io/http01-edit-in-place', ''],
  ['acme.cert-manager.io/http01-override-ingress-name', 'secret'], // a managed Ingress and its Secret have one name
  ['acme.cert-manager.io/http01-override-ingress-class', 'class'],
  ['acme.cert-manager.io/http01-ingress-class', 'class'],
  ['acme.cert-manager.io/http01-parentrefname', 'service'],
  ['traefik.ingress.kubernetes.io/router.pathmatcher', 'rule'],
  ['traefik.ingress.kubernetes.io/router.priority', ''],
  ['traefik.ingress.kubernetes.io/service.serversscheme', ''],
  ['nginx.ingress.kubernetes.io/server-alias', 'host'],
  ['nginx.ingress.kubernetes.io/permanent-redirect', 'url'],
  ['external-dns.alpha.kubernetes.io/hostname', 'host'],
  ['external-dns.alpha.kubernetes.io/target', 'address'],
  ['external-dns.alpha.kubernetes.io/internal-hostname', 'host'],
  ['metallb.universe.tf/loadBalancerIPs', 'address'],
  ['metallb.io/loadBalancerIPs', 'address'],
  ['lbipam.cilium.io/ips', 'address'],
];
