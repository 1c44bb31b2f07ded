#!/usr/bin/env node
/** `nameplate review`: checks a cluster's existing objects against the rules for new ones. */
import {readFile} from 'node:fs/promises';
import {parseArgs} from 'node:util';
import {systemClock} from '../base/clock.ts';
import type {OperatorConfig} from '../operator/model/config.ts';
import {runTool} from '../process/command-line.ts';
import {createCall} from '../review/api.ts';
import {readConfig} from '../review/policies.ts';
import {asJson, exitCode, printed} from '../review/report.ts';
import {review} from '../review/review.ts';
import {createToolClient} from '../runtime/kube/http-client.ts';
import {loadClusterAccess} from '../runtime/kube/kubeconfig.ts';
import {Transport} from '../runtime/kube/transport.ts';

const USAGE = `Usage: nameplate review [options]

Checks a cluster's existing objects against Nameplate's admission policies and certificate rules, and says which chart
values keep them working. Changes no objects: it resubmits each one as a dry run. Requires cluster-admin rights.

  -n, --namespace NAME  check only the objects in this namespace
  --config FILE         the operator's configuration, or the chart's ConfigMap as helm template prints it, instead of the
                        one in the cluster
  --kubeconfig FILE     default: KUBECONFIG, then ~/.kube/config
  --json                print the result as JSON
  --help                print this help

Exit codes: 0 no findings, 1 findings, 2 wrong usage, 3 could not check everything.
`;
const USER_AGENT = 'nameplate-review';

interface Command {
  readonly namespace: string | undefined;
  readonly config: OperatorConfig | undefined;
  readonly kubeconfig: string | undefined;
  readonly json: boolean;
}

async function parseCommand(argv: readonly string[]): Promise<Command | 'help'> {
  const {values} = parseArgs({
    args: [...argv],
    options: {
      namespace: {type: 'string', short: 'n'},
      config: {type: 'string'},
      kubeconfig: {type: 'string'},
      json: {type: 'boolean', default: false},
      help: {type: 'boolean', default: false},
    },
  });
  if (values.help) return 'help';
  const {namespace, config: file, kubeconfig, json} = values;
  const config = file === undefined ? undefined : readConfig(await readFile(file, 'utf8'), file);
  return {namespace, config, kubeconfig, json};
}

/** Ctrl-C ends the review and removes what it has created. */
function interruption(): AbortSignal {
  const controller = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.once(name, () => controller.abort(new Error(`interrupted by ${name}`)));
  }
  return controller.signal;
}

async function run({namespace, config, kubeconfig, json}: Command): Promise<number> {
  const client = createToolClient(USER_AGENT, kubeconfig);
  const transport = new Transport(loadClusterAccess(kubeconfig));
  try {
    const call = createCall(transport, USER_AGENT);
    const context = {client, call, clock: systemClock, signal: interruption(), namespace};
    const result = await review(context, config);
    process.stdout.write(json ? asJson(result) : printed(result));
    return exitCode(result);
  } finally {
    await Promise.all([client.close(), transport.close()]);
  }
}

const tool = {name: 'nameplate review', usage: USAGE, parse: parseCommand, run};
process.exitCode = await runTool(tool, process.argv.slice(2));
