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
 * Sync with a packet. If a statement fails, the server skips the rest of the group. A subclass, because pg's pipeline
 * mode accepts no other class.
 * https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-PIPELINING
 */
export class StatementGroup extends Query {
  readonly #executions: readonly Execution[];
  /** The names that the server knows, unless a statement fails that was sent before. */
  readonly #prepared: Set<string>;
  /** The statements that this group adds. */
  readonly #added: string[] = [];

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
    // All values first: if one cannot be converted, nothing was sent.
    const values = this.#executions.map(each => each.values.map(value => prepareValue(value)));
    // Only the types want the argument `true`.
    for (const [index, {statement}] of this.#executions.entries()) {
      const {name, text} = statement;
      if (!this.#prepared.has(name)) {
        connection.close({type: 'S', name}, true); // The server may know it from a group that failed.
        connection.parse({name, text, types: []}, true);
        this.#prepared.add(name);
        this.#added.push(name);
      }
      connection.bind({statement: name, values: values[index]}, true);
      connection.describe({type: 'P'}, true);
      connection.execute(null, true);
    }
    connection.sync();
  }

  override handleError(error: Error, connection: Connection): void {
    for (const name of this.#added) this.#prepared.delete(name);
    super.handleError(error, connection);
  }
}
