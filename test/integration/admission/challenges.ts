/** Challenges and their solvers, as cert-manager creates them. */
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

/** The label of objects that solve a challenge. */
export const SOLVER = {'acme.cert-manager.io/http01-solver': 'true'};

/** The label of a Secret with the key for a Certificate that is being issued. */
export const NEXT_KEY = {'cert-manager.io/next-private-key': 'true'};

/** The solver of the platform's issuer. */
export const BY_DNS = {type: 'DNS-01', solver: {dns01: {rfc2136: {nameserver: '192.0.2.53'}}}};

export function challenge(name: string, dnsName: string, more: object = {}): Manifest {
  const url = `${LISTED_SERVER}/1`;
  const issuerRef = {name: 'any', kind: 'ClusterIssuer'};
  const spec = {
    url,
    authorizationURL: url,
    dnsName,
    issuerRef,
    key: 'a',
    token: 'a',
    type: 'HTTP-01',
    solver: {},
    ...more,
  };
  return manifest('Challenge', name, {spec});
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

/** Without `hostnames`, it is the route of a Challenge for an IP address. */
export function solverRoute(name: string, hostnames?: readonly string[]): Manifest {
  const parentRefs = [{name: 'edge', namespace: 'gateway'}];
  return manifest('HTTPRoute', name, {spec: {parentRefs, hostnames}}, {labels: SOLVER});
}
