import {GROUP} from '../../api/names.ts';
import type {ConfigPath, ConfigProblem} from '../../config/config-schema.ts';
import type {
  CertificatesConfig,
  IssuerRef,
  LeaderElectionConfig,
  OperatorConfig,
  OperatorDnsConfig,
  PlatformConfig,
  RoutingConfig,
} from './config.ts';

/** What a schema cannot express: contradictions between options that are each valid. */
export function checkOperatorConfig(config: OperatorConfig): readonly ConfigProblem[] {
  return [
    ...checkPlatform(config.platform),
    ...checkPlans(config),
    ...checkIssuers(config.certificates),
    ...checkSecrets(config),
    ...checkLeaderElection(config.controller.leaderElection),
    ...checkDns(config.dns),
    ...checkRouting(config.routing),
  ];
}

function checkPlatform({baseDomain, targetDomain, acmeDomain}: PlatformConfig): readonly ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  if (baseDomain === targetDomain) {
    const message = `is ${targetDomain}, which is also platform.baseDomain; allowed: another domain, because the default hosts of projects and the DNS targets of accounts must not share a zone`;
    problems.push({path: ['platform', 'targetDomain'], message});
  }
  const delegated = [baseDomain, targetDomain].find(zone => `.${zone}`.endsWith(`.${acmeDomain}`));
  if (acmeDomain !== '' && delegated !== undefined) {
    const message = `is ${acmeDomain}, to which ${delegated} belongs; allowed: another domain, because its name server answers nothing but challenges`;
    problems.push({path: ['platform', 'acmeDomain'], message});
  }
  return problems;
}

function checkPlans({plans, defaultPlan}: OperatorConfig): readonly ConfigProblem[] {
  if (Object.hasOwn(plans, defaultPlan)) return [];
  const message = `is "${defaultPlan}", which plans does not define; allowed: ${Object.keys(plans).join(', ')}`;
  return [{path: ['defaultPlan'], message}];
}

/** Each kind belongs to one group, and the other default would name an issuer that does not exist. */
function checkIssuers({issuerRef, formerIssuerRefs, approval}: CertificatesConfig): readonly ConfigProblem[] {
  const {hosts, services} = approval.tenantCertificates;
  const isMismatch = ({kind, group}: IssuerRef) => (kind === 'ACMEIssuer') !== (group === GROUP);
  const mismatch = (path: ConfigPath, ref: IssuerRef) =>
    isMismatch(ref)
      ? [
          {
            path: [...path, 'group'],
            message: `is ${ref.group}; allowed: ${GROUP} with kind ACMEIssuer, and only with it`,
          },
        ]
      : [];
  const listed = (key: 'hosts' | 'services', refs: readonly IssuerRef[]) =>
    refs.flatMap((ref, index) =>
      ref.kind === 'ACMEIssuer'
        ? [
            {
              path: ['certificates', 'approval', 'tenantCertificates', key, index, 'kind'],
              message: 'is ACMEIssuer, which signs only what Nameplate itself requests',
            },
          ]
        : [],
    );
  return [
    ...mismatch(['certificates', 'issuerRef'], issuerRef),
    ...formerIssuerRefs.flatMap((ref, index) => mismatch(['certificates', 'formerIssuerRefs', index], ref)),
    ...listed('hosts', hosts),
    ...listed('services', services),
  ];
}

/** The operator creates each of these Secrets for one purpose, and never changes what another one wrote. */
function checkSecrets({platform, certificates}: OperatorConfig): readonly ConfigProblem[] {
  const {accountKeySecret, formerAccountKeySecrets} = certificates.acme;
  const path = ['certificates', 'acme'];
  const isOfPlatform = (name: string) => platform.keyFile === undefined && name === platform.keySecret.name;
  const reserved = 'which platform.keySecret names; allowed: another Secret';
  const problems: ConfigProblem[] = [];
  if (isOfPlatform(accountKeySecret)) {
    problems.push({path: [...path, 'accountKeySecret'], message: `is ${accountKeySecret}, ${reserved}`});
  }
  for (const [index, name] of formerAccountKeySecrets.entries()) {
    const at = [...path, 'formerAccountKeySecrets', index];
    if (isOfPlatform(name)) problems.push({path: at, message: `is ${name}, ${reserved}`});
    if (name === accountKeySecret) {
      problems.push({path: at, message: `is ${name}, which is also accountKeySecret; allowed: the Secrets before it`});
    }
  }
  return problems;
}

function checkLeaderElection(election: LeaderElectionConfig): readonly ConfigProblem[] {
  const {leaseDurationSeconds: lease, renewDeadlineSeconds: renew, retryPeriodSeconds: retry} = election;
  const path = ['controller', 'leaderElection'];
  return [
    ...mustBeLess([...path, 'renewDeadlineSeconds'], renew, 'leaseDurationSeconds', lease),
    ...mustBeLess([...path, 'retryPeriodSeconds'], retry, 'renewDeadlineSeconds', renew),
  ];
}

function checkRouting({provider, movingFrom, gateway, traefik}: RoutingConfig): readonly ConfigProblem[] {
  if (provider === movingFrom) return [{path: ['routing', 'movingFrom'], message: 'must differ from routing.provider'}];
  const {httpEntryPoint, httpsEntryPoint} = traefik;
  if ([provider, movingFrom].includes('traefik') && httpEntryPoint === httpsEntryPoint) {
    const message = `is ${httpsEntryPoint}, which is also httpEntryPoint: hosts would redirect to themselves`;
    return [{path: ['routing', 'traefik', 'httpsEntryPoint'], message}];
  }
  if (provider !== 'gateway') return [];
  if (gateway.httpListener === gateway.httpsListener) {
    const message = `is ${gateway.httpsListener}, which is also httpListener: hosts would redirect to themselves`;
    return [{path: ['routing', 'gateway', 'httpsListener'], message}];
  }
  const missing = (['namespace', 'name'] as const).filter(key => gateway[key] === '');
  return missing.map(key => ({
    path: ['routing', 'gateway', key],
    message: 'is empty; it must be set if routing.provider is gateway',
  }));
}

function checkDns(dns: OperatorDnsConfig): readonly ConfigProblem[] {
  const {checks, queryTimeoutMs, verdictTimeoutMs} = dns;
  return [
    ...mustBeLess(['dns', 'queryTimeoutMs'], queryTimeoutMs, 'verdictTimeoutMs', verdictTimeoutMs),
    ...mustBeLess(['dns', 'checks', 'soonSeconds'], checks.soonSeconds, 'pendingMaxSeconds', checks.pendingMaxSeconds),
  ];
}

function mustBeLess(
  path: readonly string[],
  value: number,
  otherName: string,
  other: number,
): readonly ConfigProblem[] {
  if (value < other) return [];
  return [{path, message: `is ${value}; allowed: less than ${otherName}, which is ${other}`}];
}
