/** Objects for the tests of the edge providers. */
import type {RoutingConfig} from '../../src/operator/config/config.ts';
import type {HostRoute} from '../../src/operator/kinds/edge-provider.ts';

export const ON_GATEWAY: RoutingConfig = {
  provider: 'gateway',
  movingFrom: 'none',
  apexAddresses: [],
  edgeAddresses: [],
  formerAddresses: [],
  ingressClassName: 'unused',
  traefik: {httpEntryPoint: 'web', httpsEntryPoint: 'websecure', version: ''},
  gateway: {
    namespace: 'edge',
    name: 'platform',
    httpListener: 'http',
    httpsListener: 'https',
    supportedFeatures: [],
    clientTrafficPolicy: '',
    version: '',
  },
};

export const ROUTE: HostRoute = {
  namespace: 'acme',
  name: 'np-a',
  host: 'a.test',
  tlsSecret: 'np-a',
  backend: {name: 'np-b', project: 'shop', selector: {app: 'shop'}, port: {name: 'http', port: 80, targetPort: 8080}},
  owner: {apiVersion: 'nameplate.dev/v1alpha1', kind: 'Domain', name: 'a.test', uid: '1'},
};
