/** Every name below a domain with one certificate, which the CA validates over DNS. */
import {apply, dns, untilServed, waitForCondition, waitForDomain} from './commands.ts';
import {projectManifest} from './manifests.ts';
import type {Terminal} from './terminal.ts';

const WILDCARD = '*.wiki.example.com';
/** No object can be named `*`. */
const NAMED = 'wc--any.wiki.example.com';
const BESIDE = 'beside.example.com';

/** Seconds since the last record was right. */
export interface WildcardFigures {
  readonly wildcard: number;
  /** Of a host that the CA validated by HTTP-01 at the same time. */
  readonly beside: number;
}

export async function wildcard(terminal: Terminal, target: string): Promise<WildcardFigures> {
  terminal.heading('A wildcard: a certificate without credentials for the DNS of the tenant');
  await terminal.type(
    [
      'kubectl -n acme create deployment wiki --image=localhost/nameplate/web:test --port=8080',
      'kubectl -n acme expose deployment wiki --port=80 --target-port=8080',
      apply(projectManifest('acme', 'wiki', [`aliases: ['${WILDCARD}', ${BESIDE}]`])),
    ],
    {shows: 'a project lists a wildcard, and a host beside it'},
  );
  await terminal.type(waitForDomain('acme', NAMED), {shows: `the Domain of ${WILDCARD}`});
  await terminal.type(waitForCondition('acme', NAMED, 'Accepted'), {shows: 'accepted'});
  const record = '{.type} {.name} {.value}{"\\n"}';
  const {text} = await terminal.type(
    `kubectl -n acme get domain ${NAMED} -o jsonpath='{range .status.dns.required[*]}${record}{end}'`,
    {
      shows: 'the record for visitors, and the delegation of the challenge, which proves the account',
      matching: [/^CNAME \*\.wiki\.example\.com \S+/, /^CNAME _acme-challenge\.wiki\.example\.com \S+\.acme\./m],
    },
  );
  const delegated = /_acme-challenge\S+ (\S+)/.exec(text)?.[1] ?? '';
  await terminal.type(dns('set', `'${WILDCARD}'`, 'CNAME', target), {shows: 'the record for visitors'});
  terminal.say(`The last record of both hosts is created at the same time; ${BESIDE} is validated by HTTP-01.`);
  const challenge = `_acme-challenge.${WILDCARD.slice(2)}`;
  await terminal.type(
    [`${dns('set', challenge, 'CNAME', delegated)} &`, dns('set', BESIDE, 'CNAME', target), 'wait $!'],
    {shows: 'both have their records'},
  );
  const start = terminal.seconds;
  const untilLive = async (name: string, shows: string) => {
    await terminal.type(waitForCondition('acme', name, 'Ready'), {shows});
    return terminal.seconds - start;
  };
  const [seconds, beside] = await Promise.all([
    untilLive(NAMED, 'the wildcard is live'),
    untilLive(BESIDE, 'the host beside it is live'),
  ]);
  for (const label of ['de', 'en']) {
    await terminal.type(untilServed(`https://${label}.wiki.example.com/`), {
      shows: 'served, with a certificate that verifies',
      matching: [new RegExp(`host=${label}\\.wiki\\.example\\.com .*pod=wiki-`)],
    });
  }
  return {wildcard: seconds, beside};
}
