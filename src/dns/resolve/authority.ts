/** Who answers for a name. */
import type {Endpoint} from '../wire/addresses.ts';

/** A set of servers that answer for a name: those of its zone, or recursives, which answer for all names. */
export interface Authority {
  /** The zone's own name; `.` for recursives. */
  readonly zone: string;
  readonly servers: readonly NameServer[];
  readonly recursive: boolean;
  /** How many more servers the zone has, which we do not query. */
  readonly omitted?: number;
}

export interface NameServer {
  readonly name: string;
  readonly endpoints: readonly Endpoint[];
  /**
   * There are no endpoints, but it may still have addresses: `silent`: no server answered for its name; `unasked`: this
   * check had no query left for its name; `no-route`: it has, but none of a family in which this machine has one.
   */
  readonly unresolved?: 'silent' | 'unasked' | 'no-route';
}
