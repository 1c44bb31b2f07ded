{{/*
What runs before an upgrade: `check`, whether PostgreSQL can take the messages of SQLite, which still serves; `undo`,
which takes them back to SQLite. If it fails, nothing is upgraded.
Once the Deployment has replaced the StatefulSet, the messages have been moved or are on their way: nothing to check.
*/}}
{{- define "nameplate.messages.migrationHook" -}}
{{- if .Values.messages.enabled }}
{{- $isPostgres := eq (include "nameplate.messages.store" .) "postgres" }}
{{- $undoes := .Values.messages.postgres.undoMigration }}
{{- if and $isPostgres $undoes }}
{{- fail "messages.postgres.undoMigration moves the messages back to SQLite: set messages.config.store.kind=sqlite, too" }}
{{- end }}
{{- $name := include "nameplate.messages.fullname" . }}
{{- $isReplaced := lookup "apps/v1" "Deployment" .Release.Namespace $name }}
{{- $isMoved := and $isReplaced (not (lookup "apps/v1" "StatefulSet" .Release.Namespace $name)) }}
{{- if $undoes }}undo{{ else if and $isPostgres .Values.messages.postgres.migrate (not $isMoved) }}check{{ end }}
{{- end }}
{{- end }}

{{- define "nameplate.messages.migrationHookAnnotations" -}}
helm.sh/hook: pre-upgrade
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
helm.sh/hook-output-log-policy: hook-succeeded,hook-failed
{{- end }}

{{/* The configuration of `messages migrate`, which has both stores. */}}
{{- define "nameplate.messages.migrationConfig" -}}
{{- $store := dict "kind" "postgres" "folder" "/var/lib/nameplate-messages" "postgres" (include "nameplate.messages.postgresFiles" . | fromYaml) }}
{{- mergeOverwrite (include "nameplate.messages.config" . | fromYaml) (dict "store" $store) | toYaml }}
{{- end }}

{{/* A pod that runs `messages migrate`. Takes root, config (the name of the ConfigMap), restartPolicy, and flags. */}}
{{- define "nameplate.messages.migrationPod" -}}
{{- $root := .root -}}
metadata:
  labels:
    {{- include "nameplate.componentLabels" (dict "root" $root "component" "messages-migration") | nindent 4 }}
spec:
  restartPolicy: {{ .restartPolicy }}
  automountServiceAccountToken: false
  {{- with $root.Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- include "nameplate.podSecurity" $root | trim | nindent 2 }}
  {{- with $root.Values.messages.tolerations | default $root.Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  containers:
  - name: migrate
    image: {{ include "nameplate.image" $root }}
    imagePullPolicy: {{ $root.Values.image.pullPolicy }}
    command: [node, /app/messages.mjs]
    args: {{ concat (list "migrate" "--config" "/etc/nameplate/config/messages.yaml") .flags | toJson }}
    securityContext:
      {{- include "nameplate.securityContext" $root | nindent 6 }}
    {{- with $root.Values.messages.resources }}
    resources:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    volumeMounts:
    - {name: config, mountPath: /etc/nameplate/config, readOnly: true}
    - {name: postgres, mountPath: /etc/nameplate/postgres, readOnly: true}
    {{- if not (has "--check" .flags) }}
    - {name: messages, mountPath: /var/lib/nameplate-messages}
    {{- end }}
    - {name: tmp, mountPath: /tmp}
  volumes:
  - name: config
    configMap:
      name: {{ .config }}
  {{- include "nameplate.messages.postgresVolume" $root | trim | nindent 2 }}
  {{- if not (has "--check" .flags) }}
  - name: messages
    persistentVolumeClaim: {claimName: messages-{{ include "nameplate.messages.fullname" $root }}-0}
  {{- end }}
  - name: tmp
    emptyDir: {sizeLimit: 256Mi}
{{- end }}
