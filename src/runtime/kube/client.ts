import type {DeepReadonly, Intent, KubeObject, ObjectKey, ResourceType} from './object.ts';

export interface CallOptions {
  readonly signal?: AbortSignal;
  /** The deadline of the whole call. Default: the client's `requestTimeoutMs`. */
  readonly timeoutMs?: number;
}

export interface Selector {
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  /** Request PartialObjectMetadata: names, labels, annotations, and owners, but no content. */
  readonly metadataOnly?: boolean | undefined;
}

export interface ListOptions extends CallOptions, Selector {
  /** Objects per page, default 500. A page of more than 8 MiB is requested again with fewer. */
  readonly pageSize?: number;
}

export interface ListPage<T> {
  readonly items: readonly T[];
  readonly resourceVersion: string;
}

export interface WatchOptions extends Selector {
  /** Where to continue. Absent: begin with all existing objects, up to a bookmark (KEP-3157 WatchList). */
  readonly resourceVersion?: string;
  readonly signal: AbortSignal;
  /** The server ends the stream after this long. */
  readonly timeoutMs: number;
  /** The stream counts as dead if nothing, not even a bookmark, arrives for this long. */
  readonly idleTimeoutMs: number;
  /** Called once the server has accepted the watch, before the first event. */
  readonly onOpen?: () => void;
}

export type WatchEvent<T> =
  | {readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: T}
  | {readonly type: 'BOOKMARK'; readonly resourceVersion: string; readonly initialEventsEnd: boolean};

export interface DeleteOptions extends CallOptions {
  /** Deletes only if the object is still this one. Otherwise throws a Conflict. */
  readonly preconditions?: {readonly uid?: string; readonly resourceVersion?: string};
  readonly propagationPolicy?: 'Foreground' | 'Background' | 'Orphan';
}

/** One write that succeeded: the object that the server returned, or for a delete, the uid that is gone. */
export type WriteRecord = {readonly resource: ResourceType; readonly key: string} & (
  | {readonly object: DeepReadonly<KubeObject>}
  | {readonly deletedUid: string}
);

/** Called right before a write is sent. Returns how many milliseconds this process may still write, or 0. */
export type WriteGate = () => number;

/**
 * Calls to the API server. Every call has a deadline. Failures are thrown as `ApiError` (the server refused),
 * `TransportError` (no usable response: a write may or may not have happened), `FencedError` (not sent), or the
 * signal's reason.
 */
export interface KubeClient {
  /** Undefined if the object does not exist. `metadataOnly`: without its content. */
  get<T extends KubeObject>(
    resource: ResourceType<T>,
    key: ObjectKey,
    options?: CallOptions & {readonly metadataOnly?: boolean},
  ): Promise<T | undefined>;
  /** Pages of one consistent list. The next page may be requested while the last is processed. */
  list<T extends KubeObject>(resource: ResourceType<T>, options?: ListOptions): AsyncIterable<ListPage<T>>;
  /** POST: exactly one of several racing creators wins. The others get AlreadyExists. */
  create<T extends KubeObject>(resource: ResourceType<T>, object: DeepReadonly<T>, options?: CallOptions): Promise<T>;
  /** PUT at the resourceVersion in the object. Conflict if it was written since. */
  replace<T extends KubeObject>(resource: ResourceType<T>, object: DeepReadonly<T>, options?: CallOptions): Promise<T>;
  /** Server-side apply of what we want, with force. Removes fields that we no longer name. */
  apply<T extends KubeObject>(resource: ResourceType<T>, intent: Intent<T>, options?: CallOptions): Promise<T>;
  /** Server-side apply of `intent.status` on the status subresource. */
  applyStatus<T extends KubeObject>(resource: ResourceType<T>, intent: Intent<T>, options?: CallOptions): Promise<T>;
  /** JSON merge patch (RFC 7386): null removes a field. `metadataOnly`: the response has no content. */
  patch<T extends KubeObject>(
    resource: ResourceType<T>,
    key: ObjectKey,
    patch: Record<string, unknown>,
    options?: CallOptions & {readonly subresource?: string; readonly metadataOnly?: boolean},
  ): Promise<T>;
  /** False if it was already gone. */
  delete(resource: ResourceType, key: ObjectKey, options?: DeleteOptions): Promise<boolean>;
  /**
   * Resolves when the server ends the stream. Throws `ApiError` for an ERROR event, `TransportError` if the stream is
   * cut, and whatever `onEvent` throws, after which it is not called again. After an abort, events that have already
   * arrived may still follow.
   */
  watch<T extends KubeObject>(
    resource: ResourceType<T>,
    options: WatchOptions,
    onEvent: (event: WatchEvent<T>) => void,
  ): Promise<void>;

  /** From now on, every write must pass the gate, also through derived clients. */
  setWriteGate(gate: WriteGate): void;
  /**
   * The same client without the gate and on its own connections, for the lease: calls that hang delay no renewal.
   */
  forLease(): KubeClient;
  /** The same client, which reports each successful write. */
  recording(onWrite: (write: WriteRecord) => void): KubeClient;
  /** How many milliseconds calls, except those for the lease, have gone without any response; 0 if none has. */
  silentMs(): number;
  /** Ends open streams and connections. */
  close(): Promise<void>;
}
