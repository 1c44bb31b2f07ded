/** For users without Helm: what it would install with the settings that the chart requires. */
import {run} from '../../test/cluster/children.ts';
import {ensurePrograms} from '../../test/cluster/programs.ts';

const SETTINGS = {
  'config.platform.baseDomain': 'apps.example.net',
  'config.platform.targetDomain': 'edge.example.net',
  'config.certificates.issuerRef.name': 'letsencrypt',
};

/**
 * `chart`: a folder or a package. `digest`: of a published image, because its tag can move. The output lacks the Pod of
 * `helm test`, which would run, and fail, before the operator is ready.
 */
export async function renderChart(chart: string, digest?: string): Promise<string> {
  const helm = (await ensurePrograms(['helm'])).path('helm');
  const all = {...SETTINGS, ...(digest && {'image.digest': digest})};
  const settings = Object.entries(all).flatMap(([name, value]) => ['--set', `${name}=${value}`]);
  return run([helm, 'template', 'nameplate', chart, '--skip-tests', '--namespace', 'nameplate', ...settings]);
}
