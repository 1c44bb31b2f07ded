/**
 * What a tenant tries to make cert-manager do, object by object, and what cert-manager itself may do in its namespace.
 */
import {
  BY_DNS,
  challenge,
  DEFAULT_HOST,
  HELD,
  LISTED_SERVER,
  NEXT_KEY,
  OTHER_GROUP,
  order,
  SOLVER,
  solverIngress,
} from './challenges.ts';
import {type Manifest, manifest, type ObjectAttack, type ObjectDeed, VICTIM} from './manifests.ts';

const secret = {name: 'any', key: 'any'};
const listed = {server: LISTED_SERVER, privateKeySecretRef: {name: 'account'}};
const vault = {server: LISTED_SERVER, path: 'pki/sign/any', auth: {tokenSecretRef: secret}};
const tpp = {url: LISTED_SERVER, credentialsRef: {name: 'any'}};

function issuer(name: string, spec: object): Manifest {
  return manifest('Issuer', name, {spec});
}

const NOT_LISTED = 'The platform does not list the server';
const WHOM_TO_TRUST = 'An Issuer may not change how its server is verified';
const SOLVES = 'An Issuer of type acme would solve challenges in this namespace';

const issuers: readonly (readonly [attack: string, spec: object, says: string])[] = [
  ['that speaks ACME with its own server', {acme: {...listed, server: 'https://acme.mallory.example/'}}, SOLVES],
  // attack: tenant-issuer
  ['that speaks ACME with a listed server', {acme: listed}, SOLVES],
  ['that solves challenges at the edge', {acme: {...listed, solvers: [{http01: {ingress: {}}}]}}, SOLVES],
  // attack: tenant-issuer
  ['that solves challenges through DNS', {acme: {...listed, solvers: [{dns01: BY_DNS.solver.dns01}]}}, SOLVES],
  ['of Vault at its own server', {vault: {...vault, server: 'https://vault.mallory.example'}}, NOT_LISTED],
  // attack: tenant-issuer
  [
    'whose server only begins like a listed one',
    {vault: {...vault, server: `${LISTED_SERVER}@mallory.example/`}},
    NOT_LISTED,
  ],
  // attack: tenant-issuer
  ['with its own CA for the listed server', {vault: {...vault, caBundle: 'bWluZQ=='}}, WHOM_TO_TRUST],
  [
    'with its own CA from a Secret for the listed server',
    {vault: {...vault, caBundleSecretRef: secret}},
    WHOM_TO_TRUST,
  ],
  [
    'of Venafi at its own server',
    {venafi: {zone: 'any', tpp: {...tpp, url: 'https://tpp.mallory.example'}}},
    NOT_LISTED,
  ],
  [
    'of Venafi with its own CA for the listed server',
    {venafi: {zone: 'any', tpp: {...tpp, caBundle: 'bWluZQ=='}}},
    WHOM_TO_TRUST,
  ],
  [
    'of Venafi Cloud at its own server',
    {venafi: {zone: 'any', cloud: {url: 'https://cloud.mallory.example', apiTokenSecretRef: secret}}},
    NOT_LISTED,
  ],
  [
    'of Venafi NGTS that gets its tokens from its own server',
    {
      venafi: {
        zone: 'any',
        ngts: {tokenEndpoint: 'https://ngts.mallory.example', tsgID: 'any', credentialsRef: {name: 'any'}},
      },
    },
    NOT_LISTED,
  ],
];

const certificate = {secretName: 'mine', dnsNames: [HELD], issuerRef: {name: 'mine'}};
const otherClass = {ingressClassName: 'internal', rules: [{host: HELD}]};
const shim = (key: string, value: string) => ({annotations: {[key]: value}});
/** Reserved for the objects of hosts, but a request may have this name. */
const RESERVED = `np-${'a'.repeat(20)}-1`;
const PLATFORM = {name: 'letsencrypt', kind: 'ClusterIssuer'};

export const issuanceAttacks: readonly ObjectAttack[] = [
  ...issuers.map(([attack, spec, says], index) => ({
    attack: `an Issuer ${attack}`,
    object: issuer(`steal-${index}`, spec),
    says,
  })),
  // attack: cert-manager-work
  {
    attack: 'a Secret that cert-manager would take for the next private key of a Certificate',
    object: manifest('Secret', 'junk', {data: {}}, {labels: NEXT_KEY}),
    says: 'Only cert-manager may write the next private key of a Certificate',
  },
  ...Object.entries({
    Certificate: manifest('Certificate', 'unlisted', {spec: {...certificate, issuerRef: PLATFORM}}),
    CertificateRequest: manifest('CertificateRequest', RESERVED, {spec: {request: 'AA==', issuerRef: PLATFORM}}),
    Ingress: manifest('Ingress', 'unlisted', {spec: otherClass}, shim('cert-manager.io/cluster-issuer', PLATFORM.name)),
  }).map(([kind, object]) => ({
    // attack: cert-manager-work
    attack: `${kind} for an issuer that is not listed`,
    object,
    says: 'Nameplate would not approve a certificate from ClusterIssuer letsencrypt. List your hosts in spec.domains',
  })),
  ...['Certificate', 'Ingress'].map(kind => ({
    attack: `${kind} for an issuer that is not listed, with a name that only starts like a reserved one`,
    object:
      kind === 'Ingress'
        ? manifest(kind, 'np-mine', {spec: otherClass}, shim('cert-manager.io/cluster-issuer', PLATFORM.name))
        : manifest(kind, 'np-mine', {spec: {...certificate, issuerRef: PLATFORM}}),
    says: 'Nameplate would not approve a certificate from ClusterIssuer letsencrypt',
  })),
  // attack: cert-manager-work
  {
    attack: 'a Certificate for an issuer of a group on whose requests Nameplate does not decide',
    object: manifest('Certificate', 'other-kind', {
      spec: {...certificate, issuerRef: {name: 'pca', kind: 'AWSPCAIssuer', group: 'awspca.cert-manager.io'}},
    }),
    says: 'Or ask the platform team to list awspca.cert-manager.io in admission.issuance.otherIssuerGroups',
  },
  // attack: cert-manager-work
  {
    attack: 'a Certificate whose key takes cert-manager half a minute',
    object: manifest('Certificate', 'slow', {spec: {...certificate, privateKey: {algorithm: 'RSA', size: 8192}}}),
    says: 'cert-manager would take too long to generate this key',
  },
];

export const issuanceDeeds: readonly ObjectDeed[] = [
  {deed: 'create an Issuer of Vault at a listed server', object: issuer('vault', {vault})},
  {deed: 'create an Issuer of Venafi at a listed server', object: issuer('tpp', {venafi: {zone: 'any', tpp}})},
  {deed: 'create an Issuer that signs with its own key', object: issuer('own-ca', {ca: {secretName: 'ca'}})},
  {deed: 'create a self-signed Issuer', object: issuer('own-signature', {selfSigned: {}})},
  {
    deed: 'create a CertificateRequest',
    object: manifest('CertificateRequest', 'mine', {spec: {request: 'AA==', issuerRef: {name: 'mine'}}}),
  },
  {
    deed: 'create a Certificate from a listed issuer',
    object: manifest('Certificate', 'listed', {spec: {...certificate, privateKey: {algorithm: 'RSA', size: 4096}}}),
  },
  {
    deed: 'create a Certificate from an issuer of a group on whose requests another approver decides',
    object: manifest('Certificate', 'other-approver', {
      spec: {...certificate, issuerRef: {name: 'any', kind: 'AnyIssuer', group: OTHER_GROUP}},
    }),
  },
  {
    deed: 'annotate an Ingress for a listed issuer',
    object: manifest('Ingress', 'listed', {spec: otherClass}, shim('cert-manager.io/issuer', 'mine')),
  },
];

/** A Certificate that cert-manager creates from annotations of an Ingress or a Gateway. */
export const shimCertificate = manifest('Certificate', 'by-shim', {spec: {...certificate, issuerRef: PLATFORM}});

const pod = {containers: [{name: 'any', image: 'any'}]};
const ports = [{port: 80}];
const route = {parentRefs: [{name: 'edge', namespace: 'gateway'}], hostnames: [HELD]};

/** Refused no matter who writes it. `routed`: only where Nameplate serves on a Gateway. */
export const solvers: readonly ObjectDeed[] = [
  {deed: 'a Pod', object: manifest('Pod', 'solver', {spec: pod}, {labels: SOLVER})},
  {deed: 'a Service', object: manifest('Service', 'solver', {spec: {clusterIP: 'None', ports}}, {labels: SOLVER})},
  {deed: 'an Ingress for a host that the namespace holds', object: solverIngress('solver', [{host: HELD}])},
  {deed: 'an Ingress for every host', object: solverIngress('every', [{}])},
];
export const solverRoute = manifest('HTTPRoute', 'solver', {spec: route}, {labels: SOLVER});

const tenantIssuer = {issuerRef: {name: 'mine', kind: 'Issuer'}};
const defaultIssuer = {issuerRef: {name: 'mine'}};
const BASE_DOMAIN = DEFAULT_HOST.slice(DEFAULT_HOST.indexOf('.') + 1);

/** Refused no matter who writes it. */
export const challenges: readonly ObjectDeed[] = [
  {deed: 'an Order for a host that the namespace holds', object: order('held', [HELD])},
  // attack: tenant-issuer
  {deed: 'an Order for a default host and another host', object: order('both', [DEFAULT_HOST, HELD])},
  {
    deed: 'an Order for a default host and an address',
    object: order('ip', [DEFAULT_HOST], {ipAddresses: ['192.0.2.1']}),
  },
  {deed: 'an Order for an address', object: order('address', [], {ipAddresses: ['192.0.2.1']})},
  {deed: 'an Order for nothing', object: order('nothing', [])},
  {deed: 'an Order for the base domain itself', object: order('base', [BASE_DOMAIN])},
  // attack: tenant-issuer
  {deed: 'an Order for a name that only ends like it', object: order('like', [`x-${BASE_DOMAIN}`])},
  {deed: "an Order of a tenant's Issuer for a default host", object: order('tenant', [DEFAULT_HOST], tenantIssuer)},
  {deed: 'an Order of an Issuer without a kind', object: order('no-kind', [DEFAULT_HOST], defaultIssuer)},
  {deed: 'a Challenge for a host that the namespace holds', object: challenge('held', HELD)},
  {deed: 'a Challenge by DNS-01 for such a host', object: challenge('held-dns', HELD, BY_DNS)},
  {deed: "a Challenge for another namespace's host", object: challenge('foreign', VICTIM)},
  {deed: 'a Challenge by HTTP-01 for a default host', object: challenge('default', DEFAULT_HOST)},
  // attack: tenant-issuer
  {
    deed: 'a Challenge that calls itself DNS-01 and has a solver for HTTP-01',
    object: challenge('mixed', DEFAULT_HOST, {type: 'DNS-01'}),
  },
  // attack: tenant-issuer
  {
    deed: 'a Challenge by DNS-01 for a wildcard over the base domain',
    object: challenge('wildcard', BASE_DOMAIN, {wildcard: true, ...BY_DNS}),
  },
  {
    deed: "a Challenge by DNS-01 of a tenant's Issuer for a default host",
    object: challenge('tenant', DEFAULT_HOST, {...BY_DNS, ...tenantIssuer}),
  },
];

/** The one way in which cert-manager may order in a tenant's namespace: in the platform's own zone. */
export const ordersOfPlatform: readonly ObjectDeed[] = [
  {deed: 'an Order of a ClusterIssuer for a default host', object: order('default', [DEFAULT_HOST])},
  {deed: 'a Challenge by DNS-01 for it', object: challenge('default', DEFAULT_HOST, BY_DNS)},
];
