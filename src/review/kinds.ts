/** The kinds that the review reads: those whose creation the policies check and that the API server has. */
import type {KubeObject, ResourceType} from '../runtime/kube/object.ts';
import {resourceName} from '../runtime/kube/object.ts';
import type {ApiAnswer, Call} from './api.ts';
import type {Policy} from './policies.ts';
import {NEXT_KEY_LABEL} from './trusted-objects.ts';

interface GroupList {
  readonly groups: readonly {readonly name: string; readonly versions: readonly {readonly version: string}[]}[];
}
interface ResourceList {
  readonly resources: readonly {
    readonly name: string;
    readonly kind: string;
    readonly namespaced: boolean;
    readonly verbs: readonly string[];
  }[];
}

/**
 * Kinds that tenants never write legitimately, so a tenant's dry run says nothing about them. Orders and Challenges
 * follow from Certificates, which the review checks.
 */
const WRITTEN_BY_PROGRAMS: ReadonlySet<string> = new Set(['nameplate.dev', 'acme.cert-manager.io']);

/** Only namespaced kinds: a tenant writes no others. */
export async function matchedKinds(
  policies: readonly Policy[],
  call: Call,
  signal: AbortSignal,
): Promise<readonly ResourceType[]> {
  const matches = policies.flatMap(policy => policy.matches).filter(({group}) => !WRITTEN_BY_PROGRAMS.has(group));
  const kinds = new Map<string, ResourceType>();
  const {groups} = bodyOf<GroupList>(await call({method: 'GET', path: '/apis'}, signal), '/apis');
  for (const group of new Set(matches.map(match => match.group))) {
    const wanted = new Set(matches.flatMap(match => (match.group === group ? [match.resource] : [])));
    const isWanted = (name: string) => wanted.has(name) || wanted.has('*') || wanted.has('*/*');
    const versions = group === '' ? [{version: 'v1'}] : (groups.find(({name}) => name === group)?.versions ?? []);
    for (const {version} of versions) {
      const path = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
      const {resources} = bodyOf<ResourceList>(await call({method: 'GET', path}, signal), path);
      for (const {name: plural, kind, namespaced, verbs} of resources) {
        const type: ResourceType = {group, version, plural, kind, namespaced};
        const isMeant = namespaced && !plural.includes('/') && isWanted(plural);
        if (!isMeant || !verbs.includes('list') || !verbs.includes('create')) continue;
        if (!kinds.has(resourceName(type))) kinds.set(resourceName(type), type); // the server prefers its first version
      }
    }
  }
  return [...kinds.values()];
}

function bodyOf<T>({status, message, body}: ApiAnswer, path: string): T {
  if (status !== 200) throw new Error(`GET ${path}: ${status} ${message}`);
  return body as T;
}

/** A placeholder for the content of an object whose content the policies do not read. */
export interface Content {
  readonly stub: object;
  /** Whether the policies could match it. */
  readonly isMeant: (object: KubeObject) => boolean;
}

const isReserved = (name = '') => name.startsWith('np-');

/** By `resourceName`. The review reads only the metadata of these kinds, so it never reads a Secret's content. */
export const METADATA_ONLY: Readonly<Record<string, Content>> = {
  secrets: {
    stub: {type: 'Opaque'},
    isMeant: ({metadata: {name, labels}}) => isReserved(name) || labels?.[NEXT_KEY_LABEL] !== undefined,
  },
  endpoints: {stub: {}, isMeant: ({metadata}) => isReserved(metadata.name)},
  'endpointslices.discovery.k8s.io': {
    stub: {addressType: 'IPv4', endpoints: [], ports: []},
    isMeant: ({metadata}) => isReserved(metadata.name) || isReserved(metadata.labels?.['kubernetes.io/service-name']),
  },
};
