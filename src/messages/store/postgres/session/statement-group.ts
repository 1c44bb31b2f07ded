import type {Connection, QueryResult} from 'pg';
import Query from 'pg/lib/query';
import {prepareValue} from 'pg/lib/utils';

/** A prepared statement. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

export interface Execution {
  readonly statement: Statement;
  readonly values: readonly unknown[];
}

/**
 * Prepared statements that share one Sync message. pg itself sends one after each statement, and the server answers each
 * Sync with a packet. If a statement fails, the server skips the rest of the group.
 * https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-PIPELINING
 */
export class StatementGroup extends Query {
  readonly #executions: readonly Execution[];
  /** The names that the server knows, or will know when it has executed what was sent. */
  readonly #prepared: Set<string>;
  /** The names that this group has added to them, except those of completed statements. */
  readonly #added = new Set<string>();
  #completed = 0;

  /** `done` gets the results in the order of the statements, or the error of the first that failed. */
  constructor(
    executions: readonly Execution[],
    prepared: Set<string>,
    done: (error: Error | undefined, results: readonly QueryResult[]) => void,
  ) {
    super('', (error, results) => done(error ?? undefined, [results].flat()));
    this.#executions = executions;
    this.#prepared = prepared;
  }

  override submit(connection: Connection): void {
    for (const {statement, values} of this.#executions) {
      const {name, text} = statement;
      if (!this.#prepared.has(name)) {
        connection.parse({name, text, types: []}, true);
        this.#prepared.add(name);
        this.#added.add(name);
      }
      connection.bind({statement: name, values: values.map(value => prepareValue(value))}, true);
      connection.describe({type: 'P'}, true);
      connection.execute(null, true);
    }
    connection.sync();
  }

  override handleCommandComplete(message: object, connection: Connection): void {
    const {name} = this.#executions[this.#completed]?.statement ?? {};
    if (name !== undefined) this.#added.delete(name);
    this.#completed += 1;
    super.handleCommandComplete(message, connection);
  }

  /**
   * Forgets the names of the skipped statements. The one that failed may be unknown to the server, too; then its next
   * use fails, which ends the session.
   */
  override handleError(error: Error, connection: Connection): void {
    const {name} = this.#executions[this.#completed]?.statement ?? {};
    for (const each of this.#added) if (each !== name) this.#prepared.delete(each);
    super.handleError(error, connection);
  }
}
