{{- define "nameplate.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* Base name of all objects: the release's name, followed by the chart's name unless the release's name contains it. */}}
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

{{/* commonLabels cannot replace the chart's own. */}}
{{- define "nameplate.labels" -}}
{{- $own := include "nameplate.selectorLabels" . | fromYaml }}
{{- $_ := set $own "app.kubernetes.io/version" .Chart.AppVersion }}
{{- $_ := set $own "app.kubernetes.io/managed-by" .Release.Service }}
{{- $_ := set $own "helm.sh/chart" (printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_") }}
{{- merge $own .Values.commonLabels | toYaml }}
{{- end }}

{{/* Base name for the messages API, short enough for valid names of StatefulSet pods and revision labels. */}}
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

{{/* Base name for the challenge responder. The operator writes the ConfigMap of this name. */}}
{{- define "nameplate.challenges.fullname" -}}
{{- printf "%s-challenges" (include "nameplate.fullname" .) }}
{{- end }}

{{- define "nameplate.challenges.selectorLabels" -}}
{{- include "nameplate.componentLabels" (dict "root" . "component" "challenges") }}
{{- end }}

{{- define "nameplate.challenges.labels" -}}
{{- merge (include "nameplate.challenges.selectorLabels" . | fromYaml) (include "nameplate.labels" . | fromYaml) | toYaml }}
{{- end }}

{{/* Base name for the name server of the ACME domain. */}}
{{- define "nameplate.nameserver.fullname" -}}
{{- printf "%s-nameserver" (include "nameplate.fullname" .) }}
{{- end }}

{{- define "nameplate.nameserver.selectorLabels" -}}
{{- include "nameplate.componentLabels" (dict "root" . "component" "nameserver") }}
{{- end }}

{{- define "nameplate.nameserver.labels" -}}
{{- merge (include "nameplate.nameserver.selectorLabels" . | fromYaml) (include "nameplate.labels" . | fromYaml) | toYaml }}
{{- end }}

{{- define "nameplate.console.fullname" -}}
{{- printf "%s-console" (include "nameplate.fullname" .) }}
{{- end }}

{{- define "nameplate.console.selectorLabels" -}}
{{- include "nameplate.componentLabels" (dict "root" . "component" "console") }}
{{- end }}

{{- define "nameplate.console.labels" -}}
{{- merge (include "nameplate.console.selectorLabels" . | fromYaml) (include "nameplate.labels" . | fromYaml) | toYaml }}
{{- end }}

{{/* The console's configuration file. */}}
{{- define "nameplate.console.config" -}}
{{- $host := required "console.host is required when console.enabled is true. Example: console.example.net" .Values.console.host }}
{{- $base := .Values.config.platform.baseDomain }}
{{- if or (eq $host $base) (hasSuffix (printf ".%s" $base) $host) }}
{{- fail "console.host is below config.platform.baseDomain, where tenants publish pages: choose another domain" }}
{{- end }}
{{- $given := .Values.console.oidc }}
{{- $oidc := pick $given "issuer" "clientId" "scopes" "namespacesClaim" }}
{{- $_ := required "console.oidc.issuer is required when console.enabled is true. Example: https://id.example.net" $oidc.issuer }}
{{- if $given.secret }}
{{- $_ := set $oidc "clientSecretFile" "/etc/nameplate/client/secret" }}
{{- end }}
{{- if $given.caConfigMap }}
{{- $_ := set $oidc "caFile" "/etc/nameplate/identity-provider/ca.crt" }}
{{- end }}
{{- $config := dict "url" (printf "https://%s" $host) "oidc" $oidc "server" (dict "port" 8080) "operations" (dict "port" 8081) }}
{{- $_ := set $config "sessions" .Values.console.sessions }}
{{- if .Values.console.help }}
{{- $_ := set $config "help" .Values.console.help }}
{{- end }}
{{- $_ := set $config "log" (dict "level" .Values.console.logLevel) }}
{{- $_ := set $config "diagnostics" (include "nameplate.diagnostics" . | fromYaml) }}
{{- toYaml $config }}
{{- end }}

{{/* The configuration file of the messages API: .Values.messages.config, and the options that the chart sets. */}}
{{- define "nameplate.messages.config" -}}
{{- $_ := required "messages.host is required when messages.enabled is true. Set it to the API's host, for example api.example.net" .Values.messages.host }}
{{- $store := dict "folder" "/var/lib/nameplate-messages" }}
{{- if eq (include "nameplate.messages.store" .) "postgres" }}
{{- $files := include "nameplate.messages.postgresFiles" . | fromYaml }}
{{- $store = dict "postgres" (set $files "awaitMigration" .Values.messages.postgres.migrate) }}
{{- end }}
{{- $own := dict "server" (dict "port" 8080) "operations" (dict "port" 8081) "store" $store "diagnostics" (include "nameplate.diagnostics" . | fromYaml) }}
{{- mergeOverwrite (deepCopy .Values.messages.config) $own | toYaml }}
{{- end }}

{{/* Names of the files in nameplate.messages.postgresVolume. */}}
{{- define "nameplate.messages.postgresFiles" -}}
uriFile: /etc/nameplate/postgres/uri
{{- if .Values.messages.postgres.caSecret }}
caFile: /etc/nameplate/postgres/ca.crt
{{- end }}
{{- end }}

{{- define "nameplate.diagnostics" -}}
{{- $config := merge (dict "folder" "/var/lib/nameplate-diagnostics") (pick .Values.diagnostics "cpuSeconds") }}
{{- ternary $config dict .Values.diagnostics.enabled | toYaml }}
{{- end }}

{{- define "nameplate.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}
{{- .Values.serviceAccount.name | default (include "nameplate.fullname" .) }}
{{- else }}
{{- required "serviceAccount.name is required when serviceAccount.create is false" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "nameplate.image" -}}
{{- $tag := .Values.image.tag | default .Chart.AppVersion }}
{{- .Values.image.digest | empty | ternary (printf "%s:%s" .Values.image.repository $tag) (printf "%s@%s" .Values.image.repository .Values.image.digest) }}
{{- end }}

{{- define "nameplate.keySecretName" -}}
{{- .Values.platformKey.existingSecret | default (printf "%s-platform-key" (include "nameplate.fullname" .)) }}
{{- end }}

{{/* The operator's configuration file: .Values.config, and the options that the chart sets. */}}
{{- define "nameplate.config" -}}
{{- $config := deepCopy .Values.config }}
{{- $_ := required "config.platform.baseDomain is required. Projects are published under it; example: apps.example.net" $config.platform.baseDomain }}
{{- $_ := required "config.platform.targetDomain is required. Custom domains point to names below it; example: edge.example.net" $config.platform.targetDomain }}
{{- $_ := required "config.certificates.issuerRef.name is required. It names the cert-manager issuer for custom domains; example: letsencrypt" $config.certificates.issuerRef.name }}
{{- if .Values.platformKey.existingSecret }}
{{- $_ := set $config.platform "keyFile" (printf "/etc/nameplate/key/%s" .Values.platformKey.secretKey) }}
{{- else }}
{{- $_ := set $config.platform "keySecret" (dict "name" (include "nameplate.keySecretName" .) "key" .Values.platformKey.secretKey) }}
{{- end }}
{{- /* The platform's own certificates here, such as that of the messages API, are not for a tenant's host. */}}
{{- $_ := set $config.certificates.approval "exemptNamespaces" (append $config.certificates.approval.exemptNamespaces .Release.Namespace | uniq) }}
{{- $challenges := printf "%s-challenges" (include "nameplate.fullname" .) }}
{{- $nameserver := dict "service" (include "nameplate.nameserver.fullname" .) }}
{{- $acme := dict "challenges" (dict "service" $challenges "configMap" $challenges) "nameserver" $nameserver }}
{{- $_ := set $config.certificates "acme" (merge $acme $config.certificates.acme) }}
{{- $notEnforced := list }}
{{- range $name := list "routes" "issuance" "edgeAddresses" "dnsNames" "managedObjects" "namespaceLabels" "ownKinds" }}
{{- if or (eq $.Values.admission.mode "audit") (not (get $.Values.admission $name).enabled) }}
{{- $notEnforced = append $notEnforced $name }}
{{- end }}
{{- end }}
{{- $_ := set $config "admission" (dict "notEnforced" $notEnforced) }}
{{- $_ := set $config.controller.leaderElection "leaseName" (include "nameplate.fullname" .) }}
{{- $_ := set $config.controller.leaderElection "namespace" .Release.Namespace }}
{{- if and (gt (int .Values.replicas) 1) (not $config.controller.leaderElection.enabled) }}
{{- fail "config.controller.leaderElection.enabled is false, so replicas must be 1: several operators would overwrite each other's changes" }}
{{- end }}
{{- if and .Values.networkPolicy.enabled (not .Values.networkPolicy.apiServerPorts) }}
{{- fail "networkPolicy.apiServerPorts is empty, so no program could reach the API server. List the ports of its Service and of its endpoints" }}
{{- end }}
{{- range list .Values.messages .Values.console }}
{{- if .enabled }}
{{- $_ := set $config.platform "reservedHosts" (append $config.platform.reservedHosts .host | uniq) }}
{{- end }}
{{- end }}
{{- $_ := set $config "diagnostics" (include "nameplate.diagnostics" . | fromYaml) }}
{{- toYaml $config }}
{{- end }}

{{/* Peers of a NetworkPolicy. A rule without peers would allow everyone; this helper allows the release's own namespace. */}}
{{- define "nameplate.networkPolicy.from" -}}
{{- . | default (list (dict "podSelector" dict)) | toYaml }}
{{- end }}

{{/* Pod Security "restricted"; the group lets the user read the key and write to the volume. */}}
{{- define "nameplate.podSecurity" -}}
{{- if not .Values.hostUsers }}
hostUsers: false
{{- end }}
securityContext:
  {{- merge (deepCopy .Values.podSecurityContext) (dict "fsGroupChangePolicy" "OnRootMismatch") | toYaml | nindent 2 }}
{{- end }}

{{- define "nameplate.securityContext" -}}
{{- toYaml .Values.securityContext }}
{{- end }}

{{/* Fields of a pod's spec, from a map of values. */}}
{{- define "nameplate.scheduling" -}}
{{- range $name := list "priorityClassName" "nodeSelector" "tolerations" "affinity" "dnsPolicy" "dnsConfig" "hostAliases" "runtimeClassName" }}
{{- with get $ $name }}
{{ dict $name . | toYaml }}
{{- end }}
{{- end }}
{{- end }}

{{/* If the messages API does not set a value, the operator's applies. */}}
{{- define "nameplate.messages.scheduling" -}}
{{- $scheduling := dict }}
{{- range $name := list "priorityClassName" "nodeSelector" "tolerations" "affinity" "dnsPolicy" "dnsConfig" "hostAliases" "runtimeClassName" }}
{{- $_ := set $scheduling $name (get $.Values.messages $name | default (get $.Values $name)) }}
{{- end }}
{{- include "nameplate.scheduling" $scheduling }}
{{- end }}

{{/* Labels of other pods: the selectors of the operator and the messages API must not match them. */}}
{{- define "nameplate.componentLabels" -}}
{{- merge (dict "app.kubernetes.io/component" .component) (include "nameplate.selectorLabels" .root | fromYaml) | toYaml }}
{{- end }}

{{/* Fields of a Service's spec. */}}
{{- define "nameplate.ipFamilies" -}}
{{- with .Values.serviceIPFamilyPolicy }}
ipFamilyPolicy: {{ . }}
{{- end }}
{{- with .Values.serviceIPFamilies }}
ipFamilies: {{ toJson . }}
{{- end }}
{{- end }}

{{/* Not empty if the chart creates roles and bindings. */}}
{{- define "nameplate.createsRbac" -}}
{{- if .Values.rbac.create }}true{{ end }}
{{- end }}

{{/* Lets `helm test` read /readyz, regardless of metricsFrom. */}}
{{- define "nameplate.networkPolicy.test" -}}
- podSelector:
    matchLabels:
      {{- include "nameplate.componentLabels" (dict "root" . "component" "test") | nindent 6 }}
{{- end }}

{{/* Not empty if Nameplate writes routes for Traefik. */}}
{{- define "nameplate.servesOnTraefik" -}}
{{- if or (eq .Values.config.routing.provider "traefik") (eq .Values.config.routing.movingFrom "traefik") }}true{{ end }}
{{- end }}

{{/* Topology spread constraints, from the value and the labels of the pods: by default, across nodes if there are several. */}}
{{- define "nameplate.spread" -}}
{{- $byNode := dict "maxSkew" 1 "topologyKey" "kubernetes.io/hostname" "whenUnsatisfiable" "ScheduleAnyway" }}
{{- $selector := dict "labelSelector" (dict "matchLabels" (last . | fromYaml)) }}
{{- range first . | default (list $byNode) }}
- {{ merge (deepCopy .) $selector | toYaml | nindent 2 | trim }}
{{- end }}
{{- end }}
