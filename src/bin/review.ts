#!/usr/bin/env node
/** `nameplate review`: lists what will not last once the admission policies are enforced. */
import {parseArgs} from 'node:util';
import {createCall} from '../kubectl/review/call.ts';
import {exitCode, printed} from '../kubectl/review/report.ts';
import {review} from '../kubectl/review/review.ts';
import {createToolClient} from '../runtime/kube/http-client.ts';
import {loadClusterAccess} from '../runtime/kube/kubeconfig.ts';
import {Transport} from '../runtime/kube/transport.ts';
import {systemClock} from '../time/clock.ts';
import {runTool} from './command-line.ts';

const USAGE = `Usage: nameplate review [options]

Lists the existing objects of tenants that Nameplate's admission policies refuse, and the certificates that cert-manager
can no longer renew once the policies are enforced. Changes no objects: it sends each one again as a dry run. Requires
cluster-admin rights.

  --kubeconfig FILE     default: KUBECONFIG, then ~/.kube/config
  --json                print the result as JSON
  --help                print this help

Exit codes: 0 nothing found, 1 something found, 2 wrong usage, 3 could not check everything.
`;
const USER_AGENT = 'nameplate-review';

type Command = Readonly<{kubeconfig?: string; json?: boolean}>;

function parseCommand(argv: readonly string[]): Command | 'help' {
  const options = {kubeconfig: {type: 'string'}, json: {type: 'boolean'}, help: {type: 'boolean'}} as const;
  const {values} = parseArgs({args: [...argv], options});
  return values.help ? 'help' : values;
}

/** Ctrl-C ends the review and removes what it has created. */
function interruption(): AbortSignal {
  const controller = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.once(name, () => controller.abort(new Error(`interrupted by ${name}`)));
  }
  return controller.signal;
}

async function run({kubeconfig, json}: Command): Promise<number> {
  const client = createToolClient(USER_AGENT, kubeconfig);
  const transport = new Transport(loadClusterAccess(kubeconfig));
  try {
    const signal = interruption();
    const call = createCall(transport, USER_AGENT, signal);
    const result = await review({client, call, clock: systemClock, signal});
    process.stdout.write(json ? `${JSON.stringify(result, null, 2)}\n` : printed(result));
    return exitCode(result);
  } finally {
    await Promise.all([client.close(), transport.close()]);
  }
}

const tool = {name: 'nameplate review', usage: USAGE, parse: parseCommand, run};
process.exitCode = await runTool(tool, process.argv.slice(2));
