/**
 * What a tenant tries to make cert-manager do, object by object, and what cert-manager itself may do in its namespace.
 */
import {
  BY_DNS,
  challenge,
  HELD,
  LISTED_SERVER,
  NEXT_KEY,
  OTHER_GROUP,
  SOLVER,
  solverIngress,
  solverRoute,
} from './challenges.ts';
import {EDGE, type Manifest, manifest, type ObjectAttack, type ObjectDeed, VICTIM} from './manifests.ts';

const account = {privateKeySecretRef: {name: 'account'}};
const secret = {name: 'any', key: 'any'};
const listed = {server: LISTED_SERVER, ...account};

function issuer(name: string, spec: object): Manifest {
  return manifest('Issuer', name, {spec});
}

function solvedBy(solver: object): object {
  return {acme: {...listed, solvers: [solver]}};
}

const NOT_LISTED = 'The platform does not list the server';
const WHOM_TO_TRUST = 'An Issuer may not change how its server is verified';
const WHERE = 'An Issuer may not choose where a challenge is solved';

/** Traefik puts this before the path of the challenge. */
const matcher = `Path(\`/\`) || Host(\`${VICTIM}\`) && PathPrefix`;
const widened = {
  ingressClassName: EDGE,
  ingressTemplate: {metadata: {annotations: {'traefik.ingress.kubernetes.io/router.pathmatcher': matcher}}},
};

const issuers: readonly (readonly [attack: string, spec: object, says: string])[] = [
  ['whose ACME server is its own', {acme: {...listed, server: 'https://acme.mallory.example/directory'}}, NOT_LISTED],
  [
    'whose server only begins like a listed one',
    {acme: {...listed, server: `${LISTED_SERVER}@mallory.example/`}},
    NOT_LISTED,
  ],
  ['that does not verify the listed server', {acme: {...listed, skipTLSVerify: true}}, WHOM_TO_TRUST],
  ['with its own CA for the listed server', {acme: {...listed, caBundle: 'bWluZQ=='}}, WHOM_TO_TRUST],
  [
    'with its own CA from a Secret for the listed server',
    {vault: {server: LISTED_SERVER, path: 'any', auth: {tokenSecretRef: secret}, caBundleSecretRef: secret}},
    WHOM_TO_TRUST,
  ],
  [
    'of Vault at its own server',
    {vault: {server: 'https://vault.mallory.example', path: 'pki/sign/any', auth: {tokenSecretRef: secret}}},
    NOT_LISTED,
  ],
  [
    'of Venafi at its own server',
    {venafi: {zone: 'any', tpp: {url: 'https://tpp.mallory.example', credentialsRef: {name: 'any'}}}},
    NOT_LISTED,
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
  [
    'that sends challenges to its own name server',
    solvedBy({dns01: {rfc2136: {nameserver: '192.0.2.53'}}}),
    NOT_LISTED,
  ],
  [
    'that sends challenges to its own acme-dns',
    solvedBy({dns01: {acmeDNS: {host: 'https://dns.mallory.example', accountSecretRef: secret}}}),
    NOT_LISTED,
  ],
  [
    'that sends challenges to its own Akamai',
    solvedBy({
      dns01: {
        akamai: {
          serviceConsumerDomain: 'mallory.example',
          clientTokenSecretRef: secret,
          clientSecretSecretRef: secret,
          accessTokenSecretRef: secret,
        },
      },
    }),
    NOT_LISTED,
  ],
  [
    'that delegates challenges to a webhook',
    solvedBy({dns01: {webhook: {groupName: 'acme.mallory.example', solverName: 'any'}}}),
    WHERE,
  ],
  ['whose solver routes also match another host', solvedBy({http01: {ingress: widened}}), WHERE],
  ['whose solver writes to a named Ingress', solvedBy({http01: {ingress: {name: 'np-any'}}}), WHERE],
  ['whose solver attaches to a Gateway', solvedBy({http01: {gatewayHTTPRoute: {parentRefs: [{name: 'edge'}]}}}), WHERE],
  [
    'whose account key would be created under a reserved name',
    {acme: {...listed, privateKeySecretRef: {name: `np-${'a'.repeat(20)}`}}},
    'are reserved for Nameplate',
  ],
];

const certificate = {secretName: 'mine', dnsNames: [HELD], issuerRef: {name: 'mine'}};
const otherClass = {ingressClassName: 'internal', rules: [{host: HELD}]};
const annotated = (key: string) => ({annotations: {[`acme.cert-manager.io/${key}`]: EDGE}});
const shim = (key: string, value: string) => ({annotations: {[key]: value}});
/** Reserved for the objects of hosts, but a request may have this name. */
const RESERVED = `np-${'a'.repeat(20)}-1`;
const PLATFORM = {name: 'letsencrypt', kind: 'ClusterIssuer'};
const NOT_BY_ANNOTATION = 'Annotations may not choose where a challenge is solved';

export const issuanceAttacks: readonly ObjectAttack[] = [
  ...issuers.map(([attack, spec, says], index) => ({
    attack: `an Issuer ${attack}`,
    object: issuer(`steal-${index}`, spec),
    says,
  })),
  ...[
    'http01-override-ingress-name',
    'http01-override-ingress-class',
    'http01-override-ingress-ingressclassname',
    'http01-parentrefname',
  ].map(key => ({
    attack: `a Certificate whose annotation moves the solver: ${key}`,
    object: manifest('Certificate', `steal-${key}`, {spec: certificate}, annotated(key)),
    says: NOT_BY_ANNOTATION,
  })),
  ...['http01-edit-in-place', 'http01-ingress-class'].map(key => ({
    attack: `an Ingress of another class, whose annotation the ingress shim copies: ${key}`,
    object: manifest('Ingress', `steal-${key}`, {spec: otherClass}, annotated(key)),
    says: NOT_BY_ANNOTATION,
  })),
  {
    attack: 'a CertificateRequest whose annotation moves the solver',
    object: manifest(
      'CertificateRequest',
      'steal',
      {spec: {request: 'AA==', issuerRef: {name: 'mine'}}},
      annotated('http01-parentrefname'),
    ),
    says: NOT_BY_ANNOTATION,
  },
  {
    attack: 'a Service that cert-manager would clean up before it ends a challenge',
    object: manifest('Service', 'junk', {spec: {clusterIP: 'None', ports: [{port: 80}]}}, {labels: SOLVER}),
    says: 'Only cert-manager may create challenge solvers',
  },
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
  {
    attack: 'a Certificate for an issuer of a group on whose requests Nameplate does not decide',
    object: manifest('Certificate', 'other-kind', {
      spec: {...certificate, issuerRef: {name: 'pca', kind: 'AWSPCAIssuer', group: 'awspca.cert-manager.io'}},
    }),
    says: 'Or ask the platform team to list awspca.cert-manager.io in admission.issuance.otherIssuerGroups',
  },
  {
    attack: 'a Certificate whose key takes cert-manager half a minute',
    object: manifest('Certificate', 'slow', {spec: {...certificate, privateKey: {algorithm: 'RSA', size: 8192}}}),
    says: 'cert-manager would take too long to generate this key',
  },
  {
    attack: 'a record of the hosts that it holds',
    object: manifest('HeldHosts', 'other', {spec: {hosts: {[VICTIM]: 'any'}}}),
    says: 'Only Nameplate may write DomainClaims, KeyClaims, and HeldHosts',
  },
];

export const issuanceDeeds: readonly ObjectDeed[] = [
  {
    deed: 'create an Issuer for a listed server, with a solver at the edge',
    object: issuer('listed', solvedBy({http01: {ingress: {ingressClassName: EDGE}}})),
  },
  {
    deed: 'create an Issuer that solves through DNS at a public provider',
    object: issuer('dns', solvedBy({dns01: {cloudflare: {apiTokenSecretRef: secret}}})),
  },
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

/** A pod that a ReplicaSet creates from a tenant's template. */
export const solverPod = manifest('Pod', 'junk', {spec: {containers: [{name: 'any', image: 'any'}]}}, {labels: SOLVER});

/** Refused for a host that the namespace does not hold, no matter who writes it. */
export const unheld: readonly ObjectDeed[] = [
  {deed: 'a Challenge for another namespace’s host', object: challenge('foreign', VICTIM)},
  {deed: 'a Challenge by DNS-01 for another namespace’s host', object: challenge('foreign-dns', VICTIM, BY_DNS)},
  {deed: 'a Challenge for a wildcard over its host', object: challenge('wildcard', HELD, {wildcard: true})},
  {
    deed: 'a Challenge by DNS-01 for a wildcard over its host',
    object: challenge('wildcard-dns', HELD, {wildcard: true, ...BY_DNS}),
  },
  {deed: 'a Challenge for an IP address', object: challenge('address', '192.0.2.1')},
  {deed: 'a solver for another namespace’s host', object: solverIngress('foreign', [{host: VICTIM}])},
  {
    deed: 'a solver for its own host and another namespace’s host',
    object: solverIngress('both', [{host: HELD}, {host: VICTIM}]),
  },
  {deed: 'a solver for every host', object: solverIngress('every', [{}])},
  {deed: 'a solver on a Gateway for another namespace’s host', object: solverRoute('foreign', [VICTIM])},
  {
    deed: 'a solver on a Gateway for its own host and another namespace’s host',
    object: solverRoute('both', [HELD, VICTIM]),
  },
  {deed: 'a solver on a Gateway for every host', object: solverRoute('every')},
];

const url = `${LISTED_SERVER}/1`;
const FOR_OTHERS = 'which the order does not contain';

/** What an ACME server may answer to an order for the held host, as cert-manager records it. */
export const answers: readonly {answer: string; authorizations: readonly object[]; says?: string}[] = [
  {answer: 'one authorization, not fetched yet', authorizations: [{url}]},
  {answer: 'one for the host', authorizations: [{url, identifier: HELD, wildcard: false}]},
  {answer: 'one for another host', authorizations: [{url, identifier: VICTIM}], says: FOR_OTHERS},
  {answer: 'one for an IP address', authorizations: [{url, identifier: '192.0.2.1'}], says: FOR_OTHERS},
  {answer: 'one for a wildcard', authorizations: [{url, identifier: HELD, wildcard: true}], says: FOR_OTHERS},
  {
    answer: 'one for the host and one for another host',
    authorizations: [
      {url, identifier: HELD},
      {url, identifier: VICTIM},
    ],
    says: 'returned 2 authorizations for an order of 1 names',
  },
  {
    answer: '1,000, not fetched yet',
    authorizations: Array.from({length: 1000}, () => ({url})),
    says: 'returned 1000 authorizations for an order of 1 names',
  },
];
