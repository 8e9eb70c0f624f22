{{- define "prom2otlp.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* Of 52 characters at most: the revision of a StatefulSet, which adds eleven, is a label of its pods. */}}
{{- define "prom2otlp.fullname" -}}
{{- $name := include "prom2otlp.name" . }}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" }}
{{- else if contains $name .Release.Name }}
{{- .Release.Name | trunc 52 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 52 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "prom2otlp.selector" -}}
app.kubernetes.io/name: {{ include "prom2otlp.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "prom2otlp.labels" -}}
{{ include "prom2otlp.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{/*
The configuration: what follows from the pod, and the values above it. The Secret has the real key, so nothing that says
where it goes has a default.
*/}}
{{- define "prom2otlp.config" -}}
{{- $secrets := "/run/secrets/prom2otlp" }}
{{- $api := dict "key" (printf "${file:%s/api-key}" $secrets) }}
{{- $status := dict "listen" "0.0.0.0:9464" "token" (printf "${file:%s/status-token}" $secrets) }}
{{- $config := dict "api" $api "status" $status }}
{{- if gt (int .Values.shards) 1 }}
{{- $_ := set $config "shard" (dict "index" "${env:SHARD}" "count" "${env:SHARDS}") }}
{{- end }}
{{- if and .Values.serviceMonitor.enabled .Values.workload.enabled }}
{{- $_ := set $config "telemetry" (dict "enabled" false) }}
{{- end }}
{{- $config = mergeOverwrite $config (deepCopy .Values.config) }}
{{- $otlp := $config.otlp | default dict }}
{{- $_ := required "set config.api.base_url to the address of the service" $config.api.base_url }}
{{- $_ := required "set config.services to a list of your database services, or to auto" (default "" $config.services) }}
{{- $_ := required "set config.otlp.endpoint to the address of your back end"
  (coalesce $otlp.endpoint $otlp.backend (dig "metrics" "endpoint" "" $otlp) (dig "logs" "endpoint" "" $otlp)
  $otlp.metrics_endpoint $otlp.logs_endpoint) }}
{{- toYaml $config }}
{{- end }}

{{- define "prom2otlp.port" -}}
{{- regexFind "[0-9]+$" (include "prom2otlp.config" . | fromYaml).status.listen | default "9464" }}
{{- end }}

{{- define "prom2otlp.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}
{{- end }}

{{/* The daemon's container, without its probes and resources. With restartPolicy: Always among the init containers it is a sidecar. */}}
{{- define "prom2otlp.container" -}}
name: prom2otlp
image: {{ include "prom2otlp.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
ports:
  - {name: status, containerPort: {{ include "prom2otlp.port" . }}}
{{- with .Values.securityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
env:
  # The reason for an exit, which `kubectl describe pod` shows. A killed process leaves only its log.
  - {name: PROM2OTLP_TERMINATION_MESSAGE, value: /dev/termination-log}
  {{- if gt (int .Values.shards) 1 }}
  # Here, and not in the ConfigMap: another number restarts every pod, since all divide by it.
  - {name: SHARDS, value: {{ .Values.shards | quote }}}
  - name: SHARD
    valueFrom:
      fieldRef: {fieldPath: "metadata.labels['apps.kubernetes.io/pod-index']"}
  {{- end }}
  {{- with .Values.extraEnv }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with .Values.extraEnvFrom }}
envFrom:
  {{- toYaml . | nindent 2 }}
{{- end }}
terminationMessagePath: /dev/termination-log
terminationMessagePolicy: FallbackToLogsOnError
volumeMounts:
  - {name: prom2otlp-config, mountPath: /etc/prom2otlp, readOnly: true}
  - {name: prom2otlp-secrets, mountPath: /run/secrets/prom2otlp, readOnly: true}
  - {name: prom2otlp-queue, mountPath: /var/lib/prom2otlp}
  - {name: prom2otlp-tmp, mountPath: /tmp}
  {{- with .Values.extraVolumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{/* All volumes of the container but the queue. They are mounted as folders: the daemon loads what changes in them. */}}
{{- define "prom2otlp.volumes" -}}
- name: prom2otlp-config
  configMap: {name: {{ include "prom2otlp.fullname" . }}}
- name: prom2otlp-secrets
  # Readable for all users: only this container mounts it, and the `fsGroup` of a sidecar's pod is the workload's.
  secret: {secretName: {{ .Values.existingSecret }}, defaultMode: 0444}
- name: prom2otlp-tmp
  emptyDir: {sizeLimit: 512Mi}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "prom2otlp.serviceAccount" -}}
{{ .Values.serviceAccount.name | default (ternary (include "prom2otlp.fullname" .) "default" .Values.serviceAccount.create) }}
{{- end }}

{{/*
For a chart that has this one as a dependency: an entry of the pod's initContainers. A limit of ephemeral storage would
hold for the whole pod, with the queue in an emptyDir.
*/}}
{{- define "prom2otlp.sidecar" -}}
{{- $limits := omit (.Values.resources.limits | default dict) "ephemeral-storage" -}}
- restartPolicy: Always
  {{- include "prom2otlp.container" . | nindent 2 }}
  # No startupProbe: the containers of the workload would wait for it, also while the daemon cannot start. The delay is for
  # a start with a long queue, which is checked first.
  livenessProbe:
    httpGet: {path: /healthz, port: status}
    initialDelaySeconds: 1800
    periodSeconds: 20
    timeoutSeconds: 5
  resources:
    {{- set (deepCopy .Values.resources) "limits" $limits | toYaml | nindent 4 }}
{{- end }}
