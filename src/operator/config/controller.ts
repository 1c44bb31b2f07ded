import {integer, section} from '../../config/config-schema.ts';
import {kubernetesName, seconds} from './formats.ts';

const leaderElection = section('With several replicas, one is the leader and the others are on standby.', {
  enabled: {type: 'boolean', default: true, description: 'Disable it only for a single, manually started process.'},
  leaseName: {...kubernetesName, examples: ['nameplate'], default: 'nameplate', description: 'Name of the Lease.'},
  namespace: {
    ...kubernetesName,
    examples: ['nameplate-system'],
    description: "Namespace of the Lease. If absent, the namespace of the pod's service account.",
  },
  leaseDurationSeconds: seconds(15, 2, 'A leader that does not renew its Lease for this long is replaced.'),
  renewDeadlineSeconds: seconds(
    10,
    1,
    'A leader that cannot renew for this long steps down. Must be less than leaseDurationSeconds.',
  ),
  retryPeriodSeconds: seconds(2, 1, 'Pause between attempts. Must be less than renewDeadlineSeconds.'),
});

export const controller = section('Settings of the controllers.', {
  workers: integer(4, [1, 64], 'How many reconciles each controller runs at the same time.'),
  reportFailuresAfterSeconds: seconds(
    300,
    1,
    'Failures that last this long are reported in the log and in a metric. Hosts that are not served yet also report an outage of the API server.',
  ),
  paused: {
    type: 'boolean',
    default: false,
    description:
      'Build and change nothing: no claims, certificates, approvals, routes, managed Domains, or API keys. Withdrawals of hosts that have moved, denials, and removals that somebody requested continue. To pause a part, use the annotation nameplate.dev/paused.',
  },
  leaderElection,
});
