module nameplate.dev/tools/gatewayapinext

go 1.27.0

require sigs.k8s.io/gateway-api v1.7.0
