import {Registry} from 'prom-client';
import {expect, test} from 'vitest';
import {operatorConfig} from '../../../test/support/operator-config.ts';
import {Store} from '../../runtime/cache/store.ts';
import {type KubeObject, keyOf} from '../../runtime/kube/object.ts';
import {judgedIssuer, slimCertificate, slimClusterIssuer, slimOtherCertificate} from '../caches/slim.ts';
import {routeName} from '../kinds/derived-names.ts';
import type {Certificate, Issuer, IssuerSpec} from '../kinds/kinds.ts';
import {watchRefusedRenewals} from './refused-renewals.ts';

const config = operatorConfig();
const NOW = '2026-12-01T00:00:00Z';
const HOST = 'shop.example.com';
const OURS = 'shop.apps.example.net';
const dns = (...dnsZones: string[]) => ({dns01: {}, ...(dnsZones.length > 0 && {selector: {dnsZones}})});
const acme = (...solvers: object[]): IssuerSpec => ({acme: {solvers}});

function storeOf<T extends KubeObject>(objects: readonly T[]): Store<T> {
  const onHandlerError = (error: unknown) => {
    throw error;
  };
  const store = new Store<T>({onHandlerError});
  store.replace(new Map(objects.map(object => [keyOf(object), object])), '1');
  return store;
}

/** `kind/name` or, in the namespace `shop`, `name`. */
type Issuers = Readonly<Record<string, IssuerSpec>>;
const ISSUERS: Issuers = {own: acme({http01: {}}), 'ClusterIssuer/letsencrypt': acme({http01: {}})};

function certificate(name: string, spec: Partial<Certificate['spec']>, notAfter?: string, namespace = 'shop') {
  return {
    ...{apiVersion: 'cert-manager.io/v1', kind: 'Certificate', metadata: {name, namespace}},
    spec: {secretName: 'any', dnsNames: [HOST], issuerRef: {name: 'own'}, ...spec},
    ...(notAfter !== undefined && {status: {notAfter}}),
  };
}

async function reported(issuers: Issuers, certificates: readonly Certificate[], notEnforced: readonly string[] = []) {
  const registry = new Registry();
  const all = Object.entries(issuers).map(([path, spec]): Issuer => {
    const [name = '', kind = 'Issuer'] = path.split('/').reverse();
    return {apiVersion: 'any/v1', kind, metadata: {name, ...(kind === 'Issuer' && {namespace: 'shop'})}, spec};
  });
  const isOurs = ({metadata}: Certificate) => metadata.name.startsWith('np-');
  const warning = watchRefusedRenewals({
    config: {...config, admission: {notEnforced}},
    clock: {now: () => Date.parse(NOW)},
    registry,
    stores: {
      certificates: storeOf(certificates.filter(isOurs).map(slimCertificate)),
      otherCertificates: storeOf(certificates.filter(each => !isOurs(each)).map(slimOtherCertificate)),
      issuers: storeOf(all.filter(({kind}) => kind === 'Issuer').map(each => judgedIssuer(each, config))),
      clusterIssuers: storeOf(
        all.filter(({kind}) => kind === 'ClusterIssuer').map(each => slimClusterIssuer(each, config)),
      ),
    },
  });
  const {values} = (await registry.getSingleMetric('nameplate_certificates_not_renewable')?.get()) ?? {values: []};
  return {count: values[0]?.value, warning: warning()};
}

const byDns = {'ClusterIssuer/dns': acme(dns())};
const fromDns = {issuerRef: {name: 'dns', kind: 'ClusterIssuer'}};
const letsencrypt = {name: 'letsencrypt', kind: 'ClusterIssuer', group: 'cert-manager.io'};

test.each<{what: string; spec: Partial<Certificate['spec']>; issuers?: Issuers; name?: string}>([
  {what: "of the tenant's Issuer", spec: {}},
  {what: "of the tenant's Issuer, below the base domain", spec: {dnsNames: [OURS]}, issuers: {own: acme(dns())}},
  {what: 'of a ClusterIssuer', spec: {issuerRef: letsencrypt}},
  {what: 'of a ClusterIssuer, below the base domain through HTTP-01', spec: {issuerRef: letsencrypt, dnsNames: [OURS]}},
  {what: "of the operator's own", spec: {issuerRef: letsencrypt}, name: routeName('shop', HOST)},
  {what: 'of a ClusterIssuer that solves DNS-01 for another host', spec: fromDns, issuers: byDns},
  {what: 'with another host', spec: {...fromDns, dnsNames: [OURS, HOST]}, issuers: byDns},
  {what: 'with another common name', spec: {...fromDns, commonName: HOST, dnsNames: [OURS]}, issuers: byDns},
  {what: 'with an address', spec: {...fromDns, dnsNames: [OURS], ipAddresses: ['192.0.2.1']}, issuers: byDns},
  {what: 'with the base domain itself', spec: {...fromDns, dnsNames: ['apps.example.net']}, issuers: byDns},
  {
    what: 'of a ClusterIssuer that solves DNS-01 in other zones',
    spec: {...fromDns, dnsNames: [OURS]},
    issuers: {'ClusterIssuer/dns': acme(dns('example.com', 's.example.net'), {http01: {}})},
  },
])('a certificate $what is reported', async ({spec, issuers = ISSUERS, name = 'mine'}) => {
  const {count, warning} = await reported(issuers, [certificate(name, spec)]);
  expect(count).toBe(1);
  expect(warning).toContain('cannot renew 1 certificate in');
});

test.each<{what: string; spec: Partial<Certificate['spec']>; issuers?: Issuers; namespace?: string}>([
  {what: 'in an exempt namespace', spec: {issuerRef: letsencrypt}, namespace: 'kube-system'},
  {what: 'of an Issuer with a CA', spec: {}, issuers: {own: {ca: {}}}},
  {what: 'of an Issuer that does not exist', spec: {issuerRef: {name: 'gone'}}},
  {what: 'of an ACMEIssuer', spec: {issuerRef: {...letsencrypt, kind: 'ACMEIssuer', group: 'nameplate.dev'}}},
  {what: "of another group's issuer", spec: {issuerRef: {...letsencrypt, group: 'any.example'}}},
  {what: 'through DNS-01 below the base domain', spec: {...fromDns, dnsNames: [`*.${OURS}`, OURS]}, issuers: byDns},
  ...['apps.example.net', 'example.net'].map(zone => ({
    what: `through DNS-01 in ${zone}`,
    spec: {...fromDns, dnsNames: [OURS]},
    issuers: {'ClusterIssuer/dns': acme({http01: {}}, dns(zone))},
  })),
])('a certificate $what is not reported', async ({spec, issuers = ISSUERS, namespace}) => {
  expect(await reported(issuers, [certificate('mine', spec, NOW, namespace)])).toEqual({count: 0, warning: undefined});
});

test('the next to expire is named, and one line says enough about any number', async () => {
  const names = Array.from({length: 1000}, (_, day) => `c${day}`);
  const expiry = (day: number) => new Date(Date.parse(NOW) + (day - 10) * 86_400_000).toISOString();
  const all = [certificate('new', {}), ...names.map((name, day) => certificate(name, {}, expiry(day)))];
  const {count, warning = ''} = await reported(ISSUERS, all);
  expect(count).toBe(1001);
  expect(warning).toContain('cannot renew 1001 certificates');
  expect(warning).toContain(`the next to expire is shop/c11, at ${expiry(11)}.`);
  expect(warning).toContain('run: kubectl nameplate review');
  expect(warning.length).toBeLessThan(500);
});

test('while the policies are not enforced, it says what will happen', async () => {
  const {warning} = await reported(ISSUERS, [certificate('mine', {})], ['issuance']);
  expect(warning).toMatch(/^Once admission.issuance is enforced, cert-manager cannot renew 1 certificate /);
});
