import {describe, expect, test} from 'vitest';
import {ConfigError, parseConfig} from '../../config/load-config.ts';
import type {OperatorConfig} from './config.ts';
import {operatorConfigDefinition} from './schema.ts';

const minimal = `
platform: {baseDomain: apps.example.net, targetDomain: edge.example.net}
certificates: {issuerRef: {name: letsencrypt}}
`;

/** The meaning of the minimal file; the compiler checks that it is all of OperatorConfig. */
const complete: OperatorConfig = {
  platform: {
    baseDomain: 'apps.example.net',
    targetDomain: 'edge.example.net',
    confirmTargetDomain: '',
    acmeDomain: '',
    reservedHosts: [],
    keySecret: {name: 'nameplate-platform-key', key: 'platform.key'},
  },
  defaultHost: {tls: 'ingress-default'},
  plans: {
    free: {customDomains: false, maxDomains: 0, maxProjects: 10, maxApiKeys: 10},
    pro: {customDomains: true, maxDomains: 20, maxProjects: 100, maxApiKeys: 100},
  },
  defaultPlan: 'free',
  certificates: {
    issuerRef: {name: 'letsencrypt', kind: 'ClusterIssuer', group: 'cert-manager.io'},
    caaIdentities: [],
    formerIssuerRefs: [],
    certManagerUser: 'system:serviceaccount:cert-manager:cert-manager',
    certManagerLease: {namespace: 'kube-system', name: 'cert-manager-controller'},
    tenantIssuers: {servers: []},
    approval: {
      enabled: true,
      dryRun: false,
      exemptNamespaces: ['cert-manager', 'kube-system'],
      tenantCertificates: {hosts: [], services: [], clusterDomain: 'cluster.local'},
    },
    overdueAfterSeconds: 1800,
    acme: {
      accountKeySecret: 'nameplate-acme-account',
      formerAccountKeySecrets: [],
      challenges: {service: 'nameplate-challenges', configMap: 'nameplate-challenges', addresses: []},
      nameserver: {service: 'nameplate-nameserver', addresses: []},
    },
    secretRetentionSeconds: 604_800,
  },
  routing: {
    provider: 'traefik',
    movingFrom: 'none',
    apexAddresses: [],
    edgeAddresses: [],
    formerAddresses: [],
    ingressClassName: 'traefik',
    traefik: {httpEntryPoint: 'web', httpsEntryPoint: 'websecure', version: ''},
    gateway: {
      namespace: '',
      name: '',
      httpListener: 'http',
      httpsListener: 'https',
      supportedFeatures: [],
      clientTrafficPolicy: '',
      version: '',
    },
  },
  dns: {
    mode: 'auto',
    recursives: [],
    allowAddresses: [],
    checks: {soonSeconds: 5, pendingMaxSeconds: 300, steadySeconds: 3600, inFlight: 32},
    queryTimeoutMs: 2000,
    verdictTimeoutMs: 10_000,
    driftAfterSeconds: 3600,
    apexProof: 'txt',
    propagationSeconds: 172_800,
  },
  admission: {notEnforced: []},
  probes: {enabled: true, addresses: [], steadySeconds: 15, perSecond: 10, failAfterSeconds: 30, timeoutMs: 5000},
  claims: {lingerSeconds: 86_400},
  controller: {
    workers: 4,
    reportFailuresAfterSeconds: 300,
    paused: false,
    leaderElection: {
      enabled: true,
      leaseName: 'nameplate',
      leaseDurationSeconds: 15,
      renewDeadlineSeconds: 10,
      retryPeriodSeconds: 2,
    },
  },
  server: {port: 8080},
  metrics: {perDomain: false},
  diagnostics: {cpuSeconds: 10},
  log: {level: 'info'},
};

function parse(text: string): OperatorConfig {
  return parseConfig<OperatorConfig>(text, 'nameplate.yaml', operatorConfigDefinition);
}

function problems(text: string): readonly string[] {
  try {
    parse(text);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

test('three options are needed, all others have defaults', () => {
  expect(parse(minimal)).toEqual(complete);
});

test('an empty file is an error that lists all required options', () => {
  expect(problems('')).toEqual([
    'line 1, column 1: platform.baseDomain is missing; needed: a domain in lower case, without scheme, port or trailing dot, at most 189 characters, such as apps.example.net',
    'line 1, column 1: platform.targetDomain is missing; needed: a domain in lower case, without scheme, port or trailing dot, at most 189 characters, such as edge.example.net',
    'line 1, column 1: certificates.issuerRef.name is missing; needed: a name of a Kubernetes object, such as letsencrypt',
  ]);
});

test('plans of the file replace the default ones', () => {
  const config = parse(`${minimal}plans: {gold: {customDomains: true}}\ndefaultPlan: gold\n`);
  expect(config.plans).toEqual({gold: {customDomains: true, maxDomains: 20, maxProjects: 100, maxApiKeys: 100}});
});

describe('options that contradict each other are an error', () => {
  test.each([
    [
      'the default plan does not exist',
      'defaultPlan: gold',
      'line 4, column 1: defaultPlan is "gold", which plans does not define; allowed: free, pro',
    ],
    [
      'the lease ends before the leader gives up',
      'controller: {leaderElection: {renewDeadlineSeconds: 20}}',
      'line 4, column 31: controller.leaderElection.renewDeadlineSeconds is 20; allowed: less than leaseDurationSeconds, which is 15',
    ],
    [
      'the Gateway has no namespace',
      'routing: {provider: gateway, gateway: {name: platform}}',
      'line 4, column 30: routing.gateway.namespace is empty; it must be set if routing.provider is gateway',
    ],
    [
      'a query may take as long as the verdict',
      'dns: {verdictTimeoutMs: 2000}',
      'line 4, column 1: dns.queryTimeoutMs is 2000; allowed: less than verdictTimeoutMs, which is 2000',
    ],
    [
      'a recursive that looks like an address and is none',
      'dns: {recursives: ["300.1.1.1:53"]}',
      'line 4, column 20: dns.recursives[0] is "300.1.1.1:53"; allowed: an IP address, with or without a port, such as 9.9.9.9 or [2620:fe::fe]:53',
    ],
    [
      'an address of the former edge that is none',
      'routing: {formerAddresses: [999.0.2.1]}',
      'line 4, column 29: routing.formerAddresses[0] is "999.0.2.1"; allowed: an IP address, such as 192.0.2.20',
    ],
    [
      'one entry point for both protocols',
      'routing: {traefik: {httpEntryPoint: websecure}}',
      'line 4, column 11: routing.traefik.httpsEntryPoint is websecure, which is also httpEntryPoint: hosts would redirect to themselves',
    ],
    [
      'one listener for both protocols',
      'routing: {provider: gateway, gateway: {namespace: a, name: b, httpListener: tls, httpsListener: tls}}',
      'line 4, column 82: routing.gateway.httpsListener is tls, which is also httpListener: hosts would redirect to themselves',
    ],
    [
      'several entry points',
      'routing: {traefik: {httpsEntryPoint: "a,b"}}',
      'line 4, column 21: routing.traefik.httpsEntryPoint is "a,b"; allowed: the name of an entry point, such as websecure',
    ],
    [
      'a listener that no Gateway can have',
      'routing: {gateway: {httpListener: HTTP}}',
      'line 4, column 21: routing.gateway.httpListener is "HTTP"; allowed: the name of a listener, such as http',
    ],
    [
      'a network that is none',
      'dns: {allowAddresses: [10.0.0.0/33]}',
      'line 4, column 24: dns.allowAddresses[0] is "10.0.0.0/33"; allowed: a CIDR, such as 10.1.0.0/16',
    ],
  ])('%s', (_, text, want) => {
    expect(problems(`${minimal}${text}\n`)).toEqual([want]);
  });

  const PLACE = 'line 3, column ';
  const wrongGroup = 'allowed: nameplate.dev with kind ACMEIssuer, and only with it';
  test.each([
    [
      'an ACMEIssuer of another group',
      '{issuerRef: {name: ca, kind: ACMEIssuer}}',
      `${PLACE}16: certificates.issuerRef.group is cert-manager.io; ${wrongGroup}`,
    ],
    [
      'an issuer of our group that is no ACMEIssuer',
      '{issuerRef: {name: ca}, formerIssuerRefs: [{name: old, group: nameplate.dev}]}',
      `${PLACE}70: certificates.formerIssuerRefs[0].group is nameplate.dev; ${wrongGroup}`,
    ],
    [
      "an ACMEIssuer for tenants' own certificates",
      '{issuerRef: {name: ca}, approval: {tenantCertificates: {hosts: [{name: ca, kind: ACMEIssuer}]}}}',
      `${PLACE}90: certificates.approval.tenantCertificates.hosts[0].kind is ACMEIssuer, which signs only what Nameplate itself requests`,
    ],
  ])('%s', (_, certificates, want) => {
    expect(problems(minimal.replace(/(certificates: ).*/, `$1${certificates}`))).toEqual([want]);
  });

  const servers = (caBundle: string) =>
    `{issuerRef: {name: ca}, tenantIssuers: {servers: [{url: x, caBundle: ${caBundle}}]}}`;
  const acme = (text: string) => `{issuerRef: {name: ca}, acme: {${text}}}`;
  test.each([
    ['a bundle that is no base64', servers('nonsense'), 'servers[0].caBundle is "nonsense"; allowed: base64 of PEM'],
    ['a bundle that is no PEM', servers('aGVsbG8='), 'servers[0].caBundle is "aGVsbG8="; allowed: base64 of PEM'],
    [
      'the key of the account in the Secret of the platform key',
      acme('accountKeySecret: nameplate-platform-key'),
      'accountKeySecret is nameplate-platform-key, which platform.keySecret names; allowed: another Secret',
    ],
    [
      'a former key of the account in the Secret of the platform key',
      acme('formerAccountKeySecrets: [nameplate-platform-key]'),
      'formerAccountKeySecrets[0] is nameplate-platform-key, which platform.keySecret names; allowed: another Secret',
    ],
    [
      'the same key of the account, now and before',
      acme('accountKeySecret: b, formerAccountKeySecrets: [a, b]'),
      'formerAccountKeySecrets[1] is b, which is also accountKeySecret; allowed: the Secrets before it',
    ],
    ['a replica without a port', acme('challenges: {addresses: [127.0.0.1]}'), 'allowed: a host and a port'],
  ])('%s', (_, certificates, want) => {
    const found = problems(minimal.replace(/(certificates: ).*/, `$1${certificates}`));
    expect(found).toEqual([expect.stringContaining(want)]);
  });

  test.each(['x/y', '', 'a b'])('%j is no key of a Secret', key => {
    const found = problems(minimal.replace('platform: {', `platform: {keySecret: {key: "${key}"}, `));
    expect(found).toEqual([expect.stringContaining('allowed: a key of a Secret')]);
  });

  test.each(['apps.example.net', 'example.net'])('an ACME domain %s that has other hosts', acmeDomain => {
    const [problem, ...others] = problems(minimal.replace('targetDomain:', `acmeDomain: ${acmeDomain}, targetDomain:`));
    expect(problem).toContain(`platform.acmeDomain is ${acmeDomain}, to which apps.example.net belongs`);
    expect(others).toEqual([]);
  });

  test('default hosts and account targets in one zone', () => {
    expect(problems(minimal.replace('edge.', 'apps.'))).toEqual([
      'line 2, column 42: platform.targetDomain is apps.example.net, which is also platform.baseDomain; allowed: another domain, because the default hosts of projects and the DNS targets of accounts must not share a zone',
    ]);
  });
});

describe('addresses of the edge', () => {
  const addresses = (text: string) => `${minimal}probes: {addresses: ["${text}"]}`;
  test.each([
    'traefik.traefik.svc',
    'traefik',
    'edge:8443',
    '192.0.2.10',
    '192.0.2.10:8443',
    '2001:db8::1',
    '[2001:db8::1]:443',
  ])('%s is one', text => expect(parse(addresses(text)).probes.addresses).toEqual([text]));
  test.each(['edge:0', 'edge:65536', '999.0.2.10', '192.0.2.10:99999', '1.2.3', ':::', '[1:2]:443'])(
    '%s is none',
    text => {
      expect(problems(addresses(text))).toEqual([expect.stringContaining('probes.addresses[0] is')]);
    },
  );
});

test.each(['cluster.local', 'k8s', 'prod.example.net'])('%s is a domain of a cluster', domain => {
  const approval = `approval: {tenantCertificates: {clusterDomain: ${domain}}}`;
  const config = parse(minimal.replace('{issuerRef', `{${approval}, issuerRef`));
  expect(config.certificates.approval.tenantCertificates.clusterDomain).toBe(domain);
});

describe('addresses of DNS servers', () => {
  test.each(['9.9.9.9', '9.9.9.9:5353', '2620:fe::fe', '[2620:fe::fe]', '[2620:fe::fe]:53'])('%s is one', server => {
    expect(parse(`${minimal}dns: {recursives: ["${server}"]}`).dns.recursives).toEqual([server]);
  });

  test.each(['dns.example.net', '9.9.9', '9.9.9.9:0', '9.9.9.9:70000', '[9.9.9.9]:53', 'a:b', '[::1'])(
    '%s is none',
    server => {
      expect(problems(`${minimal}dns: {recursives: ["${server}"]}`)).toHaveLength(1);
    },
  );
});
