/**
 * Records what concurrent clients saw, and checks whether a single store that does one thing at a time could have shown
 * it.
 *
 * A message is a register that is written once: absent, then present with one id. Its history is linearizable if and
 * only if nobody saw the message before it was submitted, nobody missed it in an operation that began after the end of
 * one that showed it, and all agree on the id. A history of many objects is linearizable if that of each object is
 * (Herlihy and Wing, 1990, theorem 1). So no search is necessary.
 *
 * The message's status is a second register, which only grows (queued, leased by one worker, done), because these
 * workers return nothing and keep their leases for an hour. So no operation that began after the end of one that showed
 * a later status may show an earlier one, only one claim may be answered with the message, and nobody may see it done
 * before its ack began.
 *
 * Not judged: nacks, with which a status can go back; lists by status, which may omit a message that changes; and claims
 * that find nothing, which promise nothing.
 */
export interface Span {
  readonly began: number;
  readonly ended: number;
}

/** A page of a list: all messages whose ids are greater than `after`, up to `upTo`, or all of them. */
interface Page extends Span {
  readonly after: string;
  readonly upTo: string | undefined;
  readonly ids: ReadonlySet<string>;
}

/** In this order. A message that does not exist has none. */
const STATUSES = ['queued', 'leased', 'done'] as const;
export type Status = (typeof STATUSES)[number];

interface Register {
  submitted: number;
  /** When its first ack began. */
  acknowledged: number;
  readonly leases: Set<string>;
  readonly statuses: (Span & {readonly status: Status})[];
  /** Operations that showed the message: acknowledgments and reads. */
  readonly shown: (Span & {readonly id: string})[];
  readonly missed: Span[];
}

export class History {
  readonly #registers = new Map<string, Register>();
  readonly #pages: Page[] = [];

  submitted(message: string, began: number): void {
    const register = this.#of(message);
    register.submitted = Math.min(register.submitted, began);
  }

  /** `status`: the one shown or proved by the answer; undefined if there is none. */
  shown(message: string, id: string, span: Span, status?: Status): void {
    const {shown, statuses} = this.#of(message);
    shown.push({...span, id});
    if (status) statuses.push({...span, status});
  }

  /** A claim was answered with the message. */
  leased(message: string, id: string, span: Span, lease: string): void {
    this.shown(message, id, span, 'leased');
    this.#of(message).leases.add(lease);
  }

  acknowledged(message: string, began: number): void {
    const register = this.#of(message);
    register.acknowledged = Math.min(register.acknowledged, began);
  }

  missed(message: string, span: Span): void {
    this.#of(message).missed.push(span);
  }

  page(page: Page): void {
    this.#pages.push(page);
  }

  /** Observations that no such store could have produced. */
  violations(): readonly string[] {
    const owners = new Map<string, string>();
    const ofEach = [...this.#registers].flatMap(([message, register]) => {
      const {submitted, shown, missed} = register;
      const [first] = shown;
      if (first === undefined) return [];
      const {id} = first;
      const provedAt = provedAtOf(register);
      const owner = owners.get(id) ?? message;
      owners.set(id, message);
      return [
        ...shown.filter(each => each.id !== id).map(each => `${message} has the ids ${id} and ${each.id}`),
        ...shown.filter(({ended}) => ended < submitted).map(() => `${message} was seen before it was submitted`),
        ...missed.filter(({began}) => began > provedAt).map(() => `${message} was there, and then it was not`),
        ...(owner === message ? [] : [`${message} and ${owner} have the same id`]),
        ...statusViolations(message, register),
      ];
    });
    return [...ofEach, ...this.#pageViolations()];
  }

  /**
   * For each page, checks only the messages between its ends, and stops once all later ones were proved later. Checking
   * all pages for each message would take too long.
   */
  #pageViolations(): readonly string[] {
    const known = [...this.#registers].flatMap(([message, register]) => {
      const [first] = register.shown;
      return first === undefined ? [] : [{message, id: first.id, provedAt: provedAtOf(register)}];
    });
    known.sort((a, b) => (a.id < b.id ? -1 : 1));
    const firstProved = new Float64Array(known.length);
    let first = Number.POSITIVE_INFINITY;
    for (let at = known.length - 1; at >= 0; at--) {
      first = Math.min(first, known[at]?.provedAt ?? first);
      firstProved[at] = first;
    }
    return this.#pages.flatMap(({after, upTo, ids, began}) => {
      const missing: string[] = [];
      for (let at = firstAfter(known, after); at < known.length; at++) {
        const {message, id, provedAt} = known[at] as (typeof known)[number];
        if ((upTo !== undefined && id > upTo) || (firstProved[at] ?? 0) >= began) break;
        if (!ids.has(id) && began > provedAt) missing.push(`${message} was there, and then it was not`);
      }
      return missing;
    });
  }

  #of(message: string): Register {
    let register = this.#registers.get(message);
    if (register === undefined) {
      const never = Number.POSITIVE_INFINITY;
      register = {submitted: never, acknowledged: never, leases: new Set(), statuses: [], shown: [], missed: []};
      this.#registers.set(message, register);
    }
    return register;
  }
}

function statusViolations(message: string, {statuses, leases, acknowledged}: Register): readonly string[] {
  const back = STATUSES.slice(1).flatMap(status => {
    const isEarlier = (each: Status) => STATUSES.indexOf(each) < STATUSES.indexOf(status);
    const provedAt = Math.min(...statuses.filter(each => !isEarlier(each.status)).map(({ended}) => ended));
    const stale = statuses.filter(each => isEarlier(each.status) && each.began > provedAt);
    return stale.map(each => `${message} was ${status}, and then ${each.status}`);
  });
  const early = statuses.filter(({status, ended}) => status === 'done' && ended < acknowledged);
  return [
    ...back,
    ...early.map(() => `${message} was done before it was acknowledged`),
    ...(leases.size > 1 ? [`${message} was leased to ${leases.size} workers`] : []),
  ];
}

/** The time from which everybody must see the message. */
function provedAtOf({shown}: Register): number {
  return Math.min(...shown.map(({ended}) => ended));
}

/** The index at which the ids greater than `after` begin. */
function firstAfter(sorted: readonly {readonly id: string}[], after: string): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle]?.id ?? '') > after) high = middle;
    else low = middle + 1;
  }
  return low;
}
