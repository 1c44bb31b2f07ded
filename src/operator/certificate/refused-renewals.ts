/** Reports the certificates that cert-manager cannot renew, as a warning and a metric of the operator. */
import {Gauge, type Registry} from 'prom-client';
import {counted} from '../../api/conditions.ts';
import {type DeepReadonly, keyOf} from '../../runtime/kube/object.ts';
import type {Clock} from '../../time/clock.ts';
import type {Stores} from '../caches/stores.ts';
import type {OperatorConfig} from '../config/config.ts';
import {isRenewalRefused} from '../kinds/issuers.ts';
import type {Certificate} from '../kinds/kinds.ts';

interface Parts {
  readonly config: Pick<OperatorConfig, 'admission' | 'certificates' | 'platform'>;
  readonly stores: Pick<Stores, 'certificates' | 'otherCertificates' | 'issuers' | 'clusterIssuers'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly registry: Registry;
}

/** Returns the text for the readiness check, if any. */
export function watchRefusedRenewals({config, stores, clock, registry}: Parts): () => string | undefined {
  const isRefused = (certificate: DeepReadonly<Certificate>) => isRenewalRefused(config, stores, certificate);
  const refused = () =>
    [stores.certificates, stores.otherCertificates].flatMap(store =>
      Iterator.from(store.list()).filter(isRefused).toArray(),
    );
  new Gauge({
    name: 'nameplate_certificates_not_renewable',
    help: "Certificates in tenants' namespaces that cert-manager cannot renew, because the admission policies refuse its challenges there.",
    registers: [registry],
    collect() {
      this.set(refused().length);
    },
  });
  return () => {
    const found = refused();
    if (found.length === 0) return undefined;
    const isEnforced = !config.admission.notEnforced.includes('issuance');
    const count = counted(found.length, 'certificate');
    const what = `${isEnforced ? '' : 'Once admission.issuance is enforced, '}cert-manager cannot renew ${count} in tenants' namespaces, because it may not solve challenges there${nextExpiry(found, clock.now())}.`;
    return `${what} To list all of them, run: kubectl nameplate review. List the hosts of tenants' own Certificates in Projects, which get certificates from Nameplate.`;
  };
}

/** Without names of hosts, which tenants choose freely. */
function nextExpiry(certificates: readonly DeepReadonly<Certificate>[], nowMs: number): string {
  const expiresMs = ({status}: DeepReadonly<Certificate>) => Date.parse(status?.notAfter ?? '');
  const valid = certificates.filter(certificate => expiresMs(certificate) > nowMs);
  if (valid.length === 0) return '';
  const next = valid.reduce((a, b) => (expiresMs(b) < expiresMs(a) ? b : a));
  return `; the next to expire is ${keyOf(next)}, at ${next.status?.notAfter}`;
}
