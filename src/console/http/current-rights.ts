/** The rights of users, asked at most once a minute for all open pages of a session in a namespace. */
import type {Clock} from '../../time/clock.ts';
import type {UserSession} from '../access/sessions.ts';
import {type Rights, rightsIn} from '../projects/read.ts';

const RECHECK_MS = 60_000;

interface Known {
  readonly rights: Promise<Rights>;
  /** On the monotonic clock: when they are asked again. */
  readonly until: number;
}

export class CurrentRights {
  readonly #clock: Clock;
  /** By session, then by namespace. What is over goes when something comes. */
  readonly #known = new WeakMap<UserSession, Map<string, Known>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Of this moment. */
  ask(session: UserSession, namespace: string): Known {
    const now = this.#clock.monotonic();
    const own = this.#known.get(session) ?? new Map<string, Known>();
    this.#known.set(session, own);
    for (const [name, {until}] of own) if (until <= now) own.delete(name);
    const known = {rights: rightsIn(session.client, namespace, session.signal), until: now + RECHECK_MS};
    own.set(namespace, known);
    known.rights.catch(() => {
      if (own.get(namespace) === known) own.delete(namespace);
    });
    return known;
  }

  /** Of the last minute. */
  recent(session: UserSession, namespace: string): Known {
    const found = this.#known.get(session)?.get(namespace);
    return found && found.until > this.#clock.monotonic() ? found : this.ask(session, namespace);
  }
}
