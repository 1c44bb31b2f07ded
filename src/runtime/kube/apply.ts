import type {CallOptions, KubeClient} from './client.ts';
import type {DeepReadonly, Intent, KubeObject, ResourceType} from './object.ts';
import type {ReadonlyStore} from './store.ts';

export interface ApplyOptions extends CallOptions {
  /** Name of the annotation that holds the hash of what was applied last. */
  readonly hashAnnotation: string;
}

export interface ApplyResult<T extends KubeObject> {
  /** Whether a request was made. */
  readonly changed: boolean;
  readonly object: DeepReadonly<T>;
}

/**
 * Brings an object to what we want, and sends nothing when it is already so.
 *
 * The cache holds no managedFields, so two things are compared: the hash of the intent against the annotation of the
 * last apply (a field that we no longer want makes a different hash, and server-side apply then removes it), and every
 * field that we set against the cache (a foreign edit is put back). What others set beside ours is left alone.
 */
export async function applyIfChanged<T extends KubeObject>(
  _client: KubeClient,
  _store: ReadonlyStore<T>,
  _resource: ResourceType<T>,
  _intent: Intent<T>,
  _options: ApplyOptions,
): Promise<ApplyResult<T>> {
  throw new Error('not built yet');
}

/**
 * Writes `status` where it differs from the status of the object that was read, on the status subresource and under
 * our field manager.
 */
export async function applyStatusIfChanged<T extends KubeObject & {status?: unknown}>(
  _client: KubeClient,
  _resource: ResourceType<T>,
  _read: DeepReadonly<T>,
  _status: DeepReadonly<NonNullable<T['status']>>,
  _options?: CallOptions,
): Promise<ApplyResult<T>> {
  throw new Error('not built yet');
}
