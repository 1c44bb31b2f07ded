/** Writes objects to etcd without the API server, through etcd's JSON gateway: https://etcd.io/docs/latest/dev-guide/api_grpc_gateway/ */

/** The API server reads JSON for every kind, although it writes the built-in ones as Protocol Buffers. */
export interface Stored {
  /** For example "/registry/secrets/default/key". */
  readonly key: string;
  readonly value: string;
}

/** etcd's own limits are 128 operations and 1.5 MiB. */
const MAX_OPERATIONS = 128;
const MAX_CHARACTERS = 500_000;
/** Concurrent transactions. */
const WRITERS = 4;

/**
 * Returns how many objects were written. Call it while no API server runs; a running one would have to keep up with its
 * watches.
 */
export async function putAll(etcdUrl: string, objects: Iterable<Stored>): Promise<number> {
  const transactions = batches(objects)[Symbol.iterator]();
  let written = 0;
  const writer = async (): Promise<void> => {
    for (let next = transactions.next(); !next.done; next = transactions.next()) {
      await put(etcdUrl, next.value);
      written += next.value.length;
    }
  };
  await Promise.all(Array.from({length: WRITERS}, writer));
  return written;
}

function* batches(objects: Iterable<Stored>): Generator<Stored[]> {
  let batch: Stored[] = [];
  let size = 0;
  for (const object of objects) {
    batch.push(object);
    size += object.value.length;
    if (batch.length < MAX_OPERATIONS && size < MAX_CHARACTERS) continue;
    yield batch;
    [batch, size] = [[], 0];
  }
  if (batch.length > 0) yield batch;
}

async function put(etcdUrl: string, objects: readonly Stored[]): Promise<void> {
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  const success = objects.map(({key, value}) => ({request_put: {key: base64(key), value: base64(value)}}));
  const response = await fetch(`${etcdUrl}/v3/kv/txn`, {method: 'POST', body: JSON.stringify({success})});
  if (!response.ok) throw new Error(`etcd answers ${response.status}: ${await response.text()}`);
  await response.arrayBuffer();
}
