import {type ApiConnection, type ApiRequest, describe, failure} from './api-connection.ts';
import type {
  CallOptions,
  DeleteOptions,
  ListOptions,
  ListPage,
  PatchOperation,
  WatchEvent,
  WatchOptions,
  WriteGate,
  WriteRecord,
} from './calls.ts';
import {type ApiStatus, FencedError, isNotFound, TooLargeError} from './errors.ts';
import {
  apiVersionOf,
  type DeepReadonly,
  formatKey,
  type Intent,
  type KubeObject,
  keyOf,
  type ObjectKey,
  objectKey,
  type ResourceType,
} from './object.ts';
import {collectionPath, objectPath, queryString, selectorParameters} from './paths.ts';
import {type RequestGate, startGate} from './transport.ts';
import {LineSplitter, parseWatchEvent} from './watch-stream.ts';

const DEFAULT_PAGE_SIZE = 500;
/**
 * Several times what 500 ordinary objects take. A tenant's may take more than a MiB each, and a page of them, with the
 * text and what it is parsed into, more than the memory of a pod.
 */
const MAX_PAGE_BYTES = 8 * 1024 * 1024;
/**
 * A page that is too large is requested again with so many times fewer objects. After as many pages, a larger one is
 * tried again: a few large objects must not slow down the rest of a long list.
 */
const SMALLER_PAGE = 8;
/** How much longer than the server's own timeout a watch may last before it counts as dead. */
const WATCH_GRACE_MS = 30_000;

const JSON_TYPE = 'application/json';
const APPLY_TYPE = 'application/apply-patch+yaml';
const JSON_PATCH_TYPE = 'application/json-patch+json';
const MERGE_PATCH_TYPE = 'application/merge-patch+json';
const METADATA = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1';
const METADATA_LIST = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1';

interface Mode {
  readonly leaseConnection: ApiConnection;
  readonly fieldManager: string;
  readonly gated: boolean;
  readonly onWrite?: (write: WriteRecord) => void;
  /** Rejects each write. */
  readonly refuse?: () => Promise<never>;
}

interface RawList<T> {
  readonly metadata: {readonly resourceVersion: string; readonly continue?: string};
  readonly items?: T[];
}

/**
 * Calls to the API server. Every call has a deadline. Failures are thrown as `ApiError` (the server refused),
 * `TransportError` (no usable response: a write may or may not have happened), `FencedError` (not sent), or the
 * signal's reason.
 */
export class KubeClient {
  readonly #connection: ApiConnection;
  readonly #mode: Mode;

  constructor(connection: ApiConnection, mode: Mode) {
    this.#connection = connection;
    this.#mode = mode;
  }

  /** Undefined if the object does not exist. `metadataOnly`: without its content. */
  async get<T extends KubeObject>(
    resource: ResourceType<T>,
    key: ObjectKey,
    options: CallOptions & {readonly metadataOnly?: boolean} = {},
  ) {
    try {
      const accept = options.metadataOnly ? METADATA : JSON_TYPE;
      return await this.#connection.exchange<T>({method: 'GET', path: objectPath(resource, key), accept}, options);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /** Pages of one consistent list. The next page may be requested while the last is processed. */
  async *list<T extends KubeObject>(resource: ResourceType<T>, options: ListOptions = {}): AsyncGenerator<ListPage<T>> {
    const {namespace, metadataOnly} = options;
    const {pageSize: largest = DEFAULT_PAGE_SIZE} = options;
    let [pageSize, fitting] = [largest, 0];
    for (let next = options.continue, isLast = false; !isLast; ) {
      // The API server takes another limit with the same `continue`.
      const query = queryString({...selectorParameters(options), limit: String(pageSize), continue: next});
      const path = collectionPath(resource, namespace) + query;
      const maxBytes = pageSize > 1 ? MAX_PAGE_BYTES : undefined;
      const exchange: ApiRequest = {method: 'GET', path, accept: metadataOnly ? METADATA_LIST : JSON_TYPE, maxBytes};
      const page = await orTooLarge(this.#connection.exchange<RawList<T>>(exchange, options));
      if (page === 'too large') {
        [pageSize, fitting] = [Math.ceil(pageSize / SMALLER_PAGE), 0];
        continue;
      }
      if (++fitting % SMALLER_PAGE === 0) pageSize = Math.min(pageSize * SMALLER_PAGE, largest);
      const items = page.items ?? [];
      for (const item of items) identify(item, resource);
      next = page.metadata.continue || undefined;
      yield {items, resourceVersion: page.metadata.resourceVersion, next};
      isLast = next === undefined;
    }
  }

  /** POST: exactly one of several racing creators wins. The others get AlreadyExists. */
  async create<T extends KubeObject>(resource: ResourceType<T>, object: DeepReadonly<T>, options: CallOptions = {}) {
    const path = collectionPath(resource, object.metadata.namespace) + this.#asManager();
    const body = JSON.stringify(object);
    return await this.#write<T>(resource, {method: 'POST', path, contentType: JSON_TYPE, body}, options);
  }

  /** PUT at the resourceVersion in the object. Conflict if it was written since. */
  async replace<T extends KubeObject>(resource: ResourceType<T>, object: DeepReadonly<T>, options: CallOptions = {}) {
    const key = objectKey(object);
    if (!object.metadata.resourceVersion) throw new Error(`${resource.kind} ${formatKey(key)}: no resourceVersion`);
    const path = objectPath(resource, key) + this.#asManager();
    const body = JSON.stringify(object);
    return await this.#write<T>(resource, {method: 'PUT', path, contentType: JSON_TYPE, body}, options);
  }

  /** Server-side apply of what we want, with force. Removes fields that we no longer name. */
  async apply<T extends KubeObject>(resource: ResourceType<T>, intent: Intent<T>, options: CallOptions = {}) {
    return await this.#apply<T>(resource, intent, options);
  }

  /** Server-side apply of `intent.status` on the status subresource. */
  async applyStatus<T extends KubeObject>(resource: ResourceType<T>, intent: Intent<T>, options: CallOptions = {}) {
    return await this.#apply<T>(resource, intent, options, 'status');
  }

  /** JSON merge patch (RFC 7386): null removes a field. `metadataOnly`: the response has no content. */
  async patch<T extends KubeObject>(
    resource: ResourceType<T>,
    key: ObjectKey,
    patch: Record<string, unknown>,
    options: CallOptions & {readonly subresource?: string; readonly metadataOnly?: boolean} = {},
  ) {
    const path = objectPath(resource, key, options.subresource) + this.#asManager();
    const body = JSON.stringify(patch);
    const accept = options.metadataOnly ? METADATA : JSON_TYPE;
    const exchange: ApiRequest = {method: 'PATCH', path, accept, contentType: MERGE_PATCH_TYPE, body};
    return await this.#write<T>(resource, exchange, options);
  }

  /** JSON patch (RFC 6902). If a `test` fails, the API server changes nothing and answers 422. */
  async jsonPatch<T extends KubeObject>(
    resource: ResourceType<T>,
    key: ObjectKey,
    patch: readonly PatchOperation[],
    options: CallOptions = {},
  ) {
    const path = objectPath(resource, key) + this.#asManager();
    const exchange: ApiRequest = {method: 'PATCH', path, contentType: JSON_PATCH_TYPE, body: JSON.stringify(patch)};
    return await this.#write<T>(resource, exchange, options);
  }

  /** False if it was already gone. */
  async delete(resource: ResourceType, key: ObjectKey, options: DeleteOptions = {}): Promise<boolean> {
    if (this.#mode.refuse) return await this.#mode.refuse();
    const {preconditions, propagationPolicy} = options;
    const body = JSON.stringify({apiVersion: 'v1', kind: 'DeleteOptions', preconditions, propagationPolicy});
    const path = objectPath(resource, key);
    const exchange: ApiRequest = {method: 'DELETE', path, contentType: JSON_TYPE, body, gated: this.#mode.gated};
    try {
      // The response is a Status with the uid, or the object if a finalizer still holds it.
      const answer = await this.#connection.exchange<ApiStatus & Partial<KubeObject>>(exchange, options);
      const deletedUid = answer.details?.uid ?? answer.metadata?.uid;
      if (deletedUid) this.#mode.onWrite?.({resource, key: formatKey(key), deletedUid});
      return true;
    } catch (error) {
      if (isNotFound(error)) return false;
      throw error;
    }
  }

  /**
   * Resolves when the server ends the stream. Throws `ApiError` for an ERROR event, `TransportError` if the stream is
   * cut, and whatever `onEvent` throws, after which it is not called again. After an abort, events that have already
   * arrived may still follow.
   */
  async watch<T extends KubeObject>(
    resource: ResourceType<T>,
    options: WatchOptions,
    onEvent: (event: WatchEvent<T>) => void,
  ): Promise<void> {
    const {resourceVersion, timeoutMs} = options;
    const query = queryString({
      ...selectorParameters(options),
      watch: 'true',
      allowWatchBookmarks: 'true',
      timeoutSeconds: String(Math.ceil(timeoutMs / 1000)),
      resourceVersion,
      ...(resourceVersion === undefined && {sendInitialEvents: 'true', resourceVersionMatch: 'NotOlderThan'}),
    });
    const path = collectionPath(resource, options.namespace) + query;
    const exchange: ApiRequest = {method: 'GET', path, accept: options.metadataOnly ? METADATA : JSON_TYPE};
    const call = describe(exchange);
    const lines = new LineSplitter();
    const parse = (line: string): WatchEvent<T> | undefined => {
      const event = parseWatchEvent<T>(call, line);
      if (event && event.type !== 'BOOKMARK') identify(event.object, resource);
      return event;
    };
    await this.#connection.stream(exchange, {...options, timeoutMs: timeoutMs + WATCH_GRACE_MS}, chunk => {
      for (const line of lines.push(chunk)) {
        const event = orFailure(call, () => parse(line));
        if (event) onEvent(event);
      }
    });
    orFailure(call, () => lines.end());
  }

  /** From now on, every write must pass the gate, also through derived clients. */
  setWriteGate(gate: WriteGate): void {
    this.#connection.gate = gate;
  }

  /** Requests to other servers pass the gate through this interceptor. One that may not be sent rejects. */
  writeGate(call: string): RequestGate {
    return startGate(() => (this.#connection.gate() > 0 ? undefined : new FencedError(call)));
  }

  /**
   * The same client without the gate and on its own connections, for the lease: calls that hang delay no renewal.
   */
  forLease(): KubeClient {
    return new KubeClient(this.#mode.leaseConnection, {...this.#mode, gated: false});
  }

  /** The same client, which reports each successful write. */
  recording(onWrite: (write: WriteRecord) => void): KubeClient {
    return new KubeClient(this.#connection, {...this.#mode, onWrite});
  }

  /** The same client, each write of which rejects with this error. */
  withoutWrites(error: () => Error): KubeClient {
    return new KubeClient(this.#connection, {...this.#mode, refuse: () => Promise.reject(error())});
  }

  /** How many milliseconds calls, except those for the lease, have gone without any response; 0 if none has. */
  silentMs(): number {
    return this.#connection.silentMs();
  }

  /** Ends open streams and connections. */
  async close(): Promise<void> {
    await Promise.all([this.#connection.close(), this.#mode.leaseConnection.close()]);
  }

  async #apply<T extends KubeObject>(
    resource: ResourceType<T>,
    intent: Intent<T>,
    options: CallOptions,
    subresource?: string,
  ) {
    const {namespace, name} = (intent as KubeObject).metadata;
    const path = objectPath(resource, {namespace, name}, subresource) + this.#asManager({force: 'true'});
    // JSON is YAML. The content type names the format of the patch, not of the text.
    const body = JSON.stringify({...intent, apiVersion: apiVersionOf(resource), kind: resource.kind});
    return await this.#write<T>(resource, {method: 'PATCH', path, contentType: APPLY_TYPE, body}, options);
  }

  #asManager(parameters: Record<string, string> = {}): string {
    return queryString({fieldManager: this.#mode.fieldManager, ...parameters});
  }

  async #write<T extends KubeObject>(
    resource: ResourceType<T>,
    exchange: ApiRequest,
    options: CallOptions,
  ): Promise<T> {
    if (this.#mode.refuse) return await this.#mode.refuse();
    const written = await this.#connection.exchange<T>({...exchange, gated: this.#mode.gated}, options);
    const object: KubeObject = written;
    this.#mode.onWrite?.({resource, key: keyOf(object), object});
    return written;
  }
}

async function orTooLarge<R>(page: Promise<R>): Promise<R | 'too large'> {
  try {
    return await page;
  } catch (error) {
    if (error instanceof TooLargeError) return 'too large';
    throw error;
  }
}

function orFailure<R>(call: string, work: () => R): R {
  try {
    return work();
  } catch (error) {
    throw failure(call, error);
  }
}

/** Items of a list do not have a kind, or have PartialObjectMetadata if only metadata was requested. */
function identify(object: KubeObject, resource: ResourceType): void {
  object.apiVersion = apiVersionOf(resource);
  object.kind = resource.kind;
}
