/** Every condition of a Project, with its closed set of reasons and a message that says who must do what next. */
import {conditionBuilders, counted, type DecidedCondition, IN_NAMESPACE} from '../../api/conditions.ts';
import {objectNameOf} from '../../api/host-names.ts';
import {NO_BACKEND_REASONS} from '../edge/backend.ts';
import {explainRefusal} from '../kinds/steps.ts';

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

/** Starts a new attempt at a certificate. */
export const RENEW = (certificate: string) => `cmctl renew ${IN_NAMESPACE} ${certificate}`;

/** Reasons of a host that is served, but about which somebody must know something. */
const NOTED: ReadonlySet<string> = new Set(['RenewalFailing', 'Refused', 'Paused']);

export const ProjectReady = {
  planLimitReached: (plan: string, limit: number) => {
    const message = `Plan ${plan} allows ${counted(limit, 'Project')} per account, and other Projects already use the whole limit. Delete another Project, or ask the platform team for a larger plan. Nameplate will then publish this Project and its custom domains.`;
    return ready('False', 'PlanLimitReached', message);
  },
  /** The steps of the default host. After an outage, a step has the condition that was reported before. */
  of: (host: string, steps: readonly DecidedCondition[]): DecidedCondition<'Ready'> => {
    const missing = steps.find(({status}) => status === 'False') ?? steps.find(({status}) => status !== 'True');
    if (missing) return {...missing, type: 'Ready', status: 'False', reason: reasonOf(missing)};
    const noted = steps.find(({reason}) => NOTED.has(reason) || reason === 'Published');
    if (noted) return {...noted, type: 'Ready'};
    const message = steps.map(step => step.message).join(' ');
    return ready('True', 'Published', `The project is published at https://${host}/. ${message}`);
  },
} as const;

const OWN_REASONS: ReadonlySet<string> = new Set(PROJECT_REASONS.Ready);

/** A Project has no condition for each step, so its reason says which step it is. */
function reasonOf({type, reason}: DecidedCondition): string {
  if (OWN_REASONS.has(reason)) return reason;
  if (type === 'Routed') return reason === 'NotAccepted' ? 'RouteNotAccepted' : 'RoutePending';
  return reason === 'Failed' || reason === 'Expired' ? `Certificate${reason}` : 'CertificateNotReady';
}

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
    const message = `A manually created Domain ${objectNameOf(host)} already exists in this namespace, and Nameplate does not take it over. Delete it (kubectl delete domain ${IN_NAMESPACE} ${objectNameOf(host)}), or remove the host from this Project.`;
    return domainsReady('False', 'HostInOtherDomain', message);
  },
  refused: (host: string, message: string, allLive: boolean) =>
    domainsReady(allLive ? 'True' : 'False', 'Refused', explainRefusal(`Domain ${host}`, message)),
} as const;

function list(hosts: readonly string[]): string {
  const shown = hosts.slice(0, 5).join(', ');
  return hosts.length > 5 ? `${shown} and ${hosts.length - 5} more` : shown;
}
