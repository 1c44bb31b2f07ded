/** Every condition of a Project, with its closed set of reasons and a message that says who must do what next. */
import {conditionBuilders, counted, type DecidedCondition, IN_NAMESPACE} from '../../api/conditions.ts';
import {explainNoBackend, NO_BACKEND_REASONS, type NoBackend} from '../edge/backend.ts';
import {explainPause, explainRefusal, explainRetrying} from '../kinds/steps.ts';

type Type = keyof typeof PROJECT_REASONS | 'Reconciling' | 'Stalled';

/** The closed set of reasons of each condition, the good one first; docs/conditions.md explains each of them. */
export const PROJECT_REASONS = {
  Ready: [
    'Published',
    'PlanLimitReached',
    ...NO_BACKEND_REASONS,
    'RoutePending',
    'RouteNotAccepted',
    'CertificateNotReady',
    'CertificateFailed',
    'CertificateExpired',
    'RenewalFailing',
    'CertManagerMissing',
    'Refused',
    'Retrying',
    'Paused',
  ],
  Deployed: ['Deployed', 'NoReadyEndpoint', 'PlanLimitReached', 'Refused'],
  DomainsReady: [
    'AllLive',
    'NoDomains',
    'PlanLimitReached',
    'WaitingForDomains',
    'HostInOtherProject',
    'HostInOtherDomain',
    'Refused',
  ],
} as const;

const {Ready: ready, Deployed: deployed, DomainsReady: domainsReady} = conditionBuilders(PROJECT_REASONS);

export const ProjectReady = {
  /** `note`: as in `Leaving`. */
  yes: (host: string, note: string) =>
    ready('True', 'Published', `The project is published at https://${host}/.${note}`),
  planLimitReached: (plan: string, limit: number) => {
    const message = `Plan ${plan} allows ${counted(limit, 'Project')} per account, and other Projects already use the whole limit. Delete another Project, or ask the platform team for a larger plan. Nameplate will then publish this Project and its custom domains.`;
    return ready('False', 'PlanLimitReached', message);
  },
  certificate: (host: string, outage?: string) => {
    const message =
      outage === undefined
        ? `The certificate of ${host} is being issued. Nameplate will publish the project once it is ready. No action needed.`
        : `${host} has no certificate yet. ${outage} The platform team must start it; Nameplate will then continue automatically.`;
    return ready('False', 'CertificateNotReady', message);
  },
  certificateFailed: (host: string, why: string, next: string | undefined, certificate: string) => {
    const message = `No certificate was issued for ${host}: ${why}${next ? ` The next attempt is at ${next}.` : ''} The host and the issuer belong to the platform. Ask the platform team to fix the cause and then run: cmctl renew ${IN_NAMESPACE} ${certificate}`;
    return ready('False', 'CertificateFailed', message);
  },
  renewalFailing: (host: string, until: string, why: string, certificate: string) => {
    const message = `The project is published at https://${host}/. Its certificate is valid until ${until}, but its renewal is failing: ${why} Ask the platform team to fix the cause and then run: cmctl renew ${IN_NAMESPACE} ${certificate}`;
    return ready('True', 'RenewalFailing', message);
  },
  certificateExpired: (host: string, at: string, why: string, certificate: string) => {
    const message = `The certificate of ${host} expired at ${at}, so browsers reject it: ${why} Ask the platform team to fix the cause and then run: cmctl renew ${IN_NAMESPACE} ${certificate}`;
    return ready('False', 'CertificateExpired', message);
  },
  certManagerMissing: (host: string) => {
    const message = `${host} needs its own certificate, but cert-manager is not installed. The platform team must install it, or set config.defaultHost.tls to ingress-default. Nameplate will then continue automatically.`;
    return ready('False', 'CertManagerMissing', message);
  },
  certificateForOthers: (host: string, names: string, certificate: string, isKept: boolean) => {
    const message = `The certificate that was issued for ${host} names ${names} instead of only this host. The edge would present that certificate for every name that it contains, so ${isKept ? 'the route of the project stays only as long as all of them are below its host' : 'the project is not published'}. The platform team must configure the issuer to issue only the requested name, and then run: cmctl renew ${IN_NAMESPACE} ${certificate}`;
    return ready('False', 'CertificateNotReady', message);
  },
  routePending: (host: string, on: string, note = ' No action needed.') =>
    ready('False', 'RoutePending', `Waiting for ${on} before ${host} is published.${note}`),
  routeNotAccepted: (host: string, what: string, why: string) => {
    const message = `${host} is not published: the Gateway does not accept ${what} (${why.replace(/[.\s]+$/, '')}). Ask the platform team to fix the cause; Nameplate will then continue automatically.`;
    return ready('False', 'RouteNotAccepted', message);
  },
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
  no: (service: string) => {
    const message = `Service ${service} has never had a ready endpoint. Deploy the project. Nameplate will then set up its custom domains.`;
    return deployed('False', 'NoReadyEndpoint', message);
  },
  planLimitReached: () => {
    const message = 'Not checked, because the Project exceeds the limit of the plan. See the condition Ready.';
    return deployed('Unknown', 'PlanLimitReached', message);
  },
  refused: (message: string) =>
    deployed('Unknown', 'Refused', explainRefusal('a request about the first deployment', message)),
} as const;

export const DomainsReady = {
  none: () => domainsReady('True', 'NoDomains', 'The project lists no custom domains.'),
  planLimitReached: () => {
    const message =
      'Nameplate sets up no new custom domains of this Project, because the Project exceeds the limit of the plan. Those that are served already stay. See the condition Ready.';
    return domainsReady('False', 'PlanLimitReached', message);
  },
  all: (count: number) => {
    const message = count === 1 ? 'The custom domain is live.' : `All ${count} custom domains are live.`;
    return domainsReady('True', 'AllLive', message);
  },
  waiting: (waiting: readonly string[], total: number) => {
    const some = `${waiting.length} of ${total} custom domains ${waiting.length === 1 ? 'is' : 'are'}`;
    const message = `${total === 1 ? 'The custom domain is' : some} not live: ${list(waiting)}. To see why, run: kubectl describe domain ${IN_NAMESPACE} ${waiting[0] ?? ''}`;
    return domainsReady('False', 'WaitingForDomains', message);
  },
  inOtherProject: (host: string, project: string) => {
    const message = `Project ${project}, which is older, also lists ${host} and takes precedence. Remove the host from one of the two Projects.`;
    return domainsReady('False', 'HostInOtherProject', message);
  },
  inOtherDomain: (host: string) => {
    const message = `A manually created Domain ${host} already exists in this namespace, and Nameplate does not take it over. Delete it (kubectl delete domain ${IN_NAMESPACE} ${host}), or remove the host from this Project.`;
    return domainsReady('False', 'HostInOtherDomain', message);
  },
  refused: (host: string, message: string, allLive: boolean) =>
    domainsReady(allLive ? 'True' : 'False', 'Refused', explainRefusal(`Domain ${host}`, message)),
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
