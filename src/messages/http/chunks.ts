import type {IncomingMessage} from 'node:http';

/** The minimum that a chunk counts as, in bytes: a shorter one costs the parser about as much. */
export const CHUNK_BYTES = 64;
/** How many chunks of a body may be shorter than that. */
export const FINE_CHUNKS = 1024;
/** How many more chunks are discarded, so that the sender sees the response. */
const DISCARDED_CHUNKS = 16_384;

interface Meter {
  tooFine: boolean;
  listener: (() => void) | undefined;
}

const meters = new WeakMap<IncomingMessage, Meter>();

/**
 * Counts the chunks of a body as the parser finds them. Each becomes a separate Buffer, and an unread stream counts
 * the bytes that it keeps, not the objects, which take some hundred times as much for one-byte chunks. Once a body has
 * too many short chunks, all further chunks are discarded, and after a while the connection is closed.
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

/** Calls `listener` when a body has too many short chunks, or immediately if it already has. */
export function onTooFine(request: IncomingMessage, listener: () => void): void {
  const meter = meters.get(request);
  if (meter === undefined) return;
  meter.listener = listener;
  if (meter.tooFine) listener();
}
