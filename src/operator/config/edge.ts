import {choice, integer, section} from '../../config/config-schema.ts';
import {address, ipv4, ipv6, kubernetesName, label, milliseconds, seconds} from './formats.ts';

export const routing = section('How traffic is routed to projects.', {
  provider: choice(
    ['traefik', 'gateway'],
    'traefik',
    'The edge for which routes are written. traefik: Ingresses for Traefik. gateway: ListenerSets and HTTPRoutes for any implementation of Gateway API that supports ListenerSets.',
  ),
  movingFrom: choice(
    ['none', 'traefik'],
    'none',
    'With provider gateway, traefik: write the routes for Traefik too, while DNS still points to it. docs/edges.md describes the move.',
  ),
  apexAddresses: addresses(
    'IP addresses of the edge that never change. Set them only if you can keep them: at an apex, tenants whose DNS provider has no ALIAS records then get A and AAAA records with these addresses to create, and changing an address breaks these hosts. The wildcard record of targetDomain must return the same addresses.',
  ),
  edgeAddresses: addresses(
    'With movingFrom: IP addresses of the new edge, as DNS returns them. Set them when you change the wildcard records: from then on, the new edge decides whether a host is live.',
  ),
  formerAddresses: addresses(
    'With movingFrom: IP addresses of the former edge. A host whose records still point to them has not drifted.',
  ),
  ingressClassName: {
    ...kubernetesName,
    examples: ['traefik'],
    default: 'traefik',
    description: 'For Traefik: IngressClass of the routes.',
  },
  traefik: section('Names in the static configuration of Traefik.', {
    httpEntryPoint: entryPoint('web', 'Entry point of port 80.'),
    httpsEntryPoint: entryPoint('websecure', 'Entry point of port 443.'),
    version: {
      type: 'string',
      default: '',
      description:
        'Version of Traefik, for example 3.6.12. Nameplate warns if it is too old for the promises of the threat model. If empty, the version is unknown.',
    },
  }),
  gateway: section("The platform's Gateway, which accepts ListenerSets and HTTPRoutes of all namespaces.", {
    namespace: nameOrNone('Namespace of the Gateway. Must be set if provider is gateway.'),
    name: nameOrNone('Name of the Gateway. Must be set if provider is gateway.'),
    httpListener: listener(
      'http',
      'Listener of port 80. It must have no host name: the redirects to HTTPS and the ACME challenges of all hosts attach to it.',
    ),
    httpsListener: listener(
      'https',
      'Listener of port 443 for *.baseDomain. The default hosts attach to it, unless each of them has its own certificate.',
    ),
    supportedFeatures: {
      type: 'array',
      items: {
        type: 'string',
        title: 'a feature of Gateway API',
        pattern: '^[A-Za-z0-9]{1,63}$',
        examples: ['HTTPRoute308RedirectStatusCode'],
      },
      default: [],
      description:
        'Extended features of the Gateway that the status of its GatewayClass does not list. Redirects with 303, 307, and 308 need HTTPRoute303RedirectStatusCode, HTTPRoute307RedirectStatusCode, and HTTPRoute308RedirectStatusCode.',
    },
    clientTrafficPolicy: nameOrNone(
      'For Envoy Gateway: ClientTrafficPolicy of the Gateway, in its namespace. Each wildcard host gets a copy without HTTP/2, so that browsers reach no other host over its connections. If empty, wildcard hosts are refused.',
    ),
    version: {
      type: 'string',
      default: '',
      description:
        'Name and version of the implementation, for example Envoy Gateway 1.9.0. The threat model says with which one its promises were tested. If empty, the version is unknown.',
    },
  }),
});

export const probes = section(
  'Probes of each host at the edge. A host becomes Live only once a probe has confirmed its certificate and its route.',
  {
    enabled: {type: 'boolean', default: true, description: 'Probe the edge, if its address is known.'},
    addresses: {
      type: 'array',
      maxItems: 4,
      items: {
        type: 'string',
        title: 'a host name or an IP address, with or without a port',
        format: 'edge-address',
        pattern: String.raw`^((${label}\.)*${label}(:\d{1,5})?|${ipv4}(:\d{1,5})?|${ipv6}|\[${ipv6}\](:\d{1,5})?)$`,
        examples: ['traefik.traefik.svc', '192.0.2.10:8443'],
      },
      default: [],
      description:
        'Where the edge listens for HTTPS; the first one that answers is used. If empty, the addresses in the status of the Gateway. Traefik reports none: name its Service, or hosts are not probed.',
    },
    steadySeconds: seconds(15, 1, 'Pause between two probes of a host, unless there are too many hosts.'),
    perSecond: integer(
      10,
      [1, 1000],
      'Probes per second, at most, of hosts that answer. With more hosts, the pause grows.',
    ),
    failAfterSeconds: seconds(
      30,
      1,
      'How long the probes of a live host must show a wrong certificate, a wrong route, or no answer before it is Degraded. Nothing is withdrawn.',
    ),
    timeoutMs: milliseconds(5000, 'Time limit for one probe.'),
  },
);

function addresses(description: string) {
  return {type: 'array', maxItems: 16, items: {...address, examples: ['192.0.2.20']}, default: [], description};
}

function nameOrNone(description: string) {
  return {
    type: 'string',
    title: 'a name of a Kubernetes object',
    pattern: '^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?)?$',
    default: '',
    description,
  };
}

/** Traefik separates several by commas. */
function entryPoint(byDefault: string, description: string) {
  const format = {title: 'the name of an entry point', pattern: String.raw`^[^\s,]+$`, examples: [byDefault]};
  return {type: 'string', ...format, default: byDefault, description};
}

function listener(byDefault: string, description: string) {
  return {...kubernetesName, title: 'the name of a listener', examples: [byDefault], default: byDefault, description};
}
