module nameplate.dev/tools/gitopscrds

go 1.26.5

require (
	github.com/crossplane-contrib/provider-kubernetes v1.3.0
	github.com/fluxcd/kustomize-controller v1.9.6
	github.com/kubernetes-sigs/kro v0.9.4
	sigs.k8s.io/external-dns v0.21.0
)
