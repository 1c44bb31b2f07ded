{{- define "nameplate.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* Base name of every object: the release's, with the chart's name unless the release bears it already. */}}
{{- define "nameplate.fullname" -}}
{{- $name := include "nameplate.name" . }}
{{- $full := contains $name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name $name) }}
{{- .Values.fullnameOverride | default $full | trunc 52 | trimSuffix "-" }}
{{- end }}

{{- define "nameplate.selectorLabels" -}}
app.kubernetes.io/name: {{ include "nameplate.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: operator
{{- end }}

{{- define "nameplate.labels" -}}
{{ include "nameplate.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{/* Of the messages API: short enough that its StatefulSet's pods, and their revision labels, have valid names. */}}
{{- define "nameplate.messages.fullname" -}}
{{- printf "%s-messages" (include "nameplate.fullname" . | trunc 43 | trimSuffix "-") }}
{{- end }}

{{- define "nameplate.messages.selectorLabels" -}}
app.kubernetes.io/name: {{ include "nameplate.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: messages
{{- end }}

{{- define "nameplate.messages.labels" -}}
{{- merge (include "nameplate.messages.selectorLabels" . | fromYaml) (include "nameplate.labels" . | fromYaml) | toYaml }}
{{- end }}

{{- define "nameplate.messages.tlsSecretName" -}}
{{- .Values.messages.certificate.existingSecret | default (printf "%s-tls" (include "nameplate.messages.fullname" .)) }}
{{- end }}

{{/* The configuration file of the messages API: .Values.messages.config, and what only the chart knows. */}}
{{- define "nameplate.messages.config" -}}
{{- $_ := required "messages.host is needed where messages.enabled is true: the host of the API, for example api.example.net" .Values.messages.host }}
{{- $own := dict "server" (dict "port" 8080) "operations" (dict "port" 8081) "store" (dict "folder" "/var/lib/nameplate-messages") }}
{{- mergeOverwrite (deepCopy .Values.messages.config) $own | toYaml }}
{{- end }}

{{- define "nameplate.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}
{{- .Values.serviceAccount.name | default (include "nameplate.fullname" .) }}
{{- else }}
{{- required "serviceAccount.name is needed where serviceAccount.create is false" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "nameplate.image" -}}
{{- $tag := .Values.image.tag | default .Chart.AppVersion }}
{{- .Values.image.digest | empty | ternary (printf "%s:%s" .Values.image.repository $tag) (printf "%s@%s" .Values.image.repository .Values.image.digest) }}
{{- end }}

{{- define "nameplate.keySecretName" -}}
{{- .Values.platformKey.existingSecret | default (printf "%s-platform-key" (include "nameplate.fullname" .)) }}
{{- end }}

{{/* The operator's configuration file: .Values.config, and what only the chart knows. */}}
{{- define "nameplate.config" -}}
{{- $config := deepCopy .Values.config }}
{{- $_ := required "config.platform.baseDomain is needed: projects are published under it, for example apps.example.net" $config.platform.baseDomain }}
{{- $_ := required "config.platform.targetDomain is needed: custom domains point below it, for example edge.example.net" $config.platform.targetDomain }}
{{- $_ := required "config.certificates.issuerRef.name is needed: the cert-manager issuer of custom domains, for example letsencrypt" $config.certificates.issuerRef.name }}
{{- $_ := set $config.platform "keyFile" (printf "/etc/nameplate/key/%s" .Values.platformKey.secretKey) }}
{{- /* The platform's own certificates here, such as that of the messages API, are nobody's host. */}}
{{- $_ := set $config.certificates.approval "exemptNamespaces" (append $config.certificates.approval.exemptNamespaces .Release.Namespace | uniq) }}
{{- $notEnforced := list }}
{{- range $name := list "routes" "issuance" "edgeAddresses" "dnsNames" "managedObjects" "namespaceLabels" "ownKinds" }}
{{- $policy := get $.Values.admission $name | default (dict "enabled" true) }}
{{- if or (eq $.Values.admission.mode "audit") (not $policy.enabled) }}
{{- $notEnforced = append $notEnforced $name }}
{{- end }}
{{- end }}
{{- $_ := set $config "admission" (dict "notEnforced" $notEnforced) }}
{{- $_ := set $config.controller.leaderElection "leaseName" (include "nameplate.fullname" .) }}
{{- $_ := set $config.controller.leaderElection "namespace" .Release.Namespace }}
{{- if and (gt (int .Values.replicas) 1) (not $config.controller.leaderElection.enabled) }}
{{- fail "config.controller.leaderElection.enabled is false, so replicas must be 1: two operators would write against each other" }}
{{- end }}
{{- if .Values.messages.enabled }}
{{- $_ := set $config.platform "reservedHosts" (append $config.platform.reservedHosts .Values.messages.host | uniq) }}
{{- end }}
{{- toYaml $config }}
{{- end }}

{{/* Peers of a NetworkPolicy. Without peers a rule would admit everybody; here it admits the release's own namespace. */}}
{{- define "nameplate.networkPolicy.from" -}}
{{- . | default (list (dict "podSelector" dict)) | toYaml }}
{{- end }}
