/** Which requests for a wildcard, and below one, are approved. */
import {expect, test} from 'vitest';
import {signingRequest} from '../../../test/integration/approval/signing-request.ts';
import {operatorConfig} from '../../../test/support/operator-config.ts';
import {LABEL} from '../../api/names.ts';
import type {Certificate, CertificateRequest, DomainClaim} from '../kinds/kinds.ts';
import {decide} from './decide.ts';

const config = operatorConfig();
const {certManagerUser, issuerRef} = config.certificates;
const [WILDCARD, HOST, BOTH] = await Promise.all(
  [['*.example.com'], ['shop.example.com'], ['*.example.com', 'example.com']].map(names =>
    signingRequest({names: names.map(name => `DNS:${name}`)}),
  ),
);

/** What is decided about a request of our own Certificate in a namespace of account `a`. */
function decided(request: string | undefined, holders: Readonly<Record<string, string>>): string {
  const namespace = {apiVersion: 'v1', kind: 'Namespace', metadata: {name: 'a', labels: {[LABEL.account]: 'a'}}};
  const claimOf = (name: string): DomainClaim | undefined => {
    const account = holders[name];
    if (account === undefined) return undefined;
    const spec = {account, namespace: account, since: ''};
    return {apiVersion: 'nameplate.dev/v1alpha1', kind: 'DomainClaim', metadata: {name}, spec};
  };
  const certificate = {metadata: {name: 'np', uid: 'ours'}} as Certificate;
  const stores = {
    namespaces: {get: () => namespace},
    claims: {get: claimOf},
    certificates: {get: () => certificate},
    issuers: {get: () => undefined},
    projects: {byIndex: () => []},
  };
  const owner = {apiVersion: 'cert-manager.io/v1', kind: 'Certificate', name: 'np', uid: 'ours', controller: true};
  const {type, reason} = decide({config, places: {projects: {has: () => true}}, stores}, {
    ...{apiVersion: 'cert-manager.io/v1', kind: 'CertificateRequest'},
    metadata: {name: 'np-1', namespace: 'a', ownerReferences: [owner]},
    spec: {request, username: certManagerUser, issuerRef},
  } as CertificateRequest);
  return `${type}: ${reason}`;
}

test('a wildcard is approved for its holder', () => {
  expect(decided(WILDCARD, {'wc--any.example.com': 'a'})).toBe('Approved: HostHeld');
});

// attack: wildcard-over-host
test.each([
  {what: 'a wildcard, for the holder of the name below which it is', request: WILDCARD, holders: {'example.com': 'a'}},
  {what: 'a wildcard, for the holder of a host below', request: WILDCARD, holders: {'shop.example.com': 'a'}},
  {what: 'a wildcard that another account holds', request: WILDCARD, holders: {'wc--any.example.com': 'b'}},
  {what: 'a host, for the holder of the wildcard above', request: HOST, holders: {'wc--any.example.com': 'a'}},
])('not approved: $what', ({request, holders}) => {
  expect(decided(request, holders)).toBe('Denied: HostNotHeld');
});

test('not approved: a wildcard together with its apex', () => {
  const holders = {'wc--any.example.com': 'a', 'example.com': 'a'};
  expect(decided(BOTH, holders)).toBe('Denied: NotOneHost');
});
