/** Markup from templates. Every text in it is escaped: a tenant or a stranger's DNS server chooses much of it. */
import {html as template} from 'hono/html';

export type Markup = ReturnType<typeof template> & {readonly isEscaped: true};
type Content = string | number | boolean | undefined | Markup | readonly Content[];

/** Of templates and texts only, so it is never a promise, and nothing from outside can pass for escaped markup. */
export function html(strings: TemplateStringsArray, ...values: readonly Content[]): Markup {
  return template(strings, ...values) as Markup;
}
