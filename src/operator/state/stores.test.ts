import {expect, test} from 'vitest';
import {ANNOTATION, LABEL} from '../../api/names.ts';
import {parseConfig} from '../../process/load-config.ts';
import {Store} from '../../runtime/cache/store.ts';
import type {CacheOptions, Manager} from '../../runtime/controller/manager.ts';
import type {KubeObject, ResourceType} from '../../runtime/kube/object.ts';
import {operatorConfigDefinition} from '../config-schema.ts';
import type {OperatorConfig} from '../model/config.ts';
import {createStores} from './stores.ts';

const config = parseConfig<OperatorConfig>(
  `
platform: {baseDomain: apps.example.net, targetDomain: edge.example.net, keyFile: /etc/nameplate/key/platform.key}
certificates: {issuerRef: {name: letsencrypt}}
`,
  'nameplate.yaml',
  operatorConfigDefinition,
);

interface Cache {
  readonly resource: ResourceType;
  readonly options: CacheOptions<KubeObject>;
}

/** The caches that the operator creates. */
function caches(): Cache[] {
  const asked: Cache[] = [];
  const cache = (resource: ResourceType, options: CacheOptions<KubeObject> = {}) => {
    asked.push({resource, options});
    return new Store({onHandlerError: () => undefined});
  };
  createStores({cache} as unknown as Manager, config, {defaultHost: () => 'shop.apps.example.net'}, []);
  return asked;
}

/** As large as the API server allows. */
const LARGE = 'x'.repeat(256 * 1024);

function hoarding({group, version, kind}: ResourceType): KubeObject {
  const spec = {
    host: 'a.test',
    projectRef: {name: 'shop'},
    service: {name: 'shop'},
    issuerRef: {name: 'ca'},
    // The schema of all other kinds bounds the spec.
    ...(kind === 'CertificateRequest' && {request: LARGE, usages: Array(10_000).fill('server auth')}),
  };
  const metadata = {
    name: 'a.test',
    namespace: 'ns',
    resourceVersion: '1',
    uid: 'u',
    labels: {[LABEL.account]: 'acme', [LABEL.managed]: 'true', hoard: LARGE},
    annotations: {
      [ANNOTATION.firstDeployedAt]: '2026-11-21T12:00:00Z',
      [ANNOTATION.verifyRequestedAt]: LARGE,
      hoard: LARGE,
    },
  };
  return {apiVersion: `${group}/${version}`, kind, metadata, spec} as KubeObject;
}

/** Only the operator writes claims, and objects that have its label. */
const ofTenants = caches().filter(
  ({resource, options}) =>
    !['DomainClaim', 'KeyClaim'].includes(resource.kind) && options.labelSelector !== `${LABEL.managedBy}=nameplate`,
);

test('there are caches of objects that tenants write', () => {
  expect(ofTenants.map(({resource}) => resource.plural)).toEqual(
    expect.arrayContaining(['projects', 'domains', 'apikeys', 'services', 'endpointslices', 'certificaterequests']),
  );
});

test.each(ofTenants.map(({resource, options}) => ({kind: resource.kind, resource, options})))(
  'the cache of each $kind keeps only the metadata that the operator reads',
  ({resource, options: {transform = object => object}}) => {
    const kept = transform(hoarding(resource));
    expect(JSON.stringify(kept).length).toBeLessThan(2048);
    expect(kept.metadata.labels).toEqual({[LABEL.account]: 'acme', [LABEL.managed]: 'true'});
    expect(kept.metadata.annotations?.[ANNOTATION.firstDeployedAt]).toBe('2026-11-21T12:00:00Z');
    expect(kept.metadata).toMatchObject({name: 'a.test', namespace: 'ns', resourceVersion: '1', uid: 'u'});
  },
);
