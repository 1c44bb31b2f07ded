/** Projects and Domains of these tests, with the status that the operator would write. */
import type {DomainStatus} from '../../../src/api/generated/domain.ts';
import {API_VERSION} from '../../../src/api/names.ts';
import {DOMAIN, PROJECT, type Project} from '../../../src/operator/kinds/kinds.ts';
import type {KubeClient} from '../../../src/runtime/kube/client.ts';

export const TARGET = 'acct.edge.example.net';
const AT = '2026-11-01T10:00:00Z';

interface NewProject {
  readonly domains?: NonNullable<Project['spec']['domains']>;
  readonly labels?: Record<string, string>;
  readonly annotations?: Record<string, string>;
  readonly namespace?: string;
}

/** Returns the path of its page. */
export async function newProject(admin: KubeClient, name: string, options: NewProject = {}): Promise<string> {
  const {domains = {}, labels = {}, annotations = {}, namespace = 'acme'} = options;
  const metadata = {name, namespace, labels, annotations};
  await admin.create(PROJECT, {
    apiVersion: API_VERSION,
    kind: 'Project',
    metadata,
    spec: {service: {name: 'shop', port: 80}, domains},
  });
  return `/namespaces/${namespace}/projects/${name}`;
}

export async function report(admin: KubeClient, project: string, host: string, status: DomainStatus): Promise<void> {
  const domain = {apiVersion: API_VERSION, kind: 'Domain', metadata: {name: host, namespace: 'acme'}};
  await admin.apply(DOMAIN, {...domain, spec: {host, projectRef: {name: project}}});
  await admin.applyStatus(DOMAIN, {...domain, status});
}

type Conditions = NonNullable<DomainStatus['conditions']>;

export function condition(type: string, status: Conditions[number]['status'], reason: string, message: string) {
  return {type, status, reason, message, lastTransitionTime: AT, observedGeneration: 1};
}

export function unverified(host: string, message = `Create ${host}. CNAME ${TARGET}.`): DomainStatus {
  return {
    observedGeneration: 1,
    state: 'Unverified',
    dns: {
      required: [{type: 'CNAME', name: host, label: host.split('.')[0] ?? '', value: TARGET, ttl: 3600}],
      observed: [{type: 'A', name: host, value: '192.0.2.7', server: 'ns1.provider.net (20.1.0.1)'}],
    },
    conditions: [
      condition('Accepted', 'True', 'Accepted', 'The host belongs to the Project.'),
      condition('DNSVerified', 'False', 'RecordMismatch', message),
      condition('Claimed', 'Unknown', 'Waiting', 'Waiting for DNS.'),
      condition('CertificateReady', 'Unknown', 'Waiting', 'Waiting for DNS before requesting a certificate.'),
      condition('Ready', 'False', 'RecordMismatch', 'Waiting for DNS.'),
    ],
  };
}

export function live(host: string): DomainStatus {
  const {dns} = unverified(host);
  return {
    observedGeneration: 1,
    state: 'Live',
    dns: {...dns, observed: []},
    certificate: {notAfter: '2027-02-19T11:54:53Z', renewalTime: '2027-01-20T11:54:53Z'},
    conditions: [
      condition('Accepted', 'True', 'Accepted', 'The host belongs to the Project.'),
      condition('DNSVerified', 'True', 'Verified', `${host} points to ${TARGET}.`),
      condition('Claimed', 'True', 'Claimed', `This account has held the host since ${AT}.`),
      condition('CertificateReady', 'True', 'Issued', 'The certificate is valid; renewal is automatic.'),
      condition('Routed', 'True', 'Serving', 'Requests go to Service shop.'),
      condition('Probed', 'True', 'Answering', 'The edge answers for the host with its certificate.'),
      condition('Ready', 'True', 'Live', 'The host is live.'),
    ],
  };
}

/** An apex at a provider that is known by its name servers. */
export function apex(host: string): DomainStatus {
  const server = 'ns01.domaincontrol.com (97.74.100.1)';
  const record = (type: string, label: string, value: string, insteadOf?: string) => ({
    ...{type, label, value, ttl: 3600, name: label === '@' ? host : `${label}.${host}`},
    ...(insteadOf !== undefined && {insteadOf}),
  });
  const missing = `There is no record for ${host} at ${server}. Create an ALIAS record of ${host} with the value ${TARGET}, and a TXT record.`;
  return {
    observedGeneration: 1,
    state: 'Unverified',
    dns: {
      required: [
        record('ALIAS', '@', TARGET),
        record('A', '@', '192.0.2.1', 'ALIAS'),
        record('AAAA', '@', '2001:db8::1', 'ALIAS'),
        record('TXT', '_nameplate', 'np-a-proof-of-the-account'),
        record('CNAME', '_acme-challenge', 'acct-4fd1.acme.example.net', 'TXT'),
      ],
      observed: [{type: 'A', name: host, value: '198.51.100.7', server}],
    },
    conditions: [
      condition('Accepted', 'True', 'Accepted', 'The host belongs to the Project.'),
      condition('DNSVerified', 'False', 'RecordMissing', missing),
      condition('Ready', 'False', 'RecordMissing', missing),
    ],
  };
}

export function blocked(): DomainStatus {
  const message =
    'Plan pro allows 20 custom domains per account, and 20 older ones are in use. Remove one, or upgrade the plan.';
  return {
    observedGeneration: 1,
    state: 'Blocked',
    conditions: [
      condition('Accepted', 'False', 'PlanLimitReached', message),
      condition('DNSVerified', 'Unknown', 'Waiting', 'Waiting for Accepted before checking DNS.'),
      condition('Ready', 'False', 'PlanLimitReached', message),
    ],
  };
}

/** A Project with hosts in several states. Returns the path of its page. */
export async function newShowcase(admin: KubeClient): Promise<string> {
  const path = await newProject(admin, 'showcase', {
    domains: {
      primary: 'shop.example.org',
      aliases: ['example.org', 'twenty-first.example.org', 'new.example.org'],
      redirects: [{from: 'www.example.org'}],
    },
  });
  await report(admin, 'showcase', 'shop.example.org', unverified('shop.example.org'));
  await report(admin, 'showcase', 'example.org', apex('example.org'));
  await report(admin, 'showcase', 'twenty-first.example.org', blocked());
  await report(admin, 'showcase', 'www.example.org', live('www.example.org'));
  await admin.applyStatus(PROJECT, {
    ...{apiVersion: API_VERSION, kind: 'Project', metadata: {name: 'showcase', namespace: 'acme'}},
    status: {
      observedGeneration: 1,
      url: 'https://showcase-acme.apps.example.net',
      domains: [
        {host: 'shop.example.org', role: 'Primary', state: 'Unverified'},
        {host: 'example.org', role: 'Alias', state: 'Unverified'},
        {host: 'twenty-first.example.org', role: 'Alias', state: 'Blocked'},
        {host: 'new.example.org', role: 'Alias'},
        {host: 'www.example.org', role: 'Redirect', state: 'Live'},
      ],
    },
  });
  return path;
}
