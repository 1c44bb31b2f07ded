/** A domain from added to live, with the mistakes that people make on the way; then redirects. */
import {
  apply,
  cnameTarget,
  dns,
  message,
  requiredRecords,
  untilServed,
  waitForCondition,
  waitForReason,
} from './commands.ts';
import {shop} from './manifests.ts';
import type {Terminal} from './terminal.ts';

const HOST = 'shop.example.com';

/** From added to live. */
export async function firstDomain(terminal: Terminal): Promise<Lifetimes> {
  const target = await showRecord(terminal);
  await wrongValue(terminal, target);
  await addressInTheWay(terminal);
  const lifetimes = await recordRight(terminal, target);
  await https(terminal);
  return lifetimes;
}

/** Returns the account's CNAME target. */
async function showRecord(terminal: Terminal): Promise<string> {
  terminal.heading('A domain is added: the record to create');
  await terminal.type(waitForReason('acme', HOST, 'RecordMissing'), {shows: 'RecordMissing'});
  await terminal.type(`kubectl -n acme get domain ${HOST} -o wide`, {
    shows: 'state, reason and message at a glance',
    matching: [/Unverified +False +shop +.*RecordMissing/],
  });
  const {text} = await terminal.type(requiredRecords('acme', HOST), {
    shows: 'type, label, value and TTL, ready for the form of a DNS provider',
    matching: [/^CNAME {2}shop {2}\S+ {2}TTL 3600$/],
  });
  return cnameTarget(text);
}

async function wrongValue(terminal: Terminal, target: string): Promise<void> {
  terminal.heading('A wrong value');
  await terminal.type(dns('set', HOST, 'CNAME', 'shops.hosting.example.net'), {
    shows: 'the tenant enters a wrong value',
  });
  await terminal.type(waitForReason('acme', HOST, 'RecordMismatch'), {shows: 'RecordMismatch'});
  await terminal.type(message('acme', HOST), {
    shows: 'what was found and what is required',
    matching: [/shops\.hosting\.example\.net/, new RegExp(target)],
  });
}

async function addressInTheWay(terminal: Terminal): Promise<void> {
  terminal.heading('An A record in the way');
  await terminal.type([dns('remove', HOST, 'CNAME'), dns('set', HOST, 'A', '198.51.100.7')], {
    shows: 'an A record from earlier hosting is where the CNAME must go',
  });
  await terminal.type(waitForReason('acme', HOST, 'ConflictingRecord'), {shows: 'ConflictingRecord'});
  await terminal.type(message('acme', HOST), {
    shows: 'the record to delete is named',
    matching: [/198\.51\.100\.7/],
  });
}

export interface Lifetimes {
  readonly verified: number;
  readonly certified: number;
  readonly live: number;
  /** Until the first request was answered over HTTPS. */
  readonly answered: number;
}

/** Returns seconds since the record became correct. */
async function recordRight(terminal: Terminal, target: string): Promise<Lifetimes> {
  terminal.heading('The record is correct: verified, certified, live');
  await terminal.type([dns('remove', HOST, 'A'), dns('set', HOST, 'CNAME', target)], {
    shows: 'the record as shown',
  });
  const start = terminal.seconds;
  const seconds = async (condition: string, shows: string) => {
    await terminal.type(waitForCondition('acme', HOST, condition), {shows});
    return terminal.seconds - start;
  };
  const verified = await seconds('DNSVerified', 'verified by the zone’s own name servers');
  const certified = await seconds('CertificateReady', 'a certificate from the ACME CA, by HTTP-01');
  const live = await seconds('Ready', 'live');
  await terminal.type(untilServed(`https://${HOST}/`), {shows: 'answered over HTTPS', matching: [/pod=shop-/]});
  const answered = terminal.seconds - start;
  await terminal.type('kubectl -n acme get domains', {
    shows: 'Live',
    matching: [/shop\.example\.com +shop\.example\.com +Live +True +shop +2\d\d\d-/],
  });
  return {verified, certified, live, answered};
}

async function https(terminal: Terminal): Promise<void> {
  terminal.heading('HTTPS, verified up to the CA’s root');
  await terminal.type(`curl -sSv https://${HOST}/hello 2>&1 | grep -E 'issuer|subjectAltName|verify|HTTP/|^host='`, {
    shows: 'the chain verifies, the project answers',
    matching: [/issuer:.*Pebble/, /SSL certificate verify ok/, /path=\/hello pod=shop-/],
  });
  await terminal.type(`curl -sSL -w 'redirects: %{num_redirects}\\n' 'http://${HOST}/cart?item=7'`, {
    shows: 'http redirects to https once; path and query survive',
    matching: [/path=\/cart\?item=7 /, /redirects: 1$/m],
  });
}

/** Leaves www.shop.example.com redirecting and promo.example.com serving. */
export async function redirects(terminal: Terminal, target: string): Promise<void> {
  terminal.heading('A redirect, and a second host');
  const domains = [
    `primary: ${HOST}`,
    'aliases: [promo.example.com]',
    'redirects:',
    `- {from: www.${HOST}, to: ${HOST}, status: 301}`,
  ];
  await terminal.type(apply(shop(...domains)), {shows: 'the project lists two more hosts'});
  await terminal.type([dns('set', `www.${HOST}`, 'CNAME', target), dns('set', 'promo.example.com', 'CNAME', target)], {
    shows: 'the same value for every host of the account',
  });
  await terminal.type('kubectl -n acme wait project/shop --for=condition=DomainsReady --timeout=120s', {
    shows: 'all hosts of the project are live',
  });
  for (const scheme of ['https', 'http']) {
    const url = `'${scheme}://www.${HOST}/cart?item=7'`;
    await terminal.type(
      `until curl -sSf -o /dev/null -D - ${url} 2>/dev/null | grep -iE '^(HTTP|location)'; do :; done`,
      {
        shows: `one 301 from ${scheme}, path and query kept`,
        matching: [/^HTTP\/\S+ 301/, /^location: https:\/\/shop\.example\.com\/cart\?item=7\r?$/im],
      },
    );
  }
}

/** Leaves the project as `redirects` left it. */
export async function redirectCodes(terminal: Terminal, target: string): Promise<void> {
  terminal.heading('Every status of a redirect, for every method');
  const statuses = [301, 302, 303, 307, 308];
  const hosts = statuses.map(status => `from-${status}.example.com`);
  const domains = [
    `primary: ${HOST}`,
    'aliases: [promo.example.com]',
    'redirects:',
    `- {from: www.${HOST}, to: ${HOST}}`,
  ];
  const lines = statuses.map((status, at) => `- {from: ${hosts[at]}, status: ${status}}`);
  await terminal.type(apply(shop(...domains, ...lines)), {shows: 'a redirect with each status'});
  await terminal.type(
    hosts.map(host => dns('set', host, 'CNAME', target)),
    {shows: 'their records'},
  );
  await terminal.type('kubectl -n acme wait project/shop --for=condition=DomainsReady --timeout=120s', {
    shows: 'all of them are live',
  });
  for (const host of hosts) {
    const url = `https://${host}/`;
    await terminal.type(`until curl -sS -o /dev/null ${url} 2>/dev/null; do :; done`, {shows: `${host} answers`});
  }
  const each = (format: string, after = '') =>
    [
      `for status in ${statuses.join(' ')}; do`,
      '  for scheme in http https; do for method in -XGET -I -XPOST -XOPTIONS; do',
      `    curl -sS -o /dev/null $method -w '${format}' "$scheme://from-$status.example.com/cart?item=7"`,
      `  done; done${after}`,
      'done',
    ].join('\n');
  await terminal.type(each('%{http_code} ', '; echo'), {
    shows: 'GET, HEAD, POST, OPTIONS over http, then over https: exactly the status',
    matching: statuses.map(status => new RegExp(`^(${status} ?){8}$`, 'm')),
  });
  await terminal.type(`${each('%{redirect_url}\\n')} | sort | uniq -c`, {
    shows: 'each in one hop, path and query kept',
    matching: [/^40 https:\/\/shop\.example\.com\/cart\?item=7$/],
  });
}
