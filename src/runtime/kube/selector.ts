import type {Selector} from './calls.ts';
import type {DeepReadonly, KubeObject} from './object.ts';

/**
 * Whether a selector certainly selects an object. Knows namespaces and the label selectors that programs write: "key",
 * "!key", "key=value", "key==value", "key!=value", joined by commas. False for everything that it does not know.
 */
export function surelySelects(selector: Selector, object: DeepReadonly<KubeObject>): boolean {
  if (selector.fieldSelector) return false;
  if (selector.namespace && selector.namespace !== object.metadata.namespace) return false;
  const labels = object.metadata.labels ?? {};
  return splitRequirements(selector.labelSelector).every(requirement => meets(labels, requirement));
}

function splitRequirements(labelSelector: string | undefined): string[] {
  return labelSelector ? labelSelector.split(',').map(requirement => requirement.trim()) : [];
}

function meets(labels: Readonly<Record<string, string>>, requirement: string): boolean {
  const [, absent, key, operator, value] = /^(!?)([\w./-]+)(?:\s*(=|==|!=)\s*([\w.-]*))?$/.exec(requirement) ?? [];
  if (key === undefined) return false;
  if (absent) return operator === undefined && !(key in labels);
  if (operator === undefined) return key in labels;
  return operator === '!=' ? labels[key] !== value : labels[key] === value;
}
