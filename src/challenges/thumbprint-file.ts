/** The thumbprint of the account's key, from a file that a ConfigMap mounts and the kubelet replaces. */
import {readFile} from 'node:fs/promises';
import {setTimeout as delay} from 'node:timers/promises';
import type {Logger} from 'pino';

/** The file is small, and a volume's files change by a link to another folder, which no watch reports reliably. */
const POLL_MS = 1000;
/** A SHA-256 in base64url (RFC 7638). */
const THUMBPRINT = /^[A-Za-z0-9_-]{43}$/;

export class ThumbprintFile implements AsyncDisposable {
  readonly #path: string;
  readonly #logger: Logger;
  readonly #end = new AbortController();
  #polling: Promise<void> = Promise.resolve();
  #current: string | undefined;
  #problem: string | undefined;

  private constructor(path: string, logger: Logger) {
    this.#path = path;
    this.#logger = logger;
  }

  /** Resolves once the file has been read, or was found missing. It is then read every second. */
  static async open(path: string, logger: Logger): Promise<ThumbprintFile> {
    const file = new ThumbprintFile(path, logger);
    await file.#read();
    file.#polling = file.#poll();
    return file;
  }

  get current(): string | undefined {
    return this.#current;
  }

  /** Why there is none. */
  get problem(): string | undefined {
    return this.#problem;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#end.abort();
    await this.#polling;
  }

  async #poll(): Promise<void> {
    const {signal} = this.#end;
    for (;;) {
      await delay(POLL_MS, undefined, {signal}).catch(() => undefined);
      if (signal.aborted) return;
      await this.#read();
    }
  }

  async #read(): Promise<void> {
    const {thumbprint, problem} = await readThumbprint(this.#path);
    if (thumbprint !== this.#current) this.#logger.info({thumbprint}, 'The thumbprint has changed.');
    if (problem !== this.#problem && problem !== undefined) this.#logger.warn({problem}, 'No challenge is answered.');
    this.#current = thumbprint;
    this.#problem = problem;
  }
}

async function readThumbprint(path: string): Promise<{readonly thumbprint?: string; readonly problem?: string}> {
  let text: string;
  try {
    text = (await readFile(path, 'latin1')).trim();
  } catch (error) {
    const {code, message} = error as NodeJS.ErrnoException;
    const isMissing = code === 'ENOENT';
    return {
      problem: isMissing
        ? `${path} does not exist. The operator writes it once it has the key of the account.`
        : message,
    };
  }
  if (THUMBPRINT.test(text)) return {thumbprint: text};
  return {problem: `${path} does not contain the thumbprint of a key, which has 43 characters of base64url.`};
}
