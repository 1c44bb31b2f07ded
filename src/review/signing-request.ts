/** The request that cert-manager would derive from a Certificate, with its names. It is never signed. */
import {CertificationRequest, CertificationRequestInfo} from '@peculiar/asn1-csr';
import {AsnConvert, OctetString} from '@peculiar/asn1-schema';
import {
  AlgorithmIdentifier,
  Attribute,
  AttributeTypeAndValue,
  AttributeValue,
  Extension,
  Extensions,
  GeneralName,
  id_ce_subjectAltName,
  Name,
  RelativeDistinguishedName,
  SubjectAlternativeName,
  SubjectPublicKeyInfo,
} from '@peculiar/asn1-x509';
import type {Certificate, CertificateRequest} from '../operator/model/kinds.ts';
import type {DeepReadonly} from '../runtime/kube/object.ts';

const COMMON_NAME = '2.5.4.3';
const EXTENSION_REQUEST = '1.2.840.113549.1.9.14';
/** Placeholders for key and signature, which are not verified here. */
const ANY_ALGORITHM = new AlgorithmIdentifier({algorithm: '1.2.3'});
const NOTHING = new Uint8Array(1).buffer;

/** The fields of `spec.subject`. https://cert-manager.io/docs/reference/api-docs/#cert-manager.io/v1.X509Subject */
const SUBJECT = {
  countries: '2.5.4.6',
  organizations: '2.5.4.10',
  organizationalUnits: '2.5.4.11',
  localities: '2.5.4.7',
  provinces: '2.5.4.8',
  streetAddresses: '2.5.4.9',
  postalCodes: '2.5.4.17',
  serialNumber: '2.5.4.5',
} as const;

/** https://cert-manager.io/docs/reference/api-docs/#cert-manager.io/v1.CertificateSpec */
export interface CertificateSpec {
  readonly commonName?: string;
  readonly subject?: DeepReadonly<Partial<Record<keyof typeof SUBJECT, string | string[]>>>;
  /** An RFC 4514 subject, which may contain common names. */
  readonly literalSubject?: string;
  readonly dnsNames?: readonly string[];
  readonly ipAddresses?: readonly string[];
  readonly uris?: readonly string[];
  readonly emailAddresses?: readonly string[];
  readonly otherNames?: readonly object[];
  readonly isCA?: boolean;
  readonly usages?: readonly string[];
}

/** The Certificate's next request, as created by `username`, cert-manager's user. */
export function nextRequest(certificate: DeepReadonly<Certificate>, username: string): CertificateRequest {
  const {apiVersion, kind, metadata, spec} = certificate;
  const {name, namespace = '', uid = ''} = metadata;
  const {isCA, usages, ...names} = spec as DeepReadonly<Certificate>['spec'] & CertificateSpec;
  const owner = {apiVersion, kind, name, uid, controller: true};
  return {
    apiVersion,
    kind: 'CertificateRequest',
    metadata: {name, namespace, ownerReferences: [owner]},
    spec: {
      request: pemOf(signingRequest(names)),
      issuerRef: spec.issuerRef,
      username,
      ...(isCA && {isCA}),
      ...(usages && {usages: [...usages]}),
    },
  };
}

function signingRequest({commonName, subject = {}, dnsNames = [], ...others}: CertificateSpec): ArrayBuffer {
  const {ipAddresses = [], uris = [], emailAddresses = [], otherNames = []} = others;
  // For names of other kinds, only their presence matters.
  const unlike = [...ipAddresses, ...uris, ...emailAddresses, ...otherNames].map(
    () => new GeneralName({uniformResourceIdentifier: 'any'}),
  );
  const names = [...dnsNames.map(dNSName => new GeneralName({dNSName})), ...unlike];
  const extnValue = new OctetString(AsnConvert.serialize(new SubjectAlternativeName(names)));
  const extensions = new Extensions([new Extension({extnID: id_ce_subjectAltName, extnValue})]);
  const info = new CertificationRequestInfo({
    subject: new Name([...attributesOf(subject), ...(commonName ? [nameOf(COMMON_NAME, commonName)] : [])]),
    subjectPKInfo: new SubjectPublicKeyInfo({algorithm: ANY_ALGORITHM, subjectPublicKey: NOTHING}),
  });
  info.attributes.push(new Attribute({type: EXTENSION_REQUEST, values: [AsnConvert.serialize(extensions)]}));
  const signed = {certificationRequestInfo: info, signatureAlgorithm: ANY_ALGORITHM, signature: NOTHING};
  return AsnConvert.serialize(new CertificationRequest(signed));
}

function attributesOf(subject: NonNullable<CertificateSpec['subject']>): RelativeDistinguishedName[] {
  const fields = Object.keys(SUBJECT) as (keyof typeof SUBJECT)[];
  return fields.flatMap(field => [subject[field] || []].flat().map(text => nameOf(SUBJECT[field], text)));
}

function nameOf(type: string, utf8String: string): RelativeDistinguishedName {
  const value = new AttributeValue({utf8String});
  return new RelativeDistinguishedName([new AttributeTypeAndValue({type, value})]);
}

function pemOf(der: ArrayBuffer): string {
  const body = Buffer.from(der).toString('base64');
  const pem = `-----BEGIN CERTIFICATE REQUEST-----\n${body}\n-----END CERTIFICATE REQUEST-----\n`;
  return Buffer.from(pem).toString('base64');
}
