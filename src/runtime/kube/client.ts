import type {DeepReadonly, Intent, KubeObject, ObjectKey, ResourceType} from './object.ts';

export interface CallOptions {
  readonly signal?: AbortSignal;
  /** Deadline for the whole call; default: the client's `requestTimeoutMs`. */
  readonly timeoutMs?: number;
}

export interface Selector {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Ask for PartialObjectMetadata: names, labels, annotations, owners, and no content. */
  readonly metadataOnly?: boolean;
}

export interface ListOptions extends CallOptions, Selector {
  /** Objects per page, default 500. */
  readonly pageSize?: number;
}

export interface ListPage<T> {
  readonly items: readonly T[];
  readonly resourceVersion: string;
}

export interface WatchOptions extends Selector {
  /** Where to go on from. Absent: begin with all objects that exist, marked by a bookmark (KEP-3157 WatchList). */
  readonly resourceVersion?: string;
  readonly signal: AbortSignal;
  /** The server ends the stream after this long. */
  readonly timeoutMs: number;
  /** The stream counts as dead when nothing, not even a bookmark, came for this long. */
  readonly idleTimeoutMs: number;
  /** Called once the server has accepted the watch, before the first event. */
  readonly onOpen?: () => void;
}

export type WatchEvent<T> =
  | {readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: T}
  | {readonly type: 'BOOKMARK'; readonly resourceVersion: string; readonly initialEventsEnd: boolean};

export interface DeleteOptions extends CallOptions {
  /** The delete happens only if the object still is this one; otherwise a Conflict is thrown. */
  readonly preconditions?: {readonly uid?: string; readonly resourceVersion?: string};
  readonly propagationPolicy?: 'Foreground' | 'Background' | 'Orphan';
}

/** One write that succeeded: the object as the server answered, or, a delete having no such answer, the uid that is gone. */
export type WriteRecord = {readonly resource: ResourceType; readonly key: string} & (
  | {readonly object: DeepReadonly<KubeObject>}
  | {readonly deletedUid: string}
);

/** Asked right before a write is put on the wire: how many milliseconds this process may still write. 0: refuse. */
export type WriteGate = () => number;

/**
 * Calls to the API server. Every call has a deadline. Failures are thrown as `ApiError` (the server refused),
 * `TransportError` (no usable answer: a write may or may not have happened), `FencedError` (not sent), or the
 * signal's reason.
 */
export interface KubeClient {
  /** Undefined when the object does not exist. */
  get<T extends KubeObject>(resource: ResourceType<T>, key: ObjectKey, options?: CallOptions): Promise<T | undefined>;
  /** Pages of one consistent list. A page may be asked for while the last is being worked on; nothing is held back. */
  list<T extends KubeObject>(resource: ResourceType<T>, options?: ListOptions): AsyncIterable<ListPage<T>>;
  /** POST: exactly one of several racing creators wins, the others get AlreadyExists. */
  create<T extends KubeObject>(resource: ResourceType<T>, object: DeepReadonly<T>, options?: CallOptions): Promise<T>;
  /** PUT at the resourceVersion in the object; Conflict when somebody wrote since. */
  replace<T extends KubeObject>(resource: ResourceType<T>, object: DeepReadonly<T>, options?: CallOptions): Promise<T>;
  /** Server-side apply of what we want, taking over what others set. Fields that we no longer name are removed. */
  apply<T extends KubeObject>(resource: ResourceType<T>, intent: Intent<T>, options?: CallOptions): Promise<T>;
  /** Server-side apply of `intent.status` on the status subresource. */
  applyStatus<T extends KubeObject>(resource: ResourceType<T>, intent: Intent<T>, options?: CallOptions): Promise<T>;
  /** JSON merge patch (RFC 7386): null removes a field. `metadataOnly`: the answer has no content. */
  patch<T extends KubeObject>(
    resource: ResourceType<T>,
    key: ObjectKey,
    patch: Record<string, unknown>,
    options?: CallOptions & {readonly subresource?: string; readonly metadataOnly?: boolean},
  ): Promise<T>;
  /** False when it was already gone. */
  delete(resource: ResourceType, key: ObjectKey, options?: DeleteOptions): Promise<boolean>;
  /** Ends normally when the server ends the stream; throws `ApiError` for an ERROR event, `TransportError` when cut. */
  watch<T extends KubeObject>(resource: ResourceType<T>, options: WatchOptions): AsyncIterable<WatchEvent<T>>;

  /** From now on every write, also through derived clients, must pass the gate. */
  setWriteGate(gate: WriteGate): void;
  /** The same client, not subject to the gate: for the lease itself. */
  ungated(): KubeClient;
  /** The same client, reporting each successful write. */
  recording(onWrite: (write: WriteRecord) => void): KubeClient;
  /** Ends open streams and connections. */
  close(): Promise<void>;
}
