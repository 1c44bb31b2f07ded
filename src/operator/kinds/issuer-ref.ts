import {GROUP} from '../../api/names.ts';
import type {DeepReadonly} from '../../runtime/kube/object.ts';
import type {CertificatesConfig, IssuerRef as ConfiguredIssuer, OperatorConfig} from '../config/config.ts';
import type {Certificate} from './kinds.ts';

type IssuerRef = Readonly<Certificate['spec']['issuerRef']>;

/** The issuer as cert-manager reads it: its defaults apply to missing and empty fields. */
export function issuerOf({name, kind, group}: IssuerRef): Required<IssuerRef> {
  return {name, kind: kind || 'Issuer', group: group || 'cert-manager.io'};
}

/** A certificate keeps an issuer that the platform lists now or listed before; any other issuer is replaced. */
export function keptIssuer(
  {certificates: {issuerRef, formerIssuerRefs}}: OperatorConfig,
  existing: DeepReadonly<Certificate> | undefined,
): IssuerRef {
  if (!existing) return issuerRef;
  const has = issuerOf(existing.spec.issuerRef);
  const isSame = ({name, kind, group}: ConfiguredIssuer) =>
    name === has.name && kind === has.kind && group === has.group;
  return [issuerRef, ...formerIssuerRefs].some(isSame) ? existing.spec.issuerRef : issuerRef;
}

/** The name of the ACMEIssuer; undefined if the reference is to another kind of issuer. */
export function acmeIssuerOf(issuerRef: IssuerRef): string | undefined {
  const {name, kind, group} = issuerOf(issuerRef);
  return kind === 'ACMEIssuer' && group === GROUP ? name : undefined;
}

/** The ACMEIssuers that the configuration names, and so trusts with orders. */
export function acmeIssuersOf({
  issuerRef,
  formerIssuerRefs,
}: Pick<CertificatesConfig, 'issuerRef' | 'formerIssuerRefs'>): string[] {
  return [issuerRef, ...formerIssuerRefs].flatMap(ref => acmeIssuerOf(ref) ?? []);
}
