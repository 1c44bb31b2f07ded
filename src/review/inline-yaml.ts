/** A value in one line of YAML, as a chart value takes it. Text of a tenant stays text, whatever it contains. */
import {Document} from 'yaml';

export function inlineYaml(value: object | string): string {
  const document = new Document(value);
  if (typeof value === 'object') (document.contents as {flow?: boolean}).flow = true;
  const quoted = {defaultStringType: 'QUOTE_DOUBLE', defaultKeyType: 'PLAIN', doubleQuotedAsJSON: true} as const;
  return document.toString({lineWidth: 0, flowCollectionPadding: false, ...quoted}).trimEnd();
}
