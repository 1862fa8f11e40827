{{- define "sojourn.check" -}}
{{- if ne .Release.Namespace "sojourn-system" -}}
{{- fail "sojourn keeps its switches and records in sojourn-system: install it there, with -n sojourn-system --create-namespace" -}}
{{- end -}}
{{- if and .Values.webhook.certManager.enabled (not .Values.webhook.certManager.issuerRef.name) -}}
{{- fail "webhook.certManager.issuerRef must name an issuer" -}}
{{- end -}}
{{- if and .Values.promoter.certManager.enabled (not .Values.promoter.certManager.issuerRef.name) -}}
{{- fail "promoter.certManager.issuerRef must name an issuer" -}}
{{- end -}}
{{- if and .Values.proxy.takeover.enabled (gt (int .Values.proxy.takeover.fromPort) (int .Values.proxy.takeover.toPort)) -}}
{{- fail "proxy.takeover.fromPort must not be above proxy.takeover.toPort" -}}
{{- end -}}
{{- if and (eq .Values.tenancy.admission "Webhook") (not (and .Values.webhook.enabled .Values.roles.cleaner.enabled)) -}}
{{- fail "tenancy.admission Webhook needs webhook.enabled and roles.cleaner.enabled: the cleaner serves it" -}}
{{- end -}}
{{- $enabled := false -}}
{{- range .Values.roles }}{{ if .enabled }}{{ $enabled = true }}{{ end }}{{ end -}}
{{- if not $enabled -}}
{{- fail "no role is enabled: set roles.ROLE.enabled for one of cleaner, collector, janitor, promoter, activator" -}}
{{- end -}}
{{- if and .Values.webhook.tlsSecret (not .Values.webhook.caBundle) -}}
{{- fail "webhook.tlsSecret needs webhook.caBundle: the certificate authority that the API server trusts" -}}
{{- end -}}
{{- end -}}

{{/* What records the creators of objects: MAP, Webhook or Off. */}}
{{- define "sojourn.creatorAdmission" -}}
{{- if ne .Values.tenancy.admission "Auto" -}}
{{- .Values.tenancy.admission -}}
{{- else if .Capabilities.APIVersions.Has "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy" -}}
MAP
{{- else if and .Values.webhook.enabled .Values.roles.cleaner.enabled -}}
Webhook
{{- else -}}
Off
{{- end -}}
{{- end -}}

{{/* A generated file, with the users of tenancy.restorers in it. */}}
{{- define "sojourn.withRestorers" -}}
{{- $names := list -}}
{{- range .root.Values.tenancy.restorers }}{{ $names = append $names (printf "'%s'" .) }}{{ end -}}
{{- .root.Files.Get .file | replace "'@restorers@'" (join ", " $names) -}}
{{- end -}}

{{- define "sojourn.selector" -}}
app.kubernetes.io/name: sojourn
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .role }}
{{- end -}}

{{- define "sojourn.labels" -}}
{{ include "sojourn.selector" . }}
app.kubernetes.io/part-of: sojourn
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
{{- end -}}

{{/* The Secret with a role's certificate, if cert-manager or the administrator provides it. */}}
{{- define "sojourn.certificate" -}}
{{- $values := dict -}}
{{- if and (eq .role "cleaner") .root.Values.webhook.enabled }}{{ $values = .root.Values.webhook }}{{ end -}}
{{- if eq .role "promoter" }}{{ $values = .root.Values.promoter }}{{ end -}}
{{- if dig "certManager" "enabled" false $values -}}
{{ ternary "sojourn-webhook-tls" "sojourn-promoter-tls" (eq .role "cleaner") }}
{{- else -}}
{{ dig "tlsSecret" "" $values }}
{{- end -}}
{{- end -}}

{{/* The Certificate that cert-manager issues. */}}
{{- define "sojourn.certManager" }}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata:
  name: {{ .name }}
  namespace: {{ .root.Release.Namespace }}
  labels: {{- include "sojourn.labels" . | nindent 4 }}
spec:
  secretName: {{ include "sojourn.certificate" . }}
  dnsNames:
    - sojourn-{{ .role }}.{{ .root.Release.Namespace }}.svc
    - sojourn-{{ .role }}.{{ .root.Release.Namespace }}.svc.cluster.local
  issuerRef: {{- toYaml .issuerRef | nindent 4 }}
{{- end }}

{{/* The Secret in which a role keeps the certificate it issues itself. The role fills it; upgrades do not touch its data. */}}
{{- define "sojourn.keptCertificate" }}
---
apiVersion: v1
kind: Secret
metadata:
  name: {{ .name }}
  namespace: {{ .root.Release.Namespace }}
  labels: {{- include "sojourn.labels" . | nindent 4 }}
type: Opaque
{{- end }}
