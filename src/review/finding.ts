/** The inputs that the parts of a review share, and their findings about each object. */
import type {Clock} from '../base/clock.ts';
import type {KubeClient} from '../runtime/kube/client.ts';
import type {DeepReadonly, KubeObject} from '../runtime/kube/object.ts';
import type {Call} from './api.ts';

export interface Reason {
  /** The policy without the name of the release (`routes`), or the approver's reason (`approval/HostNotHeld`). */
  readonly rule: string;
  /** The text of the policy or the approver. */
  readonly message: string;
  /** Chart values that would allow the object; empty if there is none. */
  readonly values: readonly string[];
  readonly advice: string;
}

export interface Finding {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  /** The name of the last field manager, which does not prove who the writer was. */
  readonly writer?: string;
  readonly reasons: readonly Reason[];
}

/** An object, a kind, or the whole cluster that the review could not check. */
export interface Unjudged {
  readonly what: string;
  readonly why: string;
}

interface ManagedField {
  readonly manager?: string;
  readonly time?: string;
  readonly subresource?: string;
}

export function findingOf(object: DeepReadonly<KubeObject>, reasons: readonly Reason[]): Finding {
  const {kind, metadata} = object;
  const writer = lastWriter(object);
  return {kind, namespace: metadata.namespace ?? '', name: metadata.name, ...(writer && {writer}), reasons};
}

/** Who wrote the object last, except for its status. */
function lastWriter(object: DeepReadonly<KubeObject>): string | undefined {
  const {managedFields = []} = object.metadata as {readonly managedFields?: readonly ManagedField[]};
  const writes = managedFields.filter(({subresource}) => !subresource);
  return writes.sort((a, b) => (b.time ?? '').localeCompare(a.time ?? ''))[0]?.manager;
}

export interface ReviewContext {
  readonly client: KubeClient;
  readonly call: Call;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Only this namespace; undefined means all. */
  readonly namespace: string | undefined;
}

export interface Judged {
  readonly objects: number;
  readonly findings: readonly Finding[];
  readonly unjudged: readonly Unjudged[];
}
