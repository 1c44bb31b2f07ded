{{/* sqlite or postgres. */}}
{{- define "nameplate.messages.store" -}}
{{- .Values.messages.config.store.kind }}
{{- end }}

{{/* The Secrets of the database, with the names that the configuration has. Read again for each connection. */}}
{{- define "nameplate.messages.postgresVolume" -}}
{{- $postgres := .Values.messages.postgres }}
- name: postgres
  projected:
    defaultMode: 0440
    sources:
    - secret:
        name: {{ required "messages.postgres.secret is required when messages.config.store.kind is postgres. It names the Secret with the URI of the database" $postgres.secret }}
        items: [{key: {{ $postgres.uriKey }}, path: uri}]
    {{- if $postgres.caSecret }}
    - secret:
        name: {{ $postgres.caSecret }}
        items: [{key: {{ $postgres.caKey }}, path: ca.crt}]
    {{- end }}
{{- end }}

{{/* The template of the messages API's pods, with either store. */}}
{{- define "nameplate.messages.podTemplate" -}}
{{- $isPostgres := eq (include "nameplate.messages.store" .) "postgres" -}}
metadata:
  labels:
    {{- include "nameplate.messages.selectorLabels" . | nindent 4 }}
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    # The API reads its configuration at startup, so a change must restart the pod.
    checksum/config: {{ include "nameplate.messages.config" . | sha256sum }}
    {{- with .Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ include "nameplate.messages.fullname" . }}
  automountServiceAccountToken: true
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- include "nameplate.podSecurity" . | trim | nindent 2 }}
  # Longer than the API takes to answer the requests that it has accepted, and the pause before.
  terminationGracePeriodSeconds: {{ ternary 40 30 $isPostgres }}
  containers:
  - name: messages
    image: {{ include "nameplate.image" . }}
    imagePullPolicy: {{ .Values.image.pullPolicy }}
    command: [node, /app/messages.mjs]
    args: [--config, /etc/nameplate/config/messages.yaml]
    env:
    - {name: POD_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
    - {name: POD_NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}
    {{- with .Values.messages.env }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
    ports:
    - {name: http, containerPort: 8080}
    - {name: operations, containerPort: 8081}
    {{- if $isPostgres }}
    # Until the edge has learned that this pod is ending, others must not miss it.
    lifecycle: {preStop: {sleep: {seconds: 5}}}
    {{- end }}
    # At startup, the API recovers a SQLite database that was not closed properly, and migrates one of an earlier version.
    startupProbe:
      httpGet: {path: /healthz, port: operations}
      periodSeconds: 2
      failureThreshold: 300
    livenessProbe:
      httpGet: {path: /healthz, port: operations}
      periodSeconds: 10
      timeoutSeconds: 5
      failureThreshold: 3
    readinessProbe:
      httpGet: {path: /readyz, port: operations}
      periodSeconds: 5
      timeoutSeconds: 5
    securityContext:
      {{- include "nameplate.securityContext" . | nindent 6 }}
    {{- with .Values.messages.resources }}
    resources:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    volumeMounts:
    - {name: config, mountPath: /etc/nameplate/config, readOnly: true}
    {{- if $isPostgres }}
    - {name: postgres, mountPath: /etc/nameplate/postgres, readOnly: true}
    {{- else }}
    - {name: messages, mountPath: /var/lib/nameplate-messages}
    {{- end }}
    - {name: tmp, mountPath: /tmp}
    {{- if .Values.diagnostics.enabled }}
    - {name: diagnostics, mountPath: /var/lib/nameplate-diagnostics}
    {{- end }}
    {{- with .Values.messages.extraVolumeMounts }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with .Values.messages.extraContainers }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  volumes:
  - name: config
    configMap:
      name: {{ include "nameplate.messages.fullname" . }}
  {{- if $isPostgres }}
  {{- include "nameplate.messages.postgresVolume" . | trim | nindent 2 }}
  {{- end }}
  {{- if and .Values.messages.backup.enabled (not .Values.messages.backup.existingClaim) }}
  # Binds the claim. Otherwise, what waits for the release (Helm, Flux, Argo CD) would wait for the first backup.
  - name: backup
    persistentVolumeClaim: {claimName: {{ include "nameplate.messages.fullname" . }}-backup}
  {{- end }}
  # SQLite uses it for sorts that do not fit into memory.
  - name: tmp
    emptyDir: {sizeLimit: 256Mi}
  {{- if .Values.diagnostics.enabled }}
  - name: diagnostics
    emptyDir: {sizeLimit: {{ .Values.diagnostics.sizeLimit }}}
  {{- end }}
  {{- with .Values.messages.extraVolumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  {{- with include "nameplate.messages.scheduling" . }}
  {{- . | trim | nindent 2 }}
  {{- end }}
{{- end }}
