/**
 * A problem that keeps all certificates from being issued is reported once, as a warning and a metric of the operator.
 */
import type {Registry} from 'prom-client';
import {metricsIn} from '../../operations/metrics.ts';
import type {Stores} from '../caches/stores.ts';
import type {OperatorConfig} from '../config/config.ts';
import {acmeIssuerOf, acmeNotReady, issuerOf, notReady} from '../kinds/issuers.ts';
import type {CertManager} from './cert-manager.ts';

interface Parts {
  readonly config: Pick<OperatorConfig, 'certificates'>;
  readonly stores: Pick<Stores, 'certificates' | 'clusterIssuers' | 'acmeIssuers'>;
  readonly certManager: Pick<CertManager, 'problem'>;
  readonly registry: Registry;
}

/** Returns the text for the readiness check. */
export function watchIssuance({config, stores, certManager, registry}: Parts): () => string | undefined {
  const problems = {
    'cert-manager': () =>
      stores.certificates.state === 'missing' ? 'cert-manager is not installed.' : certManager.problem(),
    issuer: () => issuerTrouble(config, stores),
  } as const;
  metricsIn(registry).readings(
    'nameplate_dependency_up',
    '0 if this is known to keep every certificate from being issued.',
    ['dependency'],
    () => Object.entries(problems).map(([dependency, problem]) => [{dependency}, problem() ? 0 : 1]),
  );
  return () => {
    const found = Object.values(problems).flatMap(problem => problem() ?? []);
    if (found.length === 0) return undefined;
    return `${found.join(' ')} Hosts that have a valid certificate are served until it expires; new hosts wait.`;
  };
}

/** Of the configured issuer, if it is one of the whole cluster. */
function issuerTrouble(
  {certificates}: Parts['config'],
  {certificates: {state}, clusterIssuers, acmeIssuers}: Parts['stores'],
): string | undefined {
  const {kind, name, group} = issuerOf(certificates.issuerRef);
  if (acmeIssuerOf(certificates.issuerRef) !== undefined) {
    if (acmeIssuers.state !== 'synced') return undefined;
    const found = acmeIssuers.get(name);
    return found ? acmeNotReady(name, found) : `There is no ACMEIssuer ${name}.`;
  }
  if (state !== 'synced' || clusterIssuers.state !== 'synced') return undefined;
  if (group !== 'cert-manager.io' || kind !== 'ClusterIssuer') return undefined;
  const issuer = clusterIssuers.get(name);
  return issuer ? notReady(kind, name, issuer) : `There is no ClusterIssuer ${name}.`;
}
