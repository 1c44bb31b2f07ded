/** An apex, removal, and the cost of it all. */
import type {Cluster} from '../cluster/cluster.ts';
import {failuresOf, type Observation} from '../support/http.ts';
import {
  apply,
  dns,
  message,
  requiredRecords,
  untilNotServed,
  untilServed,
  waitForCondition,
  waitForReason,
} from './commands.ts';
import {domainManifest, shop} from './manifests.ts';
import type {Terminal} from './terminal.ts';

const APEX = 'example.net';

export async function apex(terminal: Terminal, {info}: Cluster): Promise<void> {
  terminal.heading('An apex, which cannot have a CNAME');
  await terminal.type(apply(domainManifest('globex', APEX, 'campaign')), {shows: 'added'});
  terminal.say('The provider turns an ALIAS record into addresses; they show where a host points, not who owns it.');
  await terminal.type(dns('set', APEX, 'A', info.ingress.address), {shows: 'the ALIAS record, as the world sees it'});
  await terminal.type(waitForReason('globex', APEX, 'ProofMissing'), {shows: 'ProofMissing'});
  await terminal.type(message('globex', APEX), {
    shows: 'the TXT record is required',
    matching: [/_nameplate\.example\.net/],
  });
  const {text} = await terminal.type(requiredRecords('globex', APEX), {
    shows: 'both records',
    matching: [/^ALIAS {2}@ {2}/, /^TXT {2}_nameplate {2}nameplate-proof=\S+ /m],
  });
  const token = /nameplate-proof=\S+/.exec(text)?.[0] ?? '';
  await terminal.type(dns('set', `_nameplate.${APEX}`, 'TXT', token), {shows: 'the proof'});
  await terminal.type(waitForCondition('globex', APEX, 'Ready'), {shows: 'live'});
  await terminal.type(untilServed(`https://${APEX}/`), {shows: 'served', matching: [/pod=campaign-/]});
}

/** Returns the seconds from the command to the first request that was not served. */
export async function removal(terminal: Terminal): Promise<number> {
  terminal.heading('Removal');
  const start = terminal.seconds;
  await terminal.type(`kubectl -n globex delete domain ${APEX}`, {shows: 'deleted'});
  await terminal.type(untilNotServed(APEX), {shows: 'no longer served'});
  const seconds = terminal.seconds - start;
  terminal.say(`${seconds.toFixed(1)} s from the command to the first request that was not served.`);
  await terminal.type(`kubectl wait domainclaim/${APEX} --for=jsonpath='{.spec.releasedAt}' --timeout=30s`, {
    shows: 'the claim is released',
  });
  const retained = "jsonpath='{.metadata.annotations.nameplate\\.dev/retained-since}'";
  await terminal.type(`kubectl -n globex wait secret -l nameplate.dev/host=${APEX} --for=${retained} --timeout=30s`, {
    shows: 'the certificate is kept for 7 days: adding the host again needs no new one',
  });
  return seconds;
}

export async function removalFromProject(terminal: Terminal): Promise<void> {
  terminal.heading('Removal through the project');
  await terminal.type(apply(shop('primary: shop.example.com')), {shows: 'www is removed from the project'});
  await terminal.type(untilNotServed('www.shop.example.com'), {shows: 'no longer redirected'});
  await terminal.type('curl -sS https://shop.example.com/', {
    shows: 'the host that it redirected to is served as before',
    matching: [/pod=shop-/],
  });
}

export function neighbour(terminal: Terminal, observation: Observation): void {
  terminal.heading('Meanwhile, the neighbor');
  const {visits} = observation;
  const failures = failuresOf(observation);
  const found = failures.length === 0 ? `${visits.length} of ${visits.length}` : failures.slice(0, 5).join('; ');
  terminal.check(
    'every request for https://blog.example.com/ was answered',
    failures.length === 0 && visits.length > 0,
    found,
  );
}

export async function description(terminal: Terminal): Promise<void> {
  terminal.heading('What a person reads');
  await terminal.type('kubectl -n acme describe domain shop.example.com', {
    shows: 'all of it in one place',
    matching: [/State: +Live/],
    lines: 120,
  });
  await terminal.type('kubectl get domains --all-namespaces', {
    shows: 'all domains',
    matching: [/blog\.example\.com +Live/],
  });
}
