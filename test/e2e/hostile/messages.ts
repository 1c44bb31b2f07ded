/**
 * The messages API under attack, through the edge: requests in hostile framings, with and without a key, while another
 * account counts its own failures. The edge takes connections to the API from a pool that all its clients share.
 */
import {readFile} from 'node:fs/promises';
import {setTimeout as pause} from 'node:timers/promises';
import {connect, type TLSSocket} from 'node:tls';
import {Dice, moves} from '../../integration/messages/framing.ts';
import {MESSAGES_HOST} from '../../support/install.ts';
import {newKey, type TenantKey} from '../tenant-key.ts';
import {cluster} from '../world.ts';

const POST_EVERY_MS = 100;
const MOST_CONNECTIONS = 64;

export class Messages {
  readonly #sender: TenantKey;
  readonly #attackersKey: string;
  readonly #ca: string;
  readonly #complain: (text: string) => void;
  readonly #open = new Set<TLSSocket>();
  readonly #stopping = new AbortController();
  readonly #posting: Promise<void>;

  private constructor(sender: TenantKey, attacker: TenantKey, ca: string, complain: (text: string) => void) {
    this.#sender = sender;
    this.#attackersKey = attacker.authorization.replace('Bearer ', '');
    this.#ca = ca;
    this.#complain = complain;
    this.#posting = this.#postForever();
  }

  static async start(complain: (text: string) => void): Promise<Messages> {
    const [sender, attacker] = await Promise.all([newKey('hostile-sender'), newKey('hostile-messages')]);
    for (const key of [sender, attacker]) await key.until('', {status: 200});
    return new Messages(sender, attacker, await readFile(cluster.info.roots, 'utf8'), complain);
  }

  /** Sends what the seed says, each on a connection of its own. Some are left open, until there are too many. */
  async send(seed: number): Promise<string> {
    const dice = new Dice(seed);
    const count = 1 + dice.below(16);
    const sent = Array.from({length: count}, () => {
      const bytes = dice.one(moves)(dice, this.#attackersKey).replaceAll('host: x\r\n', `host: ${MESSAGES_HOST}\r\n`);
      return this.#sendOnce(Buffer.from(bytes, 'latin1'), dice.below(8));
    });
    const written = (await Promise.all(sent)).filter(Boolean).length;
    for (const socket of [...this.#open].slice(0, Math.max(0, this.#open.size - MOST_CONNECTIONS))) socket.destroy();
    return `${written} of ${count} sent`;
  }

  rest(): void {
    for (const socket of this.#open) socket.destroy();
  }

  async stop(): Promise<void> {
    this.rest();
    this.#stopping.abort();
    await this.#posting;
  }

  /** `ending`: how the connection ends, if the attacker ends it. Resolves to whether it was opened. */
  #sendOnce(bytes: Buffer, ending: number): Promise<boolean> {
    const {promise, resolve} = Promise.withResolvers<boolean>();
    const edge = {host: cluster.info.ingress.address, port: 443, servername: MESSAGES_HOST, ca: this.#ca};
    const socket = connect({...edge, ALPNProtocols: ['http/1.1']}, () => {
      socket.write(bytes);
      if (ending === 0) socket.end();
      if (ending === 1) setImmediate(() => socket.destroy());
      resolve(true);
    });
    this.#open.add(socket);
    socket.on('error', () => resolve(false)); // being cut off is one of the answers
    socket.once('close', () => {
      this.#open.delete(socket);
      resolve(false);
    });
    socket.resume();
    return promise;
  }

  async #postForever(): Promise<void> {
    const {signal} = this.#stopping;
    while (!signal.aborted) {
      const outcome = await this.#sender.post('', {message: 'x'}).then(
        ({status, body}) => (status === 202 ? undefined : `${status} ${body.slice(0, 200)}`),
        ({message}: Error) => message,
      );
      if (outcome !== undefined) this.#complain(`another account's message was answered with ${outcome}`);
      await pause(POST_EVERY_MS, undefined, {signal}).catch(() => {}); // a rate, not a wait
    }
  }
}
