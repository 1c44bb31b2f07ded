/** Values for the fields of hostile objects: the attacker's own, the victims', and the platform's. */
import {routeName} from '../../../src/operator/kinds/derived-names.ts';
import {ANNOTATIONS, type Meaning} from './fields.ts';
import type {Random} from './random.ts';

/** What an attacker knows when a round begins. */
export interface Known {
  readonly namespace: string;
  /** The attacker's own hosts. It adds more to its Project during the round. */
  readonly hosts: readonly string[];
  /** Hosts of other tenants that the attacker wants. */
  readonly victims: readonly {readonly namespace: string; readonly host: string; readonly service: string}[];
  readonly platformHosts: readonly string[];
  readonly edgeClass: string;
  readonly clusterIssuers: readonly string[];
  readonly platformIssuer: {readonly name: string; readonly kind: string; readonly group: string};
  /** A name for an Issuer of the attacker. */
  readonly approvedIssuer: string;
  /** ACME directories of the attacker's own server and of the platform's CA. */
  readonly relay: string;
  readonly ca: string;
  /** Verifies the CA's server; base64 of PEM. */
  readonly caBundle: string;
  /** The attacker's Secret with the account key of its ACME server. */
  readonly keySecret: string;
  /** The attacker's own Service. */
  readonly service: string;
  /** An address that nobody but the attacker uses. */
  readonly trap: string;
  /** Of the edge, of the trap, and of victims' pods. */
  readonly addresses: readonly string[];
  /** Signing requests by host: base64 of PEM. */
  readonly requests: Readonly<Record<string, string>>;
}

/** Draws values for one object. Most concern one host. */
export class Draw {
  readonly random: Random;
  readonly known: Known;
  readonly theme: string;
  /** Issuers that the attacker has created so far, the last one first. */
  readonly #issuers: readonly string[];

  constructor(random: Random, known: Known, theme: string, issuers: readonly string[]) {
    this.random = random;
    this.known = known;
    this.theme = theme;
    this.#issuers = issuers;
  }

  host(): string {
    const {hosts, victims, platformHosts} = this.known;
    if (this.random.chance(0.8)) return this.theme;
    const all = [...hosts, ...victims.map(({host}) => host), ...platformHosts];
    return this.random.pick([...all, `*.${this.random.pick(all)}`]);
  }

  value(meaning: Meaning): string {
    const {random, known, theme} = this;
    const victim = random.pick(known.victims);
    switch (meaning) {
      case 'host':
        return this.host();
      case 'class':
        return random.weighted([
          [4, 'another'],
          [3, known.edgeClass],
          [1, ''],
        ]);
      case 'secret':
        return random.weighted([
          [5, routeName(known.namespace, theme)],
          [4, known.keySecret],
          [2, `tls-${random.below(3)}`],
          [1, routeName(victim.namespace, victim.host)],
        ]);
      case 'service':
        return random.weighted([
          [3, known.service],
          [2, routeName(known.namespace, theme)],
          [1, victim.service],
        ]);
      case 'issuer':
        return this.issuerRef().name;
      case 'issuerKind':
        return random.pick(['Issuer', 'ClusterIssuer', known.platformIssuer.kind]);
      case 'url':
        return random.weighted([
          [5, known.relay],
          [3, known.ca],
          [1, `https://${known.trap}/`],
          [1, `https://${this.host()}/`],
        ]);
      case 'address':
        return random.pick([...known.addresses, '127.0.0.1', '169.254.169.254']);
      case 'namespace':
        return random.pick([victim.namespace, known.namespace, 'kube-system', 'cert-manager', 'nameplate-system']);
      case 'rule':
        return random.pick([
          `Host(\`${this.host()}\`)`,
          `Host(\`${this.host()}\`) && PathPrefix(\`/.well-known/acme-challenge\`)`,
          'PathPrefix(`/`)',
        ]);
      case 'role':
        return random.pick(['cluster-admin', 'admin', 'nameplate', 'nameplate-trusted']);
    }
  }

  issuerRef(): {name: string; kind: string; group: string} {
    const {random, known} = this;
    const {approvedIssuer, platformIssuer, clusterIssuers} = known;
    const [last = approvedIssuer] = this.#issuers;
    const ofCertManager = (kind: string, name: string) => ({name, kind, group: 'cert-manager.io'});
    return random.weighted([
      [4, platformIssuer],
      [1, ofCertManager('ClusterIssuer', random.pick(clusterIssuers))],
      [3, ofCertManager('Issuer', last)],
      [2, ofCertManager('Issuer', random.pick([approvedIssuer, ...this.#issuers]))],
    ]);
  }

  annotations(): Record<string, string> {
    const {random} = this;
    const count = 1 + random.below(2);
    const issuers = ANNOTATIONS.filter(([, meaning]) => meaning === 'issuer');
    const pool = random.chance(0.4) ? issuers : ANNOTATIONS;
    return Object.fromEntries(
      Array.from({length: count}, () => {
        const [key, meaning] = random.pick(pool);
        return [key, meaning === '' ? 'true' : this.#annotation(key, meaning)];
      }),
    );
  }

  #annotation(key: string, meaning: Meaning): string {
    if (meaning !== 'issuer') return this.value(meaning);
    for (;;) {
      const {name, kind} = this.issuerRef();
      if ((kind === 'ClusterIssuer') === (key === 'cert-manager.io/cluster-issuer')) return name;
    }
  }

  /** None, or one that may trigger something, such as a renewal. */
  conditions(): object[] {
    const type = this.random.pick(['Ready', 'Issuing', 'Approved', 'Accepted']);
    const condition = {
      type,
      status: 'True',
      reason: 'Attack',
      message: 'a',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    };
    return this.random.chance(0.3) ? [] : [condition];
  }

  labels(): Record<string, string | null> {
    const {random, known} = this;
    const nobody = {app: 'nobody'};
    return random.pick<Record<string, string | null>>([
      {app: known.service},
      nobody,
      {'acme.cert-manager.io/http01-solver': random.pick(['true', 'false'])},
      {'acme.cert-manager.io/http-domain': null, 'acme.cert-manager.io/http-token': null},
      {'nameplate.dev/host': this.host(), 'app.kubernetes.io/managed-by': 'nameplate'},
      {'nameplate.dev/account': random.pick(known.victims).namespace},
      {'kubernetes.io/service-name': this.value('service')},
    ]);
  }
}
