import {join} from 'node:path';
import {run} from '../cluster/children.ts';
import {RELEASE} from './install.ts';

const CHART = join(import.meta.dirname, '../..', RELEASE.chart);

/** Renders these templates of the chart. `helm`: path of the program. */
export function renderTemplates(
  helm: string,
  templates: readonly string[],
  options: readonly string[],
): Promise<string> {
  const shown = templates.flatMap(template => ['--show-only', `templates/${template}.yaml`]);
  return run([helm, 'template', RELEASE.name, CHART, '-n', RELEASE.namespace, ...options, ...shown]);
}
