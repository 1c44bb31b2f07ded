/** Clients that submit, workers that process, and a record of the promises they got. */
import type {Client} from './client.ts';

export interface Submission {
  /** Unique among all messages; also the idempotency key. */
  readonly message: string;
  /** The message's id, once acknowledged. */
  id?: string;
}

/** What all services that are used with this ledger have promised. */
export class Ledger {
  readonly submissions: Submission[] = [];
  /** Ids of messages whose ack was answered. */
  readonly done = new Set<string>();
  #next = 0;
  #answered = 0;
  #waiting: {readonly count: number; readonly resolve: () => void} | undefined;

  next(): Submission {
    const submission = {message: `message ${this.#next++} ${'~'.repeat(this.#next % 500)}`};
    this.submissions.push(submission);
    return submission;
  }

  answer(submission: Submission, id: string): void {
    submission.id = id;
    this.#answered += 1;
    if (this.#waiting && this.#answered >= this.#waiting.count) this.#waiting.resolve();
  }

  /** Resolves once this many more submissions have been acknowledged. */
  more(count: number): Promise<void> {
    return new Promise(resolve => {
      this.#waiting = {count: this.#answered + count, resolve};
    });
  }

  get unanswered(): readonly Submission[] {
    return this.submissions.filter(({id}) => id === undefined);
  }
}

export interface LoadOptions {
  readonly client: Client;
  readonly key: string;
  readonly ledger: Ledger;
  readonly clients: number;
  readonly workers: number;
}

/** Runs until the service is gone or `stop` is called. Fails on any answer other than success. */
export function startLoad(options: LoadOptions): {stop(): Promise<void>} {
  let stopped = false;
  const running = () => !stopped;
  const all = [
    ...Array.from({length: options.clients}, () => submitting(options, running)),
    ...Array.from({length: options.workers}, () => processing(options, running)),
  ];
  return {
    stop: async () => {
      stopped = true;
      await Promise.all(all);
    },
  };
}

async function submitting({client, key, ledger}: LoadOptions, running: () => boolean): Promise<void> {
  while (running()) if (!(await submit(client, key, ledger, ledger.next()))) return;
}

/** Returns whether there was an answer. Any but 202 is an error. */
export async function submit(client: Client, key: string, ledger: Ledger, submission: Submission): Promise<boolean> {
  const {message} = submission;
  const idempotencyKey = message.split(' ', 2).join('-');
  const answer = await client.submit(key, message, {'idempotency-key': idempotencyKey}).catch(() => undefined);
  if (answer === undefined) return false;
  if (answer.status !== 202) throw new Error(`${answer.status}: ${answer.text}`);
  ledger.answer(submission, answer.body.id);
  return true;
}

async function processing({client, key, ledger}: LoadOptions, running: () => boolean): Promise<void> {
  while (running()) {
    const claimed = await client.post(key, '/messages/claim', {limit: 4, leaseSeconds: 3600}).catch(() => undefined);
    for (const {id, lease} of claimed?.body.messages ?? []) {
      const answer = await client.post(key, `/messages/${id}/ack`, {lease}).catch(() => undefined);
      if (answer?.status === 200) ledger.done.add(id);
    }
    if (claimed === undefined) return;
  }
}

export interface Listed {
  readonly id: string;
  readonly message: string;
  readonly status: string;
}

/** All messages of an account, read page by page. */
export async function listAllMessages(client: Client, key: string): Promise<readonly Listed[]> {
  const all: Listed[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const {status, body, text} = await client.get(key, `/messages?limit=100${cursor && `&cursor=${cursor}`}`);
    if (status !== 200) throw new Error(`${status}: ${text}`);
    all.push(...body.messages);
    cursor = body.nextCursor;
  }
  return all;
}
