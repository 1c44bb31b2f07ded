/** Orders, Challenges, and their solvers, as cert-manager creates them. */
import {EDGE, type Manifest, manifest} from './manifests.ts';

/** The one server that the platform lists for Issuers of tenants. */
export const LISTED_SERVER = 'https://ca.example/directory';
/** Another approver decides on requests to issuers of this group. */
export const OTHER_GROUP = 'issuers.example.net';
/** Helm's flags that list both. */
export const LISTED = [
  ...['--set', `config.certificates.tenantIssuers.servers[0].url=${LISTED_SERVER}`],
  ...['--set', `admission.issuance.otherIssuerGroups[0]=${OTHER_GROUP}`],
];
export const HELD = 'shop.example.com';
/** Below the domain of the platform's default hosts. */
export const DEFAULT_HOST = 'shop.apps.example.net';

/** The label of objects that solve a challenge. */
export const SOLVER = {'acme.cert-manager.io/http01-solver': 'true'};

/** The label of a Secret with the key for a Certificate that is being issued. */
export const NEXT_KEY = {'cert-manager.io/next-private-key': 'true'};

export const BY_DNS = {type: 'DNS-01', solver: {dns01: {rfc2136: {nameserver: '192.0.2.53'}}}};
const BY_HTTP = {type: 'HTTP-01', solver: {http01: {ingress: {}}}};
const PLATFORM = {name: 'any', kind: 'ClusterIssuer'};

export function challenge(name: string, dnsName: string, more: object = {}): Manifest {
  const url = `${LISTED_SERVER}/1`;
  const spec = {url, authorizationURL: url, dnsName, issuerRef: PLATFORM, key: 'a', token: 'a', ...BY_HTTP, ...more};
  return manifest('Challenge', name, {spec});
}

export function order(name: string, dnsNames: readonly string[], more: object = {}): Manifest {
  return manifest('Order', name, {spec: {request: 'AA==', issuerRef: PLATFORM, dnsNames, ...more}});
}

export function solverIngress(name: string, rules: readonly object[]): Manifest {
  const backend = {service: {name, port: {number: 8089}}};
  const http = {paths: [{path: '/.well-known/acme-challenge/a', pathType: 'Exact', backend}]};
  return manifest(
    'Ingress',
    name,
    {spec: {ingressClassName: EDGE, rules: rules.map(rule => ({...rule, http}))}},
    {labels: SOLVER},
  );
}
