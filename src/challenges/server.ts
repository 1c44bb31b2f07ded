/**
 * Answers one request per connection, and says so in the answer. Therefore, a proxy never finds a connection of its pool
 * closed, what follows the head of a request needs no meaning, and no client makes the server hold more than one head.
 * node:http would read bodies, and would prepare an answer to each of 2,000 pipelined requests.
 */
import {once} from 'node:events';
import {type AddressInfo, createServer, type Socket} from 'node:net';
import {Connections} from '../operations/connections.ts';
import {answerTo, type ChallengeAnswer, plainAnswer, serialize} from './answer.ts';

interface ChallengeServer {
  readonly port: number;
  /** Accepts no more connections, and ends when those that are open have. */
  close(): Promise<void>;
}

interface ChallengeServerOptions {
  /** 0 means any free port. */
  readonly port: number;
  /** Default: all addresses. */
  readonly host?: string;
  /** Of the account's key; undefined while it is unknown. */
  readonly thumbprint: () => string | undefined;
  /** Called for each answer. */
  readonly observe: (status: number) => void;
}

const MAX_HEAD_BYTES = 8192;
/** How long a head may take to arrive, since the connection was opened. */
const HEAD_MS = 5000;
/**
 * Data that the peer sends after the head is dropped for this long, up to this many bytes. If the connection were closed
 * with something unread, the peer might lose the answer (RFC 9112, section 9.6).
 */
const DISCARD_MS = 1000;
const DISCARD_BYTES = 1 << 20;
/** Beyond it, the oldest connection is closed. All are short, and most come from the few addresses of the edge. */
const MAX_CONNECTIONS = 1024;
const END_OF_HEAD = Buffer.from('\r\n\r\n');

/** Resolves once it listens; rejects if it cannot. */
export async function startChallengeServer(options: ChallengeServerOptions): Promise<ChallengeServer> {
  const server = createServer({noDelay: true});
  const limits = {total: MAX_CONNECTIONS, perAddress: MAX_CONNECTIONS, dropsBusy: true};
  new Connections(limits).watch(server);
  server.on('connection', socket => serve(socket, options));
  server.listen(options.port, options.host);
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      await closed;
    },
  };
}

function serve(socket: Socket, {thumbprint, observe}: ChallengeServerOptions): void {
  const head = new Head();
  let discarded = 0;
  let isAnswered = false;
  // A proxy would take an answer to nothing as that to its next request.
  let timer = setTimeout(() => (head.isEmpty ? socket.destroy() : answer(plainAnswer(408))), HEAD_MS);

  function answer(given: ChallengeAnswer): void {
    isAnswered = true;
    observe(given.status);
    clearTimeout(timer);
    timer = setTimeout(() => socket.destroy(), DISCARD_MS);
    socket.end(serialize(given, new Date()), 'latin1');
  }

  socket.on('error', () => undefined); // A reset ends the connection.
  socket.once('close', () => clearTimeout(timer));
  socket.on('data', (chunk: Buffer) => {
    if (isAnswered) {
      discarded += chunk.length;
      if (discarded > DISCARD_BYTES) socket.destroy();
      return;
    }
    const text = head.add(chunk);
    if (text !== undefined) answer(answerTo(text, thumbprint()));
    else if (head.isTooLong) answer(plainAnswer(431));
  });
}

/** Collects the head of a request. Each byte is copied and searched once, however small the pieces are. */
class Head {
  #bytes: Buffer | undefined;
  #length = 0;
  isTooLong = false;

  get isEmpty(): boolean {
    return this.#length === 0;
  }

  /** Returns the head, one character per byte, once it is complete. */
  add(chunk: Buffer): string | undefined {
    this.#bytes ??= Buffer.allocUnsafeSlow(MAX_HEAD_BYTES);
    const from = Math.max(0, this.#length - END_OF_HEAD.length + 1);
    const copied = chunk.copy(this.#bytes, this.#length);
    this.#length += copied;
    const end = this.#bytes.subarray(0, this.#length).indexOf(END_OF_HEAD, from);
    this.isTooLong = end === -1 && copied < chunk.length;
    return end === -1 ? undefined : this.#bytes.toString('latin1', 0, end);
  }
}
