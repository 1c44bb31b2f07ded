#!/usr/bin/env node
/** `kubectl nameplate`: shows what the operator has reported, and what to do next. */
import {spawn} from 'node:child_process';
import {once} from 'node:events';
import {extname, join} from 'node:path';
import {parseArgs} from 'node:util';
import {findCondition} from '../api/conditions.ts';
import {parseHost} from '../dns/dns.ts';
import {
  COMMAND_EXIT,
  type CommandContext,
  findDomain,
  namesIn,
  records,
  status,
  verify,
  why,
} from '../kubectl/commands.ts';
import {COMMANDS, complete} from '../kubectl/complete.ts';
import {FORMATS, type Format, recordsOf} from '../kubectl/records.ts';
import {colored} from '../kubectl/tree.ts';
import {createToolClient} from '../runtime/kube/http-client.ts';
import {loadClusterAccess} from '../runtime/kube/kubeconfig.ts';
import {runTool} from './command-line.ts';

const USAGE = `Usage: kubectl nameplate COMMAND [options]

  status [PROJECT]   show Projects and Domains, waiting ones first
  why HOST           show the step at which HOST is waiting, what to do, and, if you may read DomainClaims, who holds it
  records [HOST]     show the DNS records to create
  verify HOST        check the DNS of HOST now, and explain the result
  check HOST         check the DNS of HOST from this machine (nameplate-check; options after --)
  review             list what the admission policies refuse, and what cannot be renewed (nameplate-review)
  completion         print a script; save it on your PATH as kubectl_complete-nameplate

  -n, --namespace NAME  default: the namespace of the kubeconfig's context
  -A, --all-namespaces  all namespaces
  -o, --output FORMAT   json; for records also table (default), zone, terraform, or external-dns
  --kubeconfig FILE     default: KUBECONFIG, then ~/.kube/config
  --timeout SECONDS     how long a command may take, default 60; verify waits for the operator
  --help                print this help

Exit codes: 0 done, 1 something is waiting or must be changed, 2 wrong usage, 3 failed, or the result is incomplete:
check cannot tell for now, or review could not check everything.
`;
const NAME = 'kubectl nameplate';
const USER_AGENT = 'kubectl-nameplate';
const COMPLETION = `#!/bin/sh
# https://kubernetes.io/docs/tasks/extend-kubectl/kubectl-plugins/
exec kubectl nameplate __complete "$@"
`;

const OPTIONS = {
  namespace: {type: 'string', short: 'n'},
  'all-namespaces': {type: 'boolean', short: 'A', default: false},
  output: {type: 'string', short: 'o'},
  kubeconfig: {type: 'string'},
  timeout: {type: 'string', default: '60'},
  help: {type: 'boolean', short: 'h', default: false},
} as const;

class UsageError extends Error {}

interface Invocation {
  readonly command: string;
  readonly name: string | undefined;
  /** After `--`. */
  readonly rest: readonly string[];
  readonly namespace: string | undefined;
  readonly isEverywhere: boolean;
  readonly output: string | undefined;
  readonly kubeconfig: string | undefined;
  readonly timeoutMs: number;
}

function parseInvocation(argv: readonly string[]): Invocation | 'help' {
  const end = argv.indexOf('--');
  const [own, rest] = end < 0 ? [argv, []] : [argv.slice(0, end), argv.slice(end + 1)];
  const {values, positionals} = parseArgs({args: [...own], allowPositionals: true, options: OPTIONS});
  if (values.help) return 'help';
  const [command, name, ...more] = positionals;
  if (command === undefined || !COMMANDS.includes(command))
    throw new UsageError(`specify one of: ${COMMANDS.join(', ')}`);
  if (more.length > 0) throw new UsageError(`${command} takes at most one name`);
  if (['why', 'verify', 'check'].includes(command) && name === undefined)
    throw new UsageError(`${command} needs a HOST`);
  if (command === 'review' && values.namespace !== undefined) throw new UsageError('review checks all namespaces');
  const seconds = Number(values.timeout);
  if (!(seconds > 0)) throw new UsageError('--timeout must be a number of seconds');
  const formats: readonly string[] = command === 'records' ? FORMATS : ['json'];
  if (values.output !== undefined && !formats.includes(values.output)) {
    throw new UsageError(`--output must be ${formats.join(', ')}`);
  }
  const {namespace, 'all-namespaces': isEverywhere, output, kubeconfig} = values;
  return {command, name, rest, namespace, isEverywhere, output, kubeconfig, timeoutMs: seconds * 1000};
}

async function run(invocation: Invocation): Promise<number> {
  const {command, name, rest, kubeconfig, output} = invocation;
  if (command === 'completion') {
    process.stdout.write(COMPLETION);
    return COMMAND_EXIT.done;
  }
  if (command === 'review') return await start('review', [...selectionOf(invocation), ...rest]);
  const client = createToolClient(USER_AGENT, kubeconfig);
  const context = contextFor(invocation, client);
  try {
    if (command === 'status') return await status(context, name);
    if (command === 'records') return await records(context, name, (output ?? 'table') as Format);
    const host = hostNamed(name ?? '');
    if (command === 'why') return await why(context, host);
    if (command === 'verify') return await verify(context, host);
    return await check(context, host, rest);
  } catch (error) {
    if (!isTimeout(error)) throw error;
    const seconds = invocation.timeoutMs / 1000;
    throw new Error(`the API server has not answered within ${seconds} s. Check the connection, or raise --timeout.`);
  } finally {
    await client.close();
  }
}

/** As in the Domain's name. A host in another script gets its A-labels from parseHost, for the Project to list. */
function hostNamed(text: string): string {
  const parsed = parseHost(text);
  if (!parsed.ok && /[^\x20-\x7e]/.test(text)) throw new UsageError(parsed.problem);
  return text.toLowerCase().replace(/\.$/, '');
}

/** Whether an error comes from a passed deadline. */
function isTimeout(error: unknown): boolean {
  return error instanceof Error && error.name === 'TimeoutError';
}

type Selection = Pick<Invocation, 'namespace' | 'isEverywhere' | 'kubeconfig' | 'output' | 'timeoutMs'>;

function contextFor(
  {namespace, isEverywhere, kubeconfig, output, timeoutMs}: Selection,
  client: CommandContext['client'],
): CommandContext {
  const here = () => namespace ?? loadClusterAccess(kubeconfig).namespace ?? 'default';
  return {
    client,
    namespace: isEverywhere ? undefined : here(),
    style: colored,
    isJson: output === 'json',
    signal: AbortSignal.timeout(timeoutMs),
    print: text => process.stdout.write(text),
    tell: text => process.stderr.write(text),
  };
}

/**
 * Runs the check with the values from the Domain, so that nobody needs to copy them. The Domain does not name the
 * platform's CA, so what blocks the host at CAA is what the operator has reported.
 */
async function check(context: CommandContext, host: string, rest: readonly string[]): Promise<number> {
  const domain = await findDomain(context, host);
  const found = recordsOf([domain]);
  const target = found.find(({type}) => type !== 'TXT')?.value;
  const txt = found.find(({type}) => type === 'TXT')?.value;
  const challenge = found.find(({name}) => name.startsWith('_acme-challenge.'))?.value;
  const caa = findCondition(domain.status?.conditions, 'CAAAllowed');
  const known = [
    ...(target ? [`--target=${target}`] : []),
    ...(txt ? [`--txt=${txt}`] : []),
    ...(challenge ? [`--challenge=${challenge}`] : []),
    ...(caa?.status === 'False' ? [`--reported-caa=${caa.message}`] : []),
  ];
  return await start('check', [host, ...known, ...(context.isJson ? ['--json'] : []), ...rest]);
}

/** As options of nameplate-review. */
function selectionOf({kubeconfig, output}: Invocation): string[] {
  return [...(kubeconfig !== undefined ? ['--kubeconfig', kubeconfig] : []), ...(output === 'json' ? ['--json'] : [])];
}

/** The other programs are installed next to this one. */
async function start(program: string, args: readonly string[]): Promise<number> {
  const file = join(import.meta.dirname, `${program}${extname(import.meta.filename)}`);
  const [code] = await once(spawn(process.execPath, [file, ...args], {stdio: 'inherit'}), 'exit');
  return code ?? COMMAND_EXIT.failed;
}

/** The options that select the cluster and the namespace may precede the word to complete. */
async function completeIn(words: readonly string[]): Promise<number> {
  const {values} = parseArgs({args: words.slice(0, -1), options: OPTIONS, allowPositionals: true, strict: false});
  const {namespace, kubeconfig, 'all-namespaces': isEverywhere} = values;
  const named = (value: typeof namespace) => (typeof value === 'string' ? value : undefined);
  const client = createToolClient(USER_AGENT, named(kubeconfig));
  const context = contextFor(
    {
      namespace: named(namespace),
      isEverywhere: isEverywhere === true,
      kubeconfig: named(kubeconfig),
      output: undefined,
      timeoutMs: 2000,
    },
    client,
  );
  try {
    process.stdout.write(await complete(words, namesIn(context)));
  } finally {
    await client.close();
  }
  return COMMAND_EXIT.done;
}

const [first, ...others] = process.argv.slice(2);
const tool = {name: NAME, usage: USAGE, parse: parseInvocation, run};
process.exitCode = first === '__complete' ? await completeIn(others) : await runTool(tool, process.argv.slice(2));
