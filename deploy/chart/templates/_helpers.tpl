{{- define "sojourn.check" -}}
{{- if ne .Release.Namespace "sojourn-system" -}}
{{- fail "sojourn keeps its switches and records in sojourn-system: install it there, with -n sojourn-system --create-namespace" -}}
{{- end -}}
{{- if and .Values.webhook.certManager.enabled (not .Values.webhook.certManager.issuerRef.name) -}}
{{- fail "webhook.certManager.issuerRef must name an issuer" -}}
{{- end -}}
{{- if and .Values.webhook.tlsSecret (not .Values.webhook.caBundle) -}}
{{- fail "webhook.tlsSecret needs webhook.caBundle: whom the cluster shall trust" -}}
{{- end -}}
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

{{- define "sojourn.webhookSecret" -}}
{{- if .Values.webhook.certManager.enabled -}}
sojourn-webhook-tls
{{- else -}}
{{ .Values.webhook.tlsSecret }}
{{- end -}}
{{- end -}}
