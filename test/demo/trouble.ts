/** What goes wrong later: CAA, a failed certificate, a host that two accounts want. */
import type {Edge} from '../cluster/programs.ts';
import {
  allowListeners,
  apply,
  cnameTarget,
  dns,
  message,
  untilServed,
  verifyNow,
  waitForCondition,
  waitForDomain,
  waitForReason,
} from './commands.ts';
import {domainManifest, projectManifest} from './manifests.ts';
import type {Terminal} from './terminal.ts';

const SECURE = 'secure.example.org';
const PROMO = 'promo.example.com';

export async function forbiddenByCaa(terminal: Terminal, target: string): Promise<void> {
  terminal.heading('A CAA record forbids the certificate');
  await terminal.type(
    [dns('set', 'example.org', 'CAA', `'0 issue "another-ca.example"'`), dns('set', SECURE, 'CNAME', target)],
    {shows: 'the zone allows only another CA'},
  );
  await terminal.type(apply(domainManifest('acme', SECURE, 'shop')), {
    shows: 'a standalone Domain, not listed in the project',
  });
  await terminal.type(waitForReason('acme', SECURE, 'Forbidden', 'CAAAllowed'), {
    shows: 'CAAAllowed is False: Forbidden',
  });
  await terminal.type(message('acme', SECURE, 'CAAAllowed'), {
    shows: 'which record forbids it, and what to add',
    matching: [/example\.org.*another-ca\.example/, /0 issue "pebble\.test"/],
  });
  await terminal.type('kubectl -n acme get certificates -l nameplate.dev/host=secure.example.org', {
    shows: 'no attempt was wasted on it',
    matching: [/No resources found/],
  });
}

export async function brokenCertificate(terminal: Terminal): Promise<void> {
  terminal.heading('The certificate fails, and re-verify brings it back');
  terminal.say('The CA’s own resolver still has an old answer without an address, so its attempt will fail.');
  await terminal.type(dns('set', SECURE, 'TXT', 'old', '--server', 'ca'), {shows: 'the CA sees something else'});
  await terminal.type([dns('remove', 'example.org', 'CAA'), verifyNow('acme', SECURE)], {
    shows: 'the CAA record is gone; verify now',
  });
  await terminal.type(waitForReason('acme', SECURE, 'Failed'), {shows: 'the CA refused'});
  await terminal.type(message('acme', SECURE), {
    shows: 'why it failed, when the next attempt is due, and how to start one now',
    matching: [/No certificate was issued/, /next attempt is at/, /verify-requested-at/],
  });
  await terminal.type([dns('remove', SECURE, '--server', 'ca'), verifyNow('acme', SECURE)], {
    shows: 'fixed; verify now',
  });
  await terminal.type(waitForCondition('acme', SECURE, 'Ready'), {
    shows: 'a new attempt now, not in an hour: live',
  });
  await terminal.type(untilServed(`https://${SECURE}/`), {
    shows: 'served',
    matching: [/host=secure\.example\.org .*pod=shop-/],
  });
}

/** Returns the CNAME target of the account that wants it. */
export async function heldHost(terminal: Terminal, edge: Edge): Promise<string> {
  terminal.heading('Another account wants a host that is taken');
  await terminal.type(
    [
      'kubectl create namespace globex',
      'kubectl label namespace globex nameplate.dev/account=globex nameplate.dev/plan=pro',
      ...allowListeners('globex', edge),
      'kubectl -n globex create deployment campaign --image=localhost/nameplate/web:test --port=8080',
      'kubectl -n globex expose deployment campaign --port=80 --target-port=8080',
    ],
    {shows: 'another tenant'},
  );
  await terminal.type(apply(projectManifest('globex', 'campaign', [`primary: ${PROMO}`])), {
    shows: `it wants ${PROMO}`,
  });
  await terminal.type([waitForDomain('globex', PROMO), waitForReason('globex', PROMO, 'HeldByAnotherAccount')], {
    shows: 'HeldByAnotherAccount',
  });
  const {text} = await terminal.type(message('globex', PROMO), {
    shows: 'which record would move it',
    matching: [/Another account holds promo\.example\.com.*CNAME \S+\.edge\.nameplate\.test/],
  });
  await terminal.type(`curl -sS https://${PROMO}/`, {
    shows: 'nothing changed for the holder',
    matching: [/pod=shop-/],
  });
  return cnameTarget(text);
}

export async function movedHost(terminal: Terminal, target: string, edge: Edge): Promise<void> {
  const routes = edge === 'gateway' ? 'listenersets,httproutes' : 'ingresses';
  terminal.heading('The record is changed: the host moves');
  await terminal.type(dns('set', PROMO, 'CNAME', target), {
    shows: 'the owner of the domain changes its record',
  });
  await terminal.type(waitForCondition('globex', PROMO, 'Ready'), {
    shows: 'the host has moved, with a new certificate',
  });
  await terminal.type(untilServed(`https://${PROMO}/`), {
    shows: 'served by the new holder',
    matching: [/pod=campaign-/],
  });
  await terminal.type(`kubectl -n acme get ${routes},certificates -l nameplate.dev/host=${PROMO}`, {
    shows: 'and by it alone',
    matching: [/No resources found/],
  });
  await terminal.type(message('acme', PROMO), {
    shows: 'the former holder is notified',
    matching: [/Another account holds/],
  });
}
