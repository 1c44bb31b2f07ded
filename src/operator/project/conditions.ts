/** Every condition of a Project: its closed set of reasons, and the message that says who must do what next. */
import type {DecidedCondition} from '../../api/conditions.ts';
import {explainNoBackend, type NoBackend} from '../edge/backend.ts';

type Type = keyof typeof PROJECT_REASONS | 'Reconciling';

/** The closed set of reasons of each condition, the good one first; docs/conditions.md explains every one. */
export const PROJECT_REASONS = {
  Ready: [
    'Published',
    'PlanLimitReached',
    'ServiceNotFound',
    'ServiceWithoutSelector',
    'PortNotFound',
    'IngressClassNotFound',
    'CertificateNotReady',
    'CertificateFailed',
    'CertManagerMissing',
  ],
  Deployed: ['Deployed', 'NoReadyEndpoint'],
  DomainsReady: [
    'AllLive',
    'NoDomains',
    'PlanLimitReached',
    'WaitingForDomains',
    'HostInOtherProject',
    'HostInOtherDomain',
  ],
} as const;

type Reason<T extends keyof typeof PROJECT_REASONS> = (typeof PROJECT_REASONS)[T][number];

function condition<T extends keyof typeof PROJECT_REASONS>(type: T) {
  return (status: 'True' | 'False', reason: Reason<T>, message: string): DecidedCondition<Type> => ({
    type,
    status,
    reason,
    message,
  });
}

const ready = condition('Ready');
const deployed = condition('Deployed');
const domainsReady = condition('DomainsReady');

export const ProjectReady = {
  yes: (host: string) => ready('True', 'Published', `The project is published at https://${host}/.`),
  planLimitReached: (plan: string, limit: number) =>
    ready(
      'False',
      'PlanLimitReached',
      `Plan ${plan} allows ${limit} Projects in an account, and other Projects already use them up. Delete another Project, or ask the platform team for a larger plan. Until then, this Project is not published, and its custom domains are ignored; Nameplate will continue automatically.`,
    ),
  certificate: (host: string) =>
    ready('False', 'CertificateNotReady', `The certificate of ${host} is being issued; the project is published then.`),
  certificateFailed: (host: string, why: string, next: string | undefined, certificate: string) =>
    ready(
      'False',
      'CertificateFailed',
      `No certificate for ${host}: ${why}${next ? ` The next attempt is made at ${next}.` : ''} The host is the platform's, and so is the issuer: the platform team mends the cause, then asks for one now: cmctl renew ${certificate}, in this namespace.`,
    ),
  certManagerMissing: (host: string) =>
    ready(
      'False',
      'CertManagerMissing',
      `${host} needs a certificate of its own, and cert-manager is not installed: the platform team installs it, or sets defaultHost.tls to ingress-default. It is looked for again by itself.`,
    ),
  certificateForOthers: (host: string, names: string, certificate: string) =>
    ready(
      'False',
      'CertificateNotReady',
      `The certificate that was issued for ${host} is for ${names}, and not for it alone; the ingress would show it for whatever it names, so the project is not published. Whoever runs the issuer must let it issue what it is asked for; the platform team then asks for another: cmctl renew ${certificate}, in this namespace.`,
    ),
  noBackend: (found: NoBackend) => {
    const {reason, message} = explainNoBackend(found);
    return ready('False', reason, message);
  },
} as const;

export const Deployed = {
  yes: (since: string) => deployed('True', 'Deployed', `A ready endpoint first stood behind the Service at ${since}.`),
  no: (service: string) =>
    deployed(
      'False',
      'NoReadyEndpoint',
      `Service ${service} has never had a ready endpoint. Deploy the project; custom domains start then.`,
    ),
} as const;

export const DomainsReady = {
  none: () => domainsReady('True', 'NoDomains', 'The project lists no custom domains.'),
  planLimitReached: () =>
    domainsReady(
      'False',
      'PlanLimitReached',
      'The custom domains of this Project are ignored, because it exceeds the plan. The condition Ready says what to do.',
    ),
  all: (count: number) => domainsReady('True', 'AllLive', `All ${count} custom domains are live.`),
  waiting: (waiting: readonly string[], total: number) =>
    domainsReady(
      'False',
      'WaitingForDomains',
      `${waiting.length} of ${total} custom domains wait: ${list(waiting)}. kubectl describe domain HOST says for what.`,
    ),
  inOtherProject: (host: string, project: string) =>
    domainsReady(
      'False',
      'HostInOtherProject',
      `Project ${project}, which is older, lists ${host} too and has it. Take the host out of one of the two Projects.`,
    ),
  inOtherDomain: (host: string) =>
    domainsReady(
      'False',
      'HostInOtherDomain',
      `A Domain ${host} that was made by hand stands in this namespace, and it is not taken over. Delete it (kubectl delete domain ${host}), or take the host out of this Project.`,
    ),
} as const;

export const ProjectReconciling = (reason: string, message: string): DecidedCondition<Type> => ({
  type: 'Reconciling',
  status: 'True',
  reason,
  message,
});

function list(hosts: readonly string[]): string {
  const shown = hosts.slice(0, 5).join(', ');
  return hosts.length > 5 ? `${shown} and ${hosts.length - 5} more` : shown;
}
