/**
 * What concurrent clients saw, and whether one store that does one thing at a time could have shown it.
 *
 * A message is a register that is written once: absent, then present with one id. Such a history is linearizable
 * exactly if nobody saw the message before it was submitted, nobody missed it in an operation that began after another
 * one that proved it had ended, and all agree on the id. A history of many objects is linearizable if that of each one
 * is (Herlihy and Wing, 1990, theorem 1). So no search is necessary.
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

interface Register {
  submitted: number;
  /** Operations that showed it: acknowledgments and reads. */
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

  shown(message: string, id: string, span: Span): void {
    this.#of(message).shown.push({...span, id});
  }

  missed(message: string, span: Span): void {
    this.#of(message).missed.push(span);
  }

  page(page: Page): void {
    this.#pages.push(page);
  }

  /** What no such store could have shown. */
  violations(): readonly string[] {
    const owners = new Map<string, string>();
    return [...this.#registers].flatMap(([message, {submitted, shown, missed}]) => {
      const [first] = shown;
      if (first === undefined) return [];
      const {id} = first;
      const absent = [...missed, ...this.#pages.filter(page => isIn(page, id) && !page.ids.has(id))];
      const provedAt = Math.min(...shown.map(({ended}) => ended));
      const owner = owners.get(id) ?? message;
      owners.set(id, message);
      return [
        ...shown.filter(each => each.id !== id).map(each => `${message} has the ids ${id} and ${each.id}`),
        ...shown.filter(({ended}) => ended < submitted).map(() => `${message} was seen before it was submitted`),
        ...absent.filter(({began}) => began > provedAt).map(() => `${message} was there, and then it was not`),
        ...(owner === message ? [] : [`${message} and ${owner} have the same id`]),
      ];
    });
  }

  #of(message: string): Register {
    let register = this.#registers.get(message);
    if (register === undefined) {
      register = {submitted: Number.POSITIVE_INFINITY, shown: [], missed: []};
      this.#registers.set(message, register);
    }
    return register;
  }
}

function isIn({after, upTo}: Page, id: string): boolean {
  return id > after && (upTo === undefined || id <= upTo);
}
