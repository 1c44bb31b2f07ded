#!/usr/bin/env node
/** `nameplate check`: the operator's own DNS verdict about a host, as seen from where the command runs. */
import {parseArgs} from 'node:util';
import {pino} from 'pino';
import {Registry} from 'prom-client';
import {withoutWildcard} from '../api/host-names.ts';
import {
  createDns,
  type Dns,
  type DnsConfig,
  defaultDnsConfig,
  isWildcard,
  type ProofQuestion,
  parseHost,
  type Verdict,
} from '../dns/dns.ts';
import {systemClock} from '../time/clock.ts';
import {runTool} from './command-line.ts';

const USAGE = `Usage: nameplate check HOST --target TARGET [options]

Queries the name servers of HOST, checks whether it is set up for TARGET, and says what to change.

  --target TARGET     the target that HOST must point to (kubectl describe domain HOST shows it)
  --txt VALUE         the value of the TXT record _nameplate.HOST, for a host that has only addresses
  --challenge NAME    the name to which _acme-challenge.HOST must be delegated; the proof of a wildcard
  --issuer CA         the CA as named in CAA records, such as letsencrypt.org; may be repeated
  --mode MODE         auto (default), authoritative, or recursive
  --resolver ADDRESS  a recursive resolver, as IP or IP:PORT; may be repeated
  --root ADDRESS      a root server to start from instead of the real ones; may be repeated
  --allow CIDR        addresses that may be queried in addition to public ones; may be repeated
  --reported-caa TEXT why the operator waits at CAA; sets the exit code to 1, and has no effect with --issuer
  --json              print the verdict as JSON
  --help              print this help

Exit codes: 0 correct, 1 something to change, 2 wrong usage, 3 unknown for now (propagating, servers unreachable).
`;

const EXIT = {right: 0, wrong: 1, unclear: 3} as const;

interface Command {
  readonly question: ProofQuestion;
  /**
   * The problem that the operator found. Without --issuer, this program cannot check it, because it does not know the
   * CA.
   */
  readonly reportedCaa: string | undefined;
  readonly dns: Dns;
  readonly json: boolean;
}

function parseCommand(argv: readonly string[]): Command | 'help' {
  const many = {type: 'string', multiple: true, default: [] as string[]} as const;
  const {values, positionals} = parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: {
      target: {type: 'string'},
      txt: {type: 'string'},
      challenge: {type: 'string'},
      'reported-caa': {type: 'string'},
      mode: {type: 'string', default: 'auto'},
      issuer: many,
      resolver: many,
      root: many,
      allow: many,
      json: {type: 'boolean', default: false},
      help: {type: 'boolean', default: false},
    },
  });
  if (values.help) return 'help';
  const [text, ...rest] = positionals;
  if (text === undefined || rest.length > 0) throw new Error('give exactly one HOST');
  const {mode} = values;
  if (mode !== 'auto' && mode !== 'authoritative' && mode !== 'recursive') {
    throw new Error('--mode must be auto, authoritative, or recursive');
  }
  const {rootServers: _, ...defaults} = defaultDnsConfig;
  const config: DnsConfig = {
    ...defaults,
    mode,
    recursives: values.resolver,
    allowAddresses: values.allow,
    ...(values.root.length > 0 && {rootServers: values.root}),
  };
  const dns = createDns(config, {logger: pino({level: 'silent'}), registry: new Registry(), clock: systemClock});
  const {json, 'reported-caa': reportedCaa} = values;
  const question = questionOf(text, values);
  return {question, reportedCaa: values.issuer.length > 0 ? undefined : reportedCaa, dns, json};
}

interface QuestionOptions {
  readonly target?: string | undefined;
  readonly txt?: string | undefined;
  readonly challenge?: string | undefined;
  readonly issuer: readonly string[];
}

function questionOf(text: string, {target, txt, challenge, issuer}: QuestionOptions): ProofQuestion {
  const parsed = parseHost(text);
  if (!parsed.ok) throw new Error(parsed.problem);
  const {host} = parsed;
  if (target === undefined) throw new Error('--target is required');
  if (isWildcard(host) && challenge === undefined) throw new Error('--challenge is required for a wildcard');
  return {
    host,
    target: nameOf('--target', target),
    txtName: `_nameplate.${host}`,
    txtValue: txt ?? '',
    apexProof: txt === undefined ? 'address' : 'txt',
    ...(challenge !== undefined && {
      challenge: {name: `_acme-challenge.${withoutWildcard(host)}`, target: nameOf('--challenge', challenge)},
    }),
    caaIdentities: issuer,
  };
}

function nameOf(option: string, text: string): string {
  const parsed = parseHost(text);
  if (!parsed.ok) throw new Error(`${option}: ${parsed.problem}`);
  if (isWildcard(parsed.host)) throw new Error(`${option}: a wildcard is no name of a host`);
  return parsed.host;
}

function exitCode({reason, verified, caa}: Verdict, reportedCaa: string | undefined): number {
  if (reportedCaa !== undefined) return EXIT.wrong;
  if (['Propagating', 'NameServersUnreachable', 'Checking'].includes(reason)) return EXIT.unclear;
  if (!verified || caa.outcome === 'forbidden') return EXIT.wrong;
  return caa.outcome === 'lookup-failed' ? EXIT.unclear : EXIT.right;
}

function printed({question: {host}, reportedCaa}: Command, verdict: Verdict): string {
  const rows = verdict.observed.map(({type, name, value, ttl, server}) =>
    `  ${server}: ${name}. ${ttl ?? ''} ${type} ${value}`.replace(/ {2,}(?=[A-Z])/, ' '),
  );
  return [
    `${host}: ${verdict.reason}`,
    verdict.message,
    ...(rows.length > 0 ? ['', 'Observed:', ...rows] : []),
    ...(verdict.caa.outcome === 'unchecked' ? [] : ['', `CAA: ${verdict.caa.outcome}. ${verdict.caa.message}`]),
    ...(reportedCaa === undefined
      ? []
      : ['', `CAA, as the operator last found it (kubectl nameplate verify ${host} checks again): ${reportedCaa}`]),
    '',
  ].join('\n');
}

async function run(command: Command): Promise<number> {
  const {question, reportedCaa, dns, json} = command;
  const {signs: _, ...verdict} = await dns.verify(question, new AbortController().signal);
  const shown = {host: question.host, ...verdict, ...(reportedCaa !== undefined && {reportedCaa})};
  process.stdout.write(json ? `${JSON.stringify(shown, null, 2)}\n` : printed(command, verdict));
  return exitCode(verdict, reportedCaa);
}

const tool = {name: 'nameplate check', usage: USAGE, parse: parseCommand, run};
process.exitCode = await runTool(tool, process.argv.slice(2));
