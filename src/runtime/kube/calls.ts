/** What calls to the API server take and give. */
import type {DeepReadonly, KubeObject, ResourceType} from './object.ts';

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
  /** The `next` of a page of an earlier list with the same options. */
  readonly continue?: string | undefined;
}

export interface ListPage<T> {
  readonly items: readonly T[];
  readonly resourceVersion: string;
  /** Where the next page begins. Undefined: this is the last. */
  readonly next: string | undefined;
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

/** One operation of a JSON patch (RFC 6902). `path` is a JSON pointer. */
export type PatchOperation =
  | {readonly op: 'test' | 'add' | 'replace'; readonly path: string; readonly value: unknown}
  | {readonly op: 'remove'; readonly path: string};

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
