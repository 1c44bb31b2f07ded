/**
 * Reports what breaks the promises of the threat model in this cluster: policies that are off or only audit, versions
 * of cert-manager or the edge that are too old, and issuers whose challenges the policies refuse. The log, /readyz, and
 * a metric report it; the operator keeps running.
 */
import type {Logger} from 'pino';
import type {Registry} from 'prom-client';
import {metricsIn} from '../operations/metrics.ts';
import type {ReadonlyStore} from '../runtime/cache/store.ts';
import type {KubeClient} from '../runtime/kube/client.ts';
import {resourceType} from '../runtime/kube/object.ts';
import type {OperatorConfig} from './config/config.ts';
import type {Issuer} from './kinds/kinds.ts';

/** Earlier versions write the token of a challenge into a rule of the edge that is not exact. */
const OLDEST_CERT_MANAGER = '1.18.0';
/** Earlier versions put the path of an Ingress into their rules without quotes (traefik/traefik 11d251415a). */
const OLDEST_TRAEFIK = '3.6.11';

const UNKNOWN = 'unknown';

const CRD = resourceType('apiextensions.k8s.io/v1', 'CustomResourceDefinition', 'customresourcedefinitions', 'cluster');

interface PromiseParts {
  readonly config: OperatorConfig;
  readonly client: KubeClient;
  readonly clusterIssuers: ReadonlyStore<Issuer>;
  readonly registry: Registry;
  readonly logger: Logger;
}

/** Checks once, except for issuers, which may change. Returns the text for the readiness check, if any. */
export function checkPromises(parts: PromiseParts): () => string | undefined {
  const {config, client, clusterIssuers, registry, logger} = parts;
  const found: string[] = [];
  const problems = () => [...found, ...issuerProblems(config, clusterIssuers)];
  const {gauge, reading} = metricsIn(registry);
  reading('nameplate_promises_held', '1 if nothing is known to break the promises of the threat model, else 0.', () =>
    problems().length === 0 ? 1 : 0,
  );
  const info = gauge(
    'nameplate_component_info',
    'The versions that the promises depend on, as far as they are known.',
    'component',
    'version',
  );
  const report = (reported: readonly string[]) => {
    for (const problem of reported) logger.warn(problem);
    found.push(...reported);
  };
  const show = (component: string, version: string | undefined) => {
    info.set({component, version: version ?? UNKNOWN}, 1);
    if (version === undefined) logger.warn(unknownVersion(component));
  };
  report(configuredProblems(config));
  for (const [component, version] of edgeVersions(config.routing)) show(component, version);
  void certManagerVersion(client, logger).then(version => {
    show('cert-manager', version);
    report(tooOld('cert-manager', version, OLDEST_CERT_MANAGER));
  });
  return () => problems().join(' ') || undefined;
}

/** No problem is known: the promises may hold, but the platform team should check. */
export function unknownVersion(component: string): string {
  const [name, key] = {
    traefik: ['Traefik', 'config.routing.traefik.version'],
    gateway: ['the implementation of Gateway API', 'config.routing.gateway.version'],
  }[component] ?? ['cert-manager', undefined];
  const todo = key ? `Set ${key}.` : 'Its CRDs have no label with a version.';
  return `The version of ${name} is unknown, so Nameplate cannot tell whether the promises of the threat model hold with it. ${todo}`;
}

/** The versions of the edges that have routes, by component; undefined if unknown. */
export function edgeVersions({
  provider,
  movingFrom,
  traefik,
  gateway,
}: OperatorConfig['routing']): readonly (readonly [component: string, version: string | undefined])[] {
  return [
    ...(usesTraefik({provider, movingFrom}) ? [['traefik', traefik.version || undefined] as const] : []),
    ...(provider === 'gateway' ? [['gateway', gateway.version || undefined] as const] : []),
  ];
}

/**
 * cert-manager may solve challenges in a tenant's namespace only through DNS-01, below the platform's own domain: the
 * policy `challenges` refuses all others.
 */
export function issuerProblems(
  {platform: {baseDomain}, certificates: {issuerRef, formerIssuerRefs, approval}}: OperatorConfig,
  clusterIssuers: Pick<ReadonlyStore<Issuer>, 'get'>,
): string[] {
  const listed = [issuerRef, ...formerIssuerRefs, ...approval.tenantCertificates.hosts];
  const names = new Set(listed.filter(({kind}) => kind === 'ClusterIssuer').map(({name}) => name));
  const acme = [...names].filter(name => clusterIssuers.get(name)?.speaksAcme);
  return acme.map(
    name =>
      `ClusterIssuer ${name} speaks ACME, so it issues and renews no certificate of a custom host: cert-manager may solve challenges in tenants' namespaces only through DNS-01 for names below ${baseDomain}. Name an ACMEIssuer in config.certificates.issuerRef, and remove this one from formerIssuerRefs.`,
  );
}

export function configuredProblems({admission, certificates, routing}: OperatorConfig): string[] {
  const {notEnforced} = admission;
  const off = notEnforced.length > 0 ? [notEnforcedProblem(notEnforced)] : [];
  const approval = approvalProblems(certificates.approval);
  const version = usesTraefik(routing) ? routing.traefik.version || undefined : undefined;
  return [...off, ...approval, ...tooOld('Traefik', version, OLDEST_TRAEFIK)];
}

function approvalProblems({enabled, dryRun}: OperatorConfig['certificates']['approval']): string[] {
  if (!enabled) {
    return [
      'Nameplate does not approve certificate requests, because config.certificates.approval.enabled is false. Set it to true, or make sure that another approver denies every request of a tenant for a host of another tenant.',
    ];
  }
  if (!dryRun) return [];
  return [
    "Nameplate denies no certificate requests, because config.certificates.approval.dryRun is true: tenants can get certificates for other tenants' hosts. Once nameplate_dry_run_requests shows no denied request that should have been approved, disable cert-manager's built-in approver and set dryRun to false.",
  ];
}

function usesTraefik({provider, movingFrom}: Pick<OperatorConfig['routing'], 'provider' | 'movingFrom'>): boolean {
  return provider === 'traefik' || movingFrom === 'traefik';
}

function notEnforcedProblem(names: readonly string[]): string {
  return `The admission policies are not enforced (${names.join(', ')}): tenants can serve hosts that they do not hold, and get certificates for them. Set admission.mode to enforce and enable the policies in the chart values.`;
}

export function tooOld(component: string, version: string | undefined, oldest: string): string[] {
  if (version === undefined || compareVersions(version, oldest) >= 0) return [];
  return [`${component} ${version} is too old for the promises of the threat model. Upgrade it to ${oldest} or later.`];
}

/** Three numbers, with or without a leading v; ignores what follows them. */
function compareVersions(a: string, b: string): number {
  const [left, right] = [a, b].map(version => (/\d+(\.\d+)*/.exec(version)?.[0] ?? '0').split('.').map(Number));
  for (let index = 0; index < 3; index++) {
    const difference = (left?.[index] ?? 0) - (right?.[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** Every installation method of cert-manager labels its CRDs. */
async function certManagerVersion(client: KubeClient, logger: Logger): Promise<string | undefined> {
  try {
    const crd = await client.get(CRD, {name: 'certificates.cert-manager.io'});
    const version = crd?.metadata.labels?.['app.kubernetes.io/version'];
    return version && /^v?0\.0\.0/.test(version) ? undefined : version; // a build from source
  } catch (error) {
    logger.warn({err: error}, 'The version of cert-manager is unknown, because its CRD cannot be read.');
    return undefined;
  }
}
