{{/* Names and parts that both Deployments share. */}}

{{- define "postrider.fullname" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "postrider.selector" -}}
app.kubernetes.io/name: postrider
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "postrider.labels" -}}
{{ include "postrider.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{/* Selects the pods of a role. Takes the root and the role. */}}
{{- define "postrider.roleSelector" -}}
{{ include "postrider.selector" .root }}
app.kubernetes.io/component: {{ .role }}
{{- end -}}

{{/* Variables of Temporal's standard configuration. */}}
{{- define "postrider.temporalEnvironment" -}}
- { name: TEMPORAL_ADDRESS, value: {{ required "temporal.address is required: host:port of the Temporal server" .Values.temporal.address | quote }} }
- { name: TEMPORAL_NAMESPACE, value: {{ .Values.temporal.namespace | quote }} }
{{- with .Values.temporal }}
{{- if or .tls .clientSecret }}
- { name: TEMPORAL_TLS, value: 'true' }
{{- end }}
{{- if .clientSecret }}
- { name: TEMPORAL_TLS_CLIENT_CERT_PATH, value: /run/temporal/tls.crt }
- { name: TEMPORAL_TLS_CLIENT_KEY_PATH, value: /run/temporal/tls.key }
{{- if .clientSecretHasAuthority }}
- { name: TEMPORAL_TLS_SERVER_CA_CERT_PATH, value: /run/temporal/ca.crt }
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Each secret that is named: the variable that names its file, and where that file comes from. */}}
{{- define "postrider.secretVariables" -}}
databaseUrl: DATABASE_URL_FILE
adminToken: POSTRIDER_ADMIN_TOKEN_FILE
encryptionKeys: POSTRIDER_ENCRYPTION_KEYS_FILE
temporalApiKey: TEMPORAL_API_KEY_FILE
otlpHeaders: OTEL_EXPORTER_OTLP_HEADERS_FILE
{{- end -}}

{{- define "postrider.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
