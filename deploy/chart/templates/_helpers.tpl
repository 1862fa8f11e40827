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
{{- if and (not .Values.separateRoles) .Values.webhook.tlsSecret .Values.promoter.tlsSecret (ne .Values.webhook.tlsSecret .Values.promoter.tlsSecret) -}}
{{- fail "webhook.tlsSecret and promoter.tlsSecret must be the same Secret, because one process serves both; or set separateRoles" -}}
{{- end -}}
{{- with .Values.dashboard -}}
{{- if and .enabled .oidc.issuer (not (and .publicUrl .oidc.clientId)) -}}
{{- fail "dashboard.oidc.issuer needs dashboard.publicUrl and dashboard.oidc.clientId" -}}
{{- end -}}
{{- if and .enabled .ingress.enabled (not .ingress.host) -}}
{{- fail "dashboard.ingress.enabled needs dashboard.ingress.host" -}}
{{- end -}}
{{- end -}}
{{- $enabled := false -}}
{{- range .Values.roles }}{{ if .enabled }}{{ $enabled = true }}{{ end }}{{ end -}}
{{- if not $enabled -}}
{{- fail "no role is enabled: set roles.ROLE.enabled for one of cleaner, collector, janitor, promoter, activator, environments" -}}
{{- end -}}
{{- if and .Values.webhook.tlsSecret (not .Values.webhook.caBundle) -}}
{{- fail "webhook.tlsSecret needs webhook.caBundle: the certificate authority that the API server trusts" -}}
{{- end -}}
{{- end -}}

{{/*
The Deployments, as a list: one for all roles, or one for each; and one for the proxy, which takes requests and may change nothing.
`parts` says what of the activator's work it does.
*/}}
{{- define "sojourn.workloads" -}}
{{- $all := list -}}
{{- $roles := list -}}
{{- $common := dict "env" list "envFrom" list "serviceAccountAnnotations" dict -}}
{{- range $role, $given := .Values.roles -}}
{{- if $given.enabled -}}
{{- $roles = append $roles $role -}}
{{- $own := dict "name" (printf "sojourn-%s" $role) "component" $role "roles" (list $role) "part" (ternary "scaler" "" (eq $role "activator")) -}}
{{- $all = append $all (merge $own (omit $given "enabled")) -}}
{{- $common = dict "env" (concat $common.env $given.env) "envFrom" (concat $common.envFrom $given.envFrom) "serviceAccountAnnotations" (merge $common.serviceAccountAnnotations $given.serviceAccountAnnotations) -}}
{{- end -}}
{{- end -}}
{{- if not .Values.separateRoles -}}
{{- $one := dict "name" "sojourn" "component" "controllers" "roles" $roles "part" (ternary "scaler" "" (has "activator" $roles)) "replicas" .Values.replicas -}}
{{- $all = list (merge $one $common) -}}
{{- end -}}
{{- if has "activator" $roles -}}
{{- $proxy := dict "name" "sojourn-proxy" "component" "proxy" "roles" (list "activator") "part" "proxy" -}}
{{- $given := .Values.roles.activator -}}
{{- $proxy = merge $proxy (dict "env" (concat $given.env .Values.proxy.env) "envFrom" (concat $given.envFrom .Values.proxy.envFrom)) -}}
{{- $all = append $all (merge $proxy (pick .Values.proxy "replicas" "resources" "serviceAccountAnnotations")) -}}
{{- end -}}
{{- if .Values.dashboard.enabled -}}
{{- $dashboard := dict "name" "sojourn-dashboard" "component" "dashboard" "roles" (list "dashboard") "part" "" -}}
{{- $all = append $all (merge $dashboard (pick .Values.dashboard "replicas" "resources" "env" "envFrom" "serviceAccountAnnotations")) -}}
{{- end -}}
{{- toYaml $all -}}
{{- end -}}

{{/* The ServiceAccount of a role, of the proxy, or of the dashboard. */}}
{{- define "sojourn.account" -}}
{{- ternary (printf "sojourn-%s" .role) "sojourn" (or .root.Values.separateRoles (has .role (list "proxy" "dashboard"))) -}}
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

{{- define "sojourn.image" -}}
{{- with .Values.image }}{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}{{ end -}}
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
    {{- range ternary (list .role) (list "cleaner" "promoter") .root.Values.separateRoles }}
    - sojourn-{{ . }}.{{ $.root.Release.Namespace }}.svc
    - sojourn-{{ . }}.{{ $.root.Release.Namespace }}.svc.cluster.local
    {{- end }}
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
