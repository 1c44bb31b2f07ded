/** Modules of pg that have no types, as far as `statement-group.ts` needs them. */
declare module 'pg/lib/query' {
  import type {Connection, QueryResult, Submittable} from 'pg';

  class Query implements Submittable {
    constructor(text: string, callback: (error: Error | null, results: QueryResult | QueryResult[]) => void);
    submit(connection: Connection): void;
    handleError(error: Error, connection: Connection): void;
  }

  // biome-ignore lint/style/noDefaultExport: pg has one.
  export {Query as default};
}

declare module 'pg/lib/utils' {
  /** A value as a text parameter; an array as PostgreSQL's literal. */
  export function prepareValue(value: unknown): Buffer | string | null;
}
