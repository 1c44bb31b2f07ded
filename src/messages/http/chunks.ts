import type {IncomingMessage} from 'node:http';

/** What a chunk counts as at least, in bytes: it costs the parser about as much, however short it is. */
export const CHUNK_BYTES = 64;
/** Chunks of a body that may be shorter than that. */
export const FINE_CHUNKS = 1024;
/** Chunks that are thrown away after those, so that the sender sees the answer. */
const DISCARDED_CHUNKS = 16_384;

interface Meter {
  tooFine: boolean;
  listener: (() => void) | undefined;
}

const meters = new WeakMap<IncomingMessage, Meter>();

/**
 * Counts the chunks of a body as the parser finds them. Each becomes a Buffer of its own, and a stream that is not read
 * counts the bytes of what it keeps, not the objects: in a body of one-byte chunks, some hundred times as much. So when
 * chunks turn out too fine, they are thrown away from here on, and after a while the connection is closed.
 */
export function meterChunks(request: IncomingMessage): void {
  if (request.headers['transfer-encoding'] === undefined) return;
  const meter: Meter = {tooFine: false, listener: undefined};
  meters.set(request, meter);
  const push = request.push.bind(request);
  let [chunks, bytes] = [0, 0];
  request.push = (chunk: Buffer | null) => {
    if (chunk === null) return push(chunk);
    chunks += 1;
    bytes += chunk.length;
    const surplus = chunks - FINE_CHUNKS - bytes / CHUNK_BYTES;
    if (surplus > DISCARDED_CHUNKS) request.socket.destroy();
    if (surplus <= 0 && !meter.tooFine) return push(chunk);
    if (!meter.tooFine) {
      meter.tooFine = true;
      meter.listener?.();
    }
    return true;
  };
}

/** Calls `listener` when the chunks of a body turn out too fine, or at once where they have. */
export function onTooFine(request: IncomingMessage, listener: () => void): void {
  const meter = meters.get(request);
  if (meter === undefined) return;
  meter.listener = listener;
  if (meter.tooFine) listener();
}
