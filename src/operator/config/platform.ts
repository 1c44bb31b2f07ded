import {integer, object, type Schema, section} from '../../config/config-schema.ts';
import {host, kubernetesName} from './formats.ts';

/** Leaves room for a label of 63 characters in a name of 253. */
const zone = {...host, maxLength: 189} satisfies Schema;

export const platform = section(
  'The zones and the key of the platform.',
  {
    baseDomain: {
      ...zone,
      examples: ['apps.example.net'],
      description:
        "Every project is published at one label under this domain. A wildcard record *.baseDomain must point to the cluster's ingress.",
    },
    targetDomain: {
      ...zone,
      examples: ['edge.example.net'],
      description:
        "Custom domains point to a name under this domain, a different one for each account. A wildcard record *.targetDomain must point to the cluster's ingress. Do not change it while custom domains exist: each of them would need a DNS change.",
    },
    confirmTargetDomain: {
      ...zone,
      pattern: `^$|${zone.pattern}`,
      default: '',
      examples: ['edge2.example.net'],
      description:
        'The new targetDomain, to confirm that it changes although hosts are held whose DNS points to the former one. Without it, the operator refuses to start and says how many hosts need a DNS change.',
    },
    acmeDomain: {
      ...zone,
      pattern: `^$|${zone.pattern}`,
      default: '',
      examples: ['acme.example.net'],
      description:
        "A zone for the DNS-01 challenges of custom hosts, delegated to Nameplate's own name server and used for nothing else. If empty, the operator uses no such challenges.",
    },
    reservedHosts: {
      type: 'array',
      items: {...host, examples: ['example.net']},
      default: [],
      description:
        'Hosts that no tenant may use, including everything below them. baseDomain, targetDomain, and acmeDomain are always reserved.',
    },
    keyFile: {
      type: 'string',
      minLength: 1,
      title: 'the path of a file',
      examples: ['/etc/nameplate/key/platform.key'],
      description:
        'Path of a file with the platform key. If set, keySecret is not used, and the operator creates no key.',
    },
    keySecret: section(
      "The Secret, in the operator's namespace, of the platform key: at least 32 random bytes, from which account targets and proof tokens are derived. The operator creates it at its first start. If it is lost, every custom domain must change its DNS.",
      {
        name: {...kubernetesName, default: 'nameplate-platform-key', description: 'Name of the Secret.'},
        key: {
          type: 'string',
          title: 'a key of a Secret',
          pattern: '^[A-Za-z0-9._-]{1,253}$',
          examples: ['platform.key'],
          default: 'platform.key',
          description: 'Key within the Secret.',
        },
      },
    ),
  },
  ['baseDomain', 'targetDomain'],
);

const plan = object('What accounts on the plan may do.', {
  customDomains: {
    type: 'boolean',
    default: false,
    description: 'Whether accounts on the plan may have custom domains.',
  },
  maxDomains: integer(20, [0, 100_000], 'How many custom hosts one account may have.'),
  maxProjects: integer(
    100,
    [0, 100_000],
    'How many Projects of one account are published. The oldest ones come first.',
  ),
  maxApiKeys: integer(100, [0, 100_000], 'How many APIKeys of one account get a key. The oldest ones come first.'),
});

export const plans = {
  type: 'object',
  minProperties: 1,
  additionalProperties: plan,
  propertyNames: {
    title: 'a value of a Kubernetes label',
    pattern: '^[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$',
    examples: ['pro'],
  },
  default: {
    free: {customDomains: false, maxDomains: 0, maxProjects: 10, maxApiKeys: 10},
    pro: {customDomains: true, maxDomains: 20, maxProjects: 100, maxApiKeys: 100},
  },
  description: 'The plans, by name. The label nameplate.dev/plan of a namespace names its plan.',
} satisfies Schema;
