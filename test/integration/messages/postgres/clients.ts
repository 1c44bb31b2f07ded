/** Clients that retry with any pod until they get an answer, and what they saw. */
import {randomInt} from 'node:crypto';
import {setTimeout as delay} from 'node:timers/promises';
import {expect} from 'vitest';
import {until} from '../../../cluster/wait.ts';
import type {Client, MessagesAnswer} from '../client.ts';
import {History, type Status} from '../history.ts';

/** What was promised to all clients of an account. */
export class Promises {
  readonly history = new History();
  /** Ids of acknowledged messages. */
  readonly ids = new Map<string, string>();
  /** Ids of messages whose ack was answered. */
  readonly done = new Set<string>();
}

export interface ClientsOptions {
  readonly name: string;
  readonly key: string;
  readonly promises: Promises;
  /** Clients of the pods that they may use. */
  readonly pods: () => readonly Client[];
}

export interface ClientNumbers {
  readonly writers: number;
  readonly readers: number;
  readonly workers: number;
}

/** How long clients back off. */
const RETRY_MS = 50;
const BEFORE_ALL = 'msg_0';

export class Clients {
  readonly #options: ClientsOptions;
  readonly #all: Promise<void>[];
  #running = true;
  /** How many messages were acknowledged, and how many reads and acks were answered. */
  readonly counts = {acknowledged: 0, read: 0, done: 0};
  /** When the latest of those requests began that were answered as asked; a time of performance.now(). */
  latest = 0;
  /** The codes of refusals. */
  readonly refusals = new Set<string>();
  /** How many submissions were refused, or ended without an answer. */
  refusedWrites = 0;

  constructor(options: ClientsOptions, {writers, readers, workers}: ClientNumbers) {
    this.#options = options;
    this.#all = [
      ...Array.from({length: writers}, (_, writer) => this.#write(writer)),
      ...Array.from({length: readers}, () => this.#read()),
      ...Array.from({length: workers}, () => this.#work()),
    ];
  }

  /** Resolves once this many more have been answered. */
  async more(count: number, what: keyof Clients['counts'] = 'acknowledged'): Promise<void> {
    const from = this.counts[what];
    await until(`${count} more ${what}`, () => this.counts[what] >= from + count, {intervalMs: 10});
  }

  async stop(): Promise<void> {
    this.#running = false;
    await Promise.all(this.#all);
  }

  /** The answer, if it has this status. Backs off after any other answer, which must be a 503. */
  async #answered(status: number, ask: (pod: Client) => Promise<MessagesAnswer>): Promise<MessagesAnswer | undefined> {
    const pods = this.#options.pods();
    const pod = pods[randomInt(pods.length)] as Client;
    const began = performance.now();
    const answer = await ask(pod).catch(() => undefined); // the pod is gone
    if (answer?.status === status) {
      this.latest = Math.max(this.latest, began);
      return answer;
    }
    if (answer) {
      expect(answer.status, answer.text).toBe(503);
      this.refusals.add(answer.body.code);
    }
    await delay(RETRY_MS);
    return undefined;
  }

  async #write(writer: number): Promise<void> {
    const {key, name, promises} = this.#options;
    for (let n = 0; this.#running; n++) {
      const message = `${name}-${writer}-${n}`;
      for (let isDone = false; !isDone && this.#running; ) {
        const began = performance.now();
        promises.history.submitted(message, began);
        const answer = await this.#answered(202, pod => pod.submit(key, message, {'idempotency-key': message}));
        if (answer === undefined) {
          this.refusedWrites += 1;
          continue;
        }
        isDone = true;
        this.counts.acknowledged += 1;
        promises.ids.set(message, answer.body.id);
        promises.history.shown(message, answer.body.id, {began, ended: performance.now()});
      }
    }
  }

  /** Alternately reads one message and the newest of the list. */
  async #read(): Promise<void> {
    const {promises} = this.#options;
    while (this.#running) {
      const known = [...promises.ids].slice(-50);
      const one = known[randomInt(Math.max(known.length, 1))];
      if (one !== undefined) await this.#get(...one);
      await this.#list(one?.[1]);
    }
  }

  async #get(message: string, id: string): Promise<void> {
    const {key, promises} = this.#options;
    const began = performance.now();
    let status = 0;
    const answer = await this.#answered(200, async pod => {
      const found = await pod.get(key, `/messages/${id}`);
      ({status} = found);
      return status === 404 ? {...found, status: 200} : found;
    });
    if (answer === undefined) return;
    const span = {began, ended: performance.now()};
    this.counts.read += 1;
    if (status === 404) promises.history.missed(message, span);
    else promises.history.shown(answer.body.message, answer.body.id, span, answer.body.status);
  }

  async #list(after: string | undefined): Promise<void> {
    const {key, promises} = this.#options;
    const began = performance.now();
    const query = after === undefined ? '' : `&cursor=${after}`;
    const answer = await this.#answered(200, pod => pod.get(key, `/messages?limit=100${query}`));
    if (answer === undefined) return;
    const span = {began, ended: performance.now()};
    this.counts.read += 1;
    const {messages, nextCursor} = answer.body as {
      messages: {id: string; message: string; status: Status}[];
      nextCursor: string | null;
    };
    for (const each of messages) promises.history.shown(each.message, each.id, span, each.status);
    const ids = new Set(messages.map(each => each.id));
    promises.history.page({...span, after: after ?? BEFORE_ALL, upTo: nextCursor ?? undefined, ids});
  }

  /** An ack must succeed: its claim was answered, so no failover may have lost it. */
  async #work(): Promise<void> {
    const {key, promises} = this.#options;
    while (this.#running) {
      const claim = {limit: 2, leaseSeconds: 3600};
      const began = performance.now();
      const claimed = await this.#answered(200, pod => pod.post(key, '/messages/claim', claim));
      const span = {began, ended: performance.now()};
      for (const {id, lease, message} of claimed?.body.messages ?? []) {
        promises.history.leased(message, id, span, lease);
        await this.#ack(message, id, lease);
      }
      if (claimed?.body.messages.length === 0) await delay(RETRY_MS);
    }
  }

  async #ack(message: string, id: string, lease: string): Promise<void> {
    const {key, promises} = this.#options;
    for (let isDone = false; !isDone && this.#running; ) {
      const began = performance.now();
      promises.history.acknowledged(message, began);
      isDone = undefined !== (await this.#answered(200, pod => pod.post(key, `/messages/${id}/ack`, {lease})));
      if (!isDone) continue;
      promises.history.shown(message, id, {began, ended: performance.now()}, 'done');
      promises.done.add(id);
      this.counts.done += 1;
    }
  }
}
