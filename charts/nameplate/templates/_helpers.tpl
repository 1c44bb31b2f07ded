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
{{- $_ := set $config.controller.leaderElection "leaseName" (include "nameplate.fullname" .) }}
{{- $_ := set $config.controller.leaderElection "namespace" .Release.Namespace }}
{{- if and (gt (int .Values.replicas) 1) (not $config.controller.leaderElection.enabled) }}
{{- fail "config.controller.leaderElection.enabled is false, so replicas must be 1: two operators would write against each other" }}
{{- end }}
{{- toYaml $config }}
{{- end }}
