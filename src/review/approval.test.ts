import {expect, test} from 'vitest';
import {LABEL} from '../api/names.ts';
import type {DecisionBasis} from '../operator/approval/decide.ts';
import {operatorConfigDefinition} from '../operator/config-schema.ts';
import type {OperatorConfig} from '../operator/model/config.ts';
import {routeName} from '../operator/model/derived-names.ts';
import type {CachedProject, Certificate, DomainClaim, Issuer} from '../operator/model/kinds.ts';
import {judgedIssuer} from '../operator/state/slim.ts';
import {INDEX} from '../operator/state/stores.ts';
import {parseConfig} from '../process/load-config.ts';
import type {KubeObject} from '../runtime/kube/object.ts';
import {storeOf} from './api.ts';
import {judgeRequest} from './approval.ts';
import {type CertificateSpec, nextRequest} from './signing-request.ts';

const NAMESPACE = 'shop';
const HELD = 'shop.example.com';
const SERVER = 'https://ca.example/directory';
const object = (kind: string, name: string, content: object, namespace?: string) =>
  ({apiVersion: 'any/v1', kind, metadata: {name, uid: name, ...(namespace && {namespace})}, ...content}) as KubeObject;

type Certificates = OperatorConfig['certificates'];
type Change = Partial<Omit<Certificates, 'approval'>> & {readonly approval?: Partial<Certificates['approval']>};

function configWith({approval, ...change}: Change): OperatorConfig {
  const text = JSON.stringify({
    platform: {baseDomain: 'apps.example.net', targetDomain: 'edge.example.net'},
    certificates: {issuerRef: {name: 'letsencrypt'}},
  });
  const config = parseConfig<OperatorConfig>(text, 'a test', operatorConfigDefinition);
  const {certificates} = config;
  return {
    ...config,
    certificates: {...certificates, ...change, approval: {...certificates.approval, ...approval}},
  };
}

function certificateOf(spec: Partial<Certificate['spec']> & CertificateSpec, isManaged = false): Certificate {
  const issuerRef = {name: 'letsencrypt', kind: 'ClusterIssuer'};
  const name = isManaged ? routeName(NAMESPACE, HELD) : 'mine';
  const certificate = object('Certificate', name, {spec: {secretName: 'any', issuerRef, ...spec}}, NAMESPACE);
  if (isManaged) certificate.metadata.labels = {[LABEL.managedBy]: 'nameplate'};
  return certificate as Certificate;
}

function basisOf(config: OperatorConfig, certificate: Certificate): DecisionBasis {
  const claim = {spec: {account: NAMESPACE, namespace: NAMESPACE, since: '2026-01-01T00:00:00Z'}};
  const vault = {vault: {server: SERVER}};
  const issuer = object('Issuer', 'own', {spec: vault}, NAMESPACE) as Issuer;
  const projects = storeOf<CachedProject>([]);
  projects.addIndex(INDEX.defaultHost, () => []);
  return {
    config,
    places: {has: () => true},
    stores: {
      projects,
      namespaces: storeOf([object('Namespace', NAMESPACE, {})]),
      claims: storeOf([object('DomainClaim', HELD, claim) as DomainClaim]),
      certificates: storeOf(certificate.metadata.labels ? [certificate] : []),
      issuers: storeOf([judgedIssuer(issuer, config)]),
    },
  };
}

function judged(certificate: Certificate, change: Change = {}) {
  const config = configWith(change);
  return judgeRequest(basisOf(config, certificate), nextRequest(certificate, config.certificates.certManagerUser));
}

test.each([
  {what: "the operator's own", certificate: certificateOf({dnsNames: [HELD]}, true)},
  {
    what: "the operator's own with a common name",
    certificate: certificateOf({dnsNames: [HELD], commonName: HELD}, true),
  },
])('finds nothing in $what', ({certificate}) => {
  expect(judged(certificate)).toBeUndefined();
});

const internal = {name: 'internal', kind: 'ClusterIssuer', group: 'cert-manager.io'} as const;
const own = {name: 'own', kind: 'Issuer', group: 'cert-manager.io'} as const;
const exempt = {
  rule: 'approval/NotOneHost',
  value: 'approval.exemptNamespaces',
  fix: {approval: {exemptNamespaces: [NAMESPACE]}},
};
const service = 'api.shop.svc';

test.each([
  {
    what: "the operator's own from a former issuer",
    certificate: certificateOf({dnsNames: [HELD], issuerRef: internal}, true),
    ...{rule: 'approval/IssuerNotListed', value: 'formerIssuerRefs', fix: {formerIssuerRefs: [internal]}},
  },
  {
    what: "a tenant's for a host that it holds",
    certificate: certificateOf({dnsNames: [HELD], issuerRef: internal}),
    ...{rule: 'approval/NotManaged', value: 'approval.tenantCertificates.hosts'},
    fix: {approval: {tenantCertificates: {hosts: [internal], services: []}}},
  },
  {
    what: "a tenant's for its Services",
    certificate: certificateOf({
      dnsNames: [service, 'db.shop.svc.cluster.local'],
      usages: ['client auth'],
      issuerRef: internal,
    }),
    ...{rule: 'approval/NotOneHost', value: 'approval.tenantCertificates.services'},
    fix: {approval: {tenantCertificates: {hosts: [], services: [internal]}}},
  },
  {
    what: "a tenant's for one Service",
    certificate: certificateOf({dnsNames: [service], issuerRef: internal}),
    ...{rule: 'approval/HostNotHeld', value: 'approval.tenantCertificates.services'},
    fix: {approval: {tenantCertificates: {hosts: [], services: [internal]}}},
  },
  {what: 'two hosts', certificate: certificateOf({dnsNames: [HELD, 'x.test']}), ...exempt},
  {what: 'a common name that differs', certificate: certificateOf({dnsNames: [HELD], commonName: 'x.test'}), ...exempt},
  {what: 'an IP address', certificate: certificateOf({dnsNames: [HELD], ipAddresses: ['192.0.2.1']}), ...exempt},
  {what: 'a URI', certificate: certificateOf({dnsNames: [HELD], uris: ['spiffe://a/b']}), ...exempt},
  {what: 'an e-mail address', certificate: certificateOf({dnsNames: [HELD], emailAddresses: ['a@b.test']}), ...exempt},
  {
    what: 'an organization',
    certificate: certificateOf({dnsNames: [HELD], subject: {organizations: ['system:masters']}}),
    ...{...exempt, rule: 'approval/SubjectNotAllowed'},
  },
  {
    what: 'a serial number of its Service',
    certificate: certificateOf({dnsNames: [service], subject: {serialNumber: '1'}}),
    ...{...exempt, rule: 'approval/SubjectNotAllowed'},
  },
  {what: 'a name that is no host', certificate: certificateOf({dnsNames: ['..']}), ...exempt},
  {what: 'a CA', certificate: certificateOf({dnsNames: [HELD], isCA: true}), ...exempt},
  {what: 'clients', certificate: certificateOf({dnsNames: [HELD], usages: ['client auth']}), ...exempt},
  {
    what: 'a host that its namespace does not hold',
    certificate: certificateOf({dnsNames: ['x.test']}),
    ...{rule: 'approval/HostNotHeld', value: 'approval.exemptNamespaces'},
    fix: {approval: {exemptNamespaces: [NAMESPACE]}},
  },
])('names the value that keeps a Certificate for $what', ({certificate, rule, value, fix}) => {
  const reason = judged(certificate);
  expect(reason).toMatchObject({rule, values: [`config.certificates.${value}`]});
  expect(reason?.advice).toContain(`config.certificates.${value}`);
  expect(judged(certificate, fix), 'the value keeps it').toBeUndefined();
});

test('names the server of an Issuer once its issuer is listed', () => {
  const certificate = certificateOf({dnsNames: [HELD], issuerRef: own});
  const approval = {tenantCertificates: {hosts: [own], services: []}};
  const reason = judged(certificate, {approval});
  expect(reason).toMatchObject({
    ...{rule: 'approval/IssuerNotAllowed', values: ['config.certificates.tenantIssuers.servers']},
    advice: expect.stringContaining(`{url: "${SERVER}"}`),
  });
  expect(judged(certificate, {approval, tenantIssuers: {servers: [{url: SERVER}]}})).toBeUndefined();
});

test('says that no value keeps a Certificate from an Issuer that does not exist', () => {
  const gone = {name: 'gone', kind: 'Issuer', group: 'cert-manager.io'} as const;
  const approval = {tenantCertificates: {hosts: [gone], services: []}};
  const reason = judged(certificateOf({dnsNames: [HELD], issuerRef: {name: 'gone', kind: 'Issuer'}}), {approval});
  expect(reason).toMatchObject({
    ...{rule: 'approval/IssuerNotAllowed', values: []},
    advice: expect.stringContaining('No chart value allows this'),
  });
});

test('names the group of an issuer on whose requests another approver must decide', () => {
  const issuerRef = {name: 'a', kind: 'AWSPCAIssuer', group: 'awspca.cert-manager.io'};
  expect(judged(certificateOf({dnsNames: [HELD], issuerRef}))).toMatchObject({
    ...{rule: 'approval/OtherIssuerKind', values: ['admission.issuance.otherIssuerGroups']},
    advice: expect.stringContaining('list it in admission.issuance.otherIssuerGroups: "awspca.cert-manager.io"'),
  });
});
