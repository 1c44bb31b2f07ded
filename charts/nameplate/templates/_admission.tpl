{{/*
What the admission policies share. All of them are ValidatingAdmissionPolicies: the API server evaluates them itself.
https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/

The match conditions of a policy let pass what it has nothing to say about, and only then query RBAC about the writer.
This is for speed: the API server converts the object once for all match conditions of a policy, but three times more for
its validations, messages, and audit annotations, and it evaluates every message even if nothing is rejected. Converting
the object costs more than evaluating any of these expressions. A selector costs nothing.

CEL counts one RBAC query as a third of what an expression may cost, so each query is a separate variable, or a match
condition with little else.
*/}}

{{/* The head of a policy. Takes a dict: root, name. */}}
{{- define "nameplate.admissionPolicyMetadata" -}}
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: {{ .name }}
  labels:
    {{- include "nameplate.labels" .root | nindent 4 }}
{{- end }}

{{/* Takes a dict: root, name. In audit mode, the API server rejects nothing: it warns the writer and annotates its audit
log. */}}
{{- define "nameplate.admissionPolicyBinding" -}}
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: {{ .name }}
  labels:
    {{- include "nameplate.labels" .root | nindent 4 }}
spec:
  policyName: {{ .name }}
  validationActions: {{ eq .root.Values.admission.mode "audit" | ternary "[Audit, Warn]" "[Deny]" }}
{{- end }}

{{/* CEL: the writer may not write edge routes. RBAC decides, by a resource that exists only for this query. */}}
{{- define "nameplate.admission.notTrusted" -}}
!authorizer.group('nameplate.dev').resource('routes').check('manage').allowed()
{{- end }}

{{/*
Variables of a policy: the writer is a legitimate writer of the resource's status. It is in admission.statusWriters, or
it may write that status in all namespaces. Controllers of the platform may (a kubelet, the edge, a load balancer); a
tenant never may. Takes a dict: group, resource (both CEL).
*/}}
{{- define "nameplate.admission.statusWriterVariables" -}}
- name: isStatusWriter
  expression: authorizer.group('nameplate.dev').resource('statuses').check('write').allowed()
- name: writesStatusEverywhere
  expression: >-
    ['update', 'patch'].exists(verb,
    authorizer.group({{ .group }}).resource({{ .resource }}).subresource('status').check(verb).allowed())
{{- end }}

{{/*
Variables of a policy that checks more than a status: a legitimate writer writes the status and nothing else. For
Kubernetes' own kinds, a write to the status can also change labels, annotations, and finalizers, and annotations decide
where a route points.
*/}}
{{- define "nameplate.admission.statusByItsWriterVariables" -}}
{{ include "nameplate.admission.statusWriterVariables" (dict "group" "request.resource.group" "resource" "request.resource.resource") }}
- name: writesOnlyStatus
  expression: >-
    request.?subResource.orValue('') == 'status' && oldObject != null &&
    object.metadata.?labels == oldObject.metadata.?labels &&
    object.metadata.?annotations == oldObject.metadata.?annotations &&
    object.metadata.?finalizers == oldObject.metadata.?finalizers &&
    object.metadata.?ownerReferences == oldObject.metadata.?ownerReferences
- name: isStatusByItsWriter
  expression: variables.writesOnlyStatus && (variables.writesStatusEverywhere || variables.isStatusWriter)
{{- end }}

{{/* A regular expression, within a CEL string: names that are reserved for the objects of a host. */}}
{{- define "nameplate.admission.reservedName" -}}
^np-[a-z2-7]{20}(-.*)?$
{{- end }}

{{/* Not empty if Nameplate serves hosts on a Gateway. Otherwise, no tenant may write any kind of the Gateway API. */}}
{{- define "nameplate.admission.servesOnGateway" -}}
{{- if eq .Values.config.routing.provider "gateway" }}true{{ end }}
{{- end }}

{{/* The list as a CEL literal. */}}
{{- define "nameplate.admission.celList" -}}
{{- toJson . | replace "\"" "'" }}
{{- end }}
