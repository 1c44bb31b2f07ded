{{- /*
A host of the platform itself on the edge, with its certificate: of the messages API, or of the console. HTTPS only: a
client that sends its key in clear text should fail immediately, not be redirected after the key has leaked.

Takes root, component (the name of the values), fullname, and labels.
*/}}
{{- define "nameplate.published" }}
{{- $_ := set . "values" (get .root.Values .component) }}
{{- $secret := .values.certificate.existingSecret | default (printf "%s-tls" .fullname) }}
{{- $onGateway := and (eq .root.Values.config.routing.provider "gateway") (not .values.ingress.className) }}
{{- if $onGateway }}
{{- $gateway := .root.Values.config.routing.gateway }}
apiVersion: gateway.networking.k8s.io/v1
kind: ListenerSet
metadata:
  name: {{ .fullname }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- .labels | nindent 4 }}
spec:
  parentRef: {group: gateway.networking.k8s.io, kind: Gateway, namespace: {{ $gateway.namespace }}, name: {{ $gateway.name }}}
  listeners:
  - name: https
    port: 443
    protocol: HTTPS
    hostname: {{ .values.host }}
    tls: {certificateRefs: [{name: {{ $secret }}}]}
    allowedRoutes: {namespaces: {from: Same}, kinds: [{kind: HTTPRoute}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata:
  name: {{ .fullname }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- .labels | nindent 4 }}
spec:
  parentRefs:
  - group: gateway.networking.k8s.io
    kind: ListenerSet
    name: {{ .fullname }}
    sectionName: https
  hostnames: [{{ .values.host }}]
  rules:
  - backendRefs: [{name: {{ .fullname }}, port: 80}]
---
{{- end }}
{{- if or (not $onGateway) (include "nameplate.servesOnTraefik" .root) }}
{{- $annotations := dict
  "traefik.ingress.kubernetes.io/router.entrypoints" .root.Values.config.routing.traefik.httpsEntryPoint
  "traefik.ingress.kubernetes.io/router.tls" "true" }}
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: {{ .fullname }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- .labels | nindent 4 }}
  annotations:
    {{- mergeOverwrite $annotations .values.ingress.annotations | toYaml | nindent 4 }}
spec:
  ingressClassName: {{ .values.ingress.className | default .root.Values.config.routing.ingressClassName }}
  tls:
  - hosts: [{{ .values.host }}]
    secretName: {{ $secret }}
  rules:
  - host: {{ .values.host }}
    http:
      paths:
      - path: /
        pathType: Prefix
        backend:
          service:
            name: {{ .fullname }}
            port: {name: http}
{{- end }}
{{- if not .values.certificate.existingSecret }}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata:
  name: {{ $secret }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- .labels | nindent 4 }}
spec:
  secretName: {{ $secret }}
  dnsNames: [{{ .values.host }}]
  issuerRef:
    {{- $default := deepCopy .root.Values.config.certificates.issuerRef }}
    {{- /* An ACMEIssuer signs only for tenants' hosts. */}}
    {{- if eq $default.kind "ACMEIssuer" }}
    {{- $_ := required (printf "%s.certificate.issuerRef.name is required: an ACMEIssuer signs only for the hosts of tenants. Name a ClusterIssuer of cert-manager, or set %s.certificate.existingSecret" .component .component) .values.certificate.issuerRef.name }}
    {{- $default = dict "kind" "ClusterIssuer" "group" "cert-manager.io" }}
    {{- end }}
    {{- mergeOverwrite $default .values.certificate.issuerRef | toYaml | nindent 4 }}
  privateKey: {algorithm: ECDSA, size: 256, rotationPolicy: Always}
{{- end }}
{{- end }}
