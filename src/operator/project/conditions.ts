/** Every condition of a Project, with its closed set of reasons and a message that says who must do what next. */
import {conditionBuilders, type DecidedCondition} from '../../api/conditions.ts';
import {explainNoBackend, type NoBackend} from '../edge/backend.ts';
import {explainPause, explainRefusal, explainRetrying, REMOVALS_HELD} from '../model/write-conditions.ts';

type Type = keyof typeof PROJECT_REASONS | 'Reconciling' | 'Stalled';

/** The closed set of reasons of each condition, the good one first; docs/conditions.md explains each of them. */
export const PROJECT_REASONS = {
  Ready: [
    'Published',
    'PlanLimitReached',
    'ServiceNotFound',
    'ServiceWithoutSelector',
    'PortNotFound',
    'IngressClassNotFound',
    'GatewayNotFound',
    'GatewayUnsuitable',
    'RoutePending',
    'RouteNotAccepted',
    'CertificateNotReady',
    'CertificateFailed',
    'CertManagerMissing',
    'RemovalHeld',
    'Refused',
    'Retrying',
    'Paused',
  ],
  Deployed: ['Deployed', 'NoReadyEndpoint', 'PlanLimitReached'],
  DomainsReady: [
    'AllLive',
    'NoDomains',
    'PlanLimitReached',
    'WaitingForDomains',
    'HostInOtherProject',
    'HostInOtherDomain',
  ],
} as const;

const {Ready: ready, Deployed: deployed, DomainsReady: domainsReady} = conditionBuilders(PROJECT_REASONS);

export const ProjectReady = {
  /** `note`: as of `Leaving`. */
  yes: (host: string, note: string) =>
    ready('True', 'Published', `The project is published at https://${host}/.${note}`),
  planLimitReached: (plan: string, limit: number) =>
    ready(
      'False',
      'PlanLimitReached',
      `Plan ${plan} allows ${limit} Projects per account, and other Projects already use all of them. Delete another Project, or ask the platform team for a larger plan. Nameplate will then publish this Project and its custom domains.`,
    ),
  certificate: (host: string) =>
    ready(
      'False',
      'CertificateNotReady',
      `The certificate of ${host} is being issued. Nameplate will publish the project once it is ready. No action needed.`,
    ),
  certificateFailed: (host: string, why: string, next: string | undefined, certificate: string) =>
    ready(
      'False',
      'CertificateFailed',
      `No certificate was issued for ${host}: ${why}${next ? ` The next attempt is at ${next}.` : ''} The host and the issuer belong to the platform. Ask the platform team to fix the cause and then run, in this namespace: cmctl renew ${certificate}`,
    ),
  certManagerMissing: (host: string) =>
    ready(
      'False',
      'CertManagerMissing',
      `${host} needs its own certificate, but cert-manager is not installed. The platform team must install it, or set config.defaultHost.tls to ingress-default. Nameplate will then continue automatically.`,
    ),
  certificateForOthers: (host: string, names: string, certificate: string) =>
    ready(
      'False',
      'CertificateNotReady',
      `The certificate that was issued for ${host} names ${names} instead of only this host. The ingress would use it for every name in it, so the project is not published. The platform team must configure the issuer to issue only the requested name, and then run, in this namespace: cmctl renew ${certificate}`,
    ),
  removalHeld: (host: string) =>
    ready(
      'False',
      'RemovalHeld',
      `The certificate of ${host} names other hosts, so Nameplate would no longer publish the project. ${REMOVALS_HELD}`,
    ),
  routePending: (host: string, on: string) =>
    ready('False', 'RoutePending', `Waiting for ${on} before ${host} is published. No action needed.`),
  routeNotAccepted: (host: string, what: string, why: string) =>
    ready(
      'False',
      'RouteNotAccepted',
      `${host} is not published: the Gateway does not accept ${what} (${why.replace(/[.\s]+$/, '')}). Ask the platform team to fix the cause; Nameplate will then continue automatically.`,
    ),
  refused: (message: string, published: boolean) =>
    ready(published ? 'True' : 'False', 'Refused', explainRefusal('an object of the project', message)),
  retrying: (message: string) => ready('False', 'Retrying', explainRetrying('an object of the project', message)),
  paused: (published: boolean) =>
    ready(published ? 'True' : 'False', 'Paused', explainPause('an object of the project')),
  noBackend: (found: NoBackend) => {
    const {reason, message} = explainNoBackend(found);
    return ready('False', reason, message);
  },
} as const;

export const Deployed = {
  yes: (since: string) => deployed('True', 'Deployed', `The Service first had a ready endpoint at ${since}.`),
  no: (service: string) =>
    deployed(
      'False',
      'NoReadyEndpoint',
      `Service ${service} has never had a ready endpoint. Deploy the project. Nameplate will then set up its custom domains.`,
    ),
  planLimitReached: () =>
    deployed(
      'Unknown',
      'PlanLimitReached',
      'Not checked, because the Project exceeds the limit of the plan. See the condition Ready.',
    ),
} as const;

export const DomainsReady = {
  none: () => domainsReady('True', 'NoDomains', 'The project lists no custom domains.'),
  planLimitReached: () =>
    domainsReady(
      'False',
      'PlanLimitReached',
      'The custom domains of this Project are ignored, because the Project exceeds the limit of the plan. See the condition Ready.',
    ),
  all: (count: number) => domainsReady('True', 'AllLive', `All ${count} custom domains are live.`),
  waiting: (waiting: readonly string[], total: number) =>
    domainsReady(
      'False',
      'WaitingForDomains',
      `${waiting.length} of ${total} custom domains are not live: ${list(waiting)}. To see why, run: kubectl describe domain HOST`,
    ),
  inOtherProject: (host: string, project: string) =>
    domainsReady(
      'False',
      'HostInOtherProject',
      `Project ${project}, which is older, also lists ${host} and takes precedence. Remove the host from one of the two Projects.`,
    ),
  inOtherDomain: (host: string) =>
    domainsReady(
      'False',
      'HostInOtherDomain',
      `A manually created Domain ${host} already exists in this namespace, and Nameplate does not take it over. Delete it (kubectl delete domain ${host}), or remove the host from this Project.`,
    ),
} as const;

/**
 * https://github.com/kubernetes-sigs/cli-utils/blob/master/pkg/kstatus/README.md: both are absent once everything is
 * done.
 */
export function progressOfProject({status, reason, message}: DecidedCondition): DecidedCondition<Type>[] {
  if (status === 'True' && reason !== 'Refused' && reason !== 'Paused') return [];
  // Only a person can make room in the plan.
  return [{type: reason === 'PlanLimitReached' ? 'Stalled' : 'Reconciling', status: 'True', reason, message}];
}

function list(hosts: readonly string[]): string {
  const shown = hosts.slice(0, 5).join(', ');
  return hosts.length > 5 ? `${shown} and ${hosts.length - 5} more` : shown;
}
