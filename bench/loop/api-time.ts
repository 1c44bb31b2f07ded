/**
 * Whose requests take the API server's time, as API Priority and Fairness measures it per FlowSchema. The
 * administrator's requests, which include those of the bench, are exempt.
 */
import type {ApiServer} from '../../test/cluster/apiserver.ts';
import {CERT_MANAGER_USER} from '../../test/integration/operator/operator-world.ts';
import {OPERATOR_USER} from '../../test/support/install.ts';

/** Each gets its own FlowSchema, at the priority level that it would have without one. */
const USERS = {'bench-operator': OPERATOR_USER, 'bench-cert-manager': CERT_MANAGER_USER} as const;
const LEVEL = 'workload-low';
const SUM = /^apiserver_flowcontrol_request_execution_seconds_sum\{(.*)\} (\S+)$/gm;

export class ApiTime {
  readonly #api: ApiServer;
  #before: ReadonlyMap<string, number> = new Map();
  #cpuMs = 0;

  private constructor(api: ApiServer) {
    this.#api = api;
  }

  /** Measures from now on. */
  static async start(api: ApiServer): Promise<ApiTime> {
    for (const [name, user] of Object.entries(USERS)) await api.apply(JSON.stringify(flowSchema(name, user)));
    const time = new ApiTime(api);
    time.#before = await time.#seconds();
    time.#cpuMs = api.cpuMs();
    return time;
  }

  async print(): Promise<void> {
    const spent = [...(await this.#seconds())].map(
      ([name, sum]) => [name, sum - (this.#before.get(name) ?? 0)] as const,
    );
    const total = spent.reduce((sum, [, seconds]) => sum + seconds, 0);
    const shares = spent
      .sort(([, a], [, b]) => b - a)
      .map(([name, seconds]) => `${name} ${seconds.toFixed(1)} s (${((100 * seconds) / total).toFixed(0)} %)`);
    const cpu = ((this.#api.cpuMs() - this.#cpuMs) / 1000).toFixed(1);
    console.log(`the API server used ${cpu} s of CPU; the time of its requests: ${shares.join(', ')}`);
  }

  /** The seconds of all requests except watches, by FlowSchema. Those that are not ours are added up. */
  async #seconds(): Promise<Map<string, number>> {
    const text = await this.#api.kubectl('get', '--raw', '/metrics');
    const sums = new Map<string, number>();
    for (const [, labels = '', value] of text.matchAll(SUM)) {
      if (labels.includes('type="watch"')) continue;
      const schema = /flow_schema="([^"]*)"/.exec(labels)?.[1] ?? '';
      const name = schema in USERS ? schema.slice('bench-'.length) : schema === 'exempt' ? 'administrators' : 'others';
      sums.set(name, (sums.get(name) ?? 0) + Number(value));
    }
    return sums;
  }
}

function flowSchema(name: string, user: string): object {
  const [, , namespace, account] = user.split(':');
  const everything = {apiGroups: ['*'], resources: ['*'], namespaces: ['*'], clusterScope: true, verbs: ['*']};
  return {
    apiVersion: 'flowcontrol.apiserver.k8s.io/v1',
    kind: 'FlowSchema',
    metadata: {name},
    spec: {
      priorityLevelConfiguration: {name: LEVEL},
      matchingPrecedence: 500,
      distinguisherMethod: {type: 'ByUser'},
      rules: [
        {
          subjects: [{kind: 'ServiceAccount', serviceAccount: {namespace, name: account}}],
          resourceRules: [everything],
        },
      ],
    },
  };
}
