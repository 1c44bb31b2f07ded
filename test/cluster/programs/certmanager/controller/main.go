// The cert-manager controller. Upstream's own main is in a nested module (cmd/controller) that is not published, so
// this wires the same controllers from the published packages. It takes the flags that the Helm chart passes. What is
// left out: Vault, Venafi, CertificateSigningRequests, the Gateway shim, metrics, and leader election (there is one
// replica).
package main

import (
	"context"
	"log"
	"net/http"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/cert-manager/cert-manager/pkg/controller"
	_ "github.com/cert-manager/cert-manager/pkg/controller/acmechallenges"
	_ "github.com/cert-manager/cert-manager/pkg/controller/acmeorders"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificate-shim/ingresses"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/acme"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/approver"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/ca"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/selfsigned"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/issuing"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/keymanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/readiness"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/requestmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/revisionmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/trigger"
	_ "github.com/cert-manager/cert-manager/pkg/controller/clusterissuers"
	_ "github.com/cert-manager/cert-manager/pkg/controller/issuers"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/acme"
	dnsutil "github.com/cert-manager/cert-manager/pkg/issuer/acme/dns/util"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/ca"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/selfsigned"
	logf "github.com/cert-manager/cert-manager/pkg/logs"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"
	logsapi "k8s.io/component-base/logs/api/v1"
)

// The defaults are upstream's (internal/apis/config/controller/v1alpha1/defaults.go).
func main() {
	logging := logsapi.NewLoggingConfiguration()
	logf.AddFlags(logging, pflag.CommandLine)
	kubeconfig := pflag.String("kubeconfig", "", "kubeconfig; in-cluster configuration by default")
	clusterNamespace := pflag.String("cluster-resource-namespace", "kube-system", "where ClusterIssuers keep their Secrets")
	solverImage := pflag.String("acme-http01-solver-image", "", "image of the HTTP-01 solver pods")
	solverNameservers := pflag.StringSlice("acme-http01-solver-nameservers", nil, "resolvers of the HTTP-01 self check")
	maxChallenges := pflag.Int("max-concurrent-challenges", 60, "challenges in process at once")
	ownerRef := pflag.Bool("enable-certificate-owner-ref", false, "make Certificates own their Secrets")
	controllers := pflag.StringSlice("controllers", []string{"*"}, "controllers to run; -name switches one off")
	minBackoff := pflag.Duration("certificate-request-minimum-backoff-duration", time.Hour, "first pause after a failed request")
	maxBackoff := pflag.Duration("certificate-request-maximum-backoff-duration", 32*time.Hour, "longest pause")
	checkRetry := pflag.Duration("dns01-check-retry-period", 10*time.Second, "pause between self checks, of HTTP-01 too")
	qps := pflag.Float32("kube-api-qps", 20, "requests a second to the API server")
	burst := pflag.Int("kube-api-burst", 50, "requests at once")
	gatewayAPI := pflag.Bool("enable-gateway-api", false, "solve HTTP-01 with HTTPRoutes too; their CRD must exist at the start")
	healthz := pflag.String("healthz-listen-address", ":9403", "where /livez answers")
	pflag.String("leader-election-namespace", "", "accepted for the chart's sake: one replica needs no election")
	pflag.Parse()
	must(logf.ValidateAndApply(logging))

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	ctx = logf.NewContext(ctx, logf.Log, "controller")

	factory, err := controller.NewContextFactory(ctx, controller.ContextOptions{
		Kubeconfig:         *kubeconfig,
		KubernetesAPIQPS:   *qps,
		KubernetesAPIBurst: *burst,
		IssuerOptions: controller.IssuerOptions{
			ClusterResourceNamespace:        *clusterNamespace,
			ClusterIssuerAmbientCredentials: true,
		},
		ACMEOptions: controller.ACMEOptions{
			HTTP01SolverImage:                 *solverImage,
			HTTP01SolverNameservers:           *solverNameservers,
			ACMEHTTP01SolverRunAsNonRoot:      true,
			HTTP01SolverResourceRequestCPU:    resource.MustParse("10m"),
			HTTP01SolverResourceRequestMemory: resource.MustParse("64Mi"),
			HTTP01SolverResourceLimitsCPU:     resource.MustParse("100m"),
			HTTP01SolverResourceLimitsMemory:  resource.MustParse("64Mi"),
			DNS01CheckRetryPeriod:             *checkRetry,
			DNS01Nameservers:                  dnsutil.RecursiveNameservers,
			DNS01CheckAuthoritative:           true,
		},
		IngressShimOptions: controller.IngressShimOptions{
			DefaultIssuerKind:                 "Issuer",
			DefaultIssuerGroup:                "cert-manager.io",
			DefaultAutoCertificateAnnotations: []string{"kubernetes.io/tls-acme"},
		},
		ConfigOptions: controller.ConfigOptions{EnableGatewayAPI: *gatewayAPI},
		CertificateOptions: controller.CertificateOptions{
			EnableOwnerRef:                           *ownerRef,
			CopiedAnnotationPrefixes:                 []string{"*", "-kubectl.kubernetes.io/", "-fluxcd.io/", "-argocd.argoproj.io/"},
			CertificateRequestMinimumBackoffDuration: *minBackoff,
			CertificateRequestMaximumBackoffDuration: *maxBackoff,
		},
		SchedulerOptions: controller.SchedulerOptions{MaxConcurrentChallenges: *maxChallenges},
	})
	must(err)
	root, err := factory.Build()
	must(err)

	var running sync.WaitGroup
	for name, construct := range controller.Known() {
		if slices.Contains(*controllers, "-"+name) {
			continue
		}
		loop, err := construct(factory)
		must(err)
		running.Go(func() { must(loop.Run(5, ctx)) })
	}
	root.SharedInformerFactory.Start(ctx.Done())
	root.KubeSharedInformerFactory.Start(ctx.Done())
	if root.GatewaySolverEnabled {
		root.GWShared.Start(ctx.Done())
	}
	root.HTTP01ResourceMetadataInformersFactory.Start(ctx.Done())

	http.HandleFunc("/livez", func(http.ResponseWriter, *http.Request) {})
	go func() { must(http.ListenAndServe(*healthz, nil)) }()
	running.Wait()
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
