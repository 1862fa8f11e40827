import { startTestServer } from '../test/apiserver/test-server.ts'
import { readConfig } from '../src/app/config/config.ts'
import { createInstance } from '../src/app/core/instance.ts'
import { clusterRoles } from '../src/app/install/rbac.ts'
import { registerKinds } from '../src/admission/register-kinds.ts'
import { startSystems } from '../src/app/core/systems.ts'
import { Client } from '../src/client/client.ts'
import { silentLogger } from '../src/runtime/observability/log.ts'
import { loopLag } from '../src/runtime/observability/process-metrics.ts'
import type { DeclaredMetric } from '../src/runtime/observability/metrics.ts'
import { quietClock } from '../src/runtime/time/quiet-clock.ts'
import { VirtualClock } from '../src/runtime/time/virtual-clock.ts'

/** Every metric that the running systems declare. */
export async function declaredMetrics(): Promise<readonly DeclaredMetric[]> {
  const clock = new VirtualClock(0)
  const caches = quietClock(clock)
  await using server = await startTestServer({ clock: caches })
  const client = new Client(server.transport)
  await registerKinds(client)
  const config = readConfig({ flags: { 'proxy-port': '0' }, env: {} })
  const instance = createInstance({ config, client, clock, log: silentLogger, cacheClock: caches })
  instance.lifecycle.runEverywhere(loopLag(instance))
  await startSystems(instance, clusterRoles)
  await instance.lifecycle.stop()
  return instance.metrics.declarations()
}

interface Alert {
  readonly name: string
  readonly metric: string
  /** A PromQL expression in which `METRIC` stands for the metric's name. */
  readonly expression: string
  readonly for: string
  /** Severity `critical` instead of `warning`: it should page. */
  readonly critical?: true
  readonly summary: string
  /** What to do about it. */
  readonly description: string
}

const alerts: readonly Alert[] = [
  {
    name: 'SojournAbsent',
    metric: 'sojourn_event_loop_lag_seconds',
    expression: 'absent(METRIC_count)',
    for: '15m',
    summary: 'Prometheus receives no metrics from Sojourn: it is not running, or it is not scraped.',
    description:
      'If Sojourn is not running, nothing is deleted, announced or woken. No other Sojourn alert can fire meanwhile. Check "kubectl -n sojourn-system get pods" and the targets page of Prometheus.',
  },
  {
    name: 'SojournBreakerOpen',
    metric: 'sojourn_departures_breaker_open',
    expression: 'max(METRIC) == 1',
    for: '0m',
    critical: true,
    summary:
      'The circuit breaker is open after too many deletions; nothing is deleted until an administrator closes it.',
    description:
      'Check "sojourn departures -A", restore objects deleted by mistake, correct the rule, then run "sojourn departures --close-breaker".',
  },
  {
    name: 'SojournCircuitOpen',
    metric: 'sojourn_janitor_circuit_open',
    expression: 'max by (policy, location) (METRIC) == 1',
    for: '0m',
    summary: 'A CleanupPolicy stopped marking, because its findings look wrong.',
    description:
      '"kubectl describe cleanuppolicy NAME" says why. If the findings are right: POST /janitor/policies/NAME/close-circuit.',
  },
  {
    name: 'SojournCacheInTrouble',
    metric: 'sojourn_cache_trouble',
    expression: 'max by (cluster, kind) (METRIC) == 1',
    for: '10m',
    summary: 'A kind cannot be watched; no decision that depends on it is made.',
    description: 'The log says why: a missing permission, or an unreachable cluster.',
  },
  {
    name: 'SojournKeysFailing',
    metric: 'sojourn_controller_keys',
    expression: 'sum by (controller) (METRIC{state="failing"}) > 0',
    for: '30m',
    summary: 'The reconciliation of some objects has failed for half an hour.',
    description: 'The log names the objects and the errors; "sojourn explain KIND/NAME" shows the last decision.',
  },
  {
    name: 'SojournWorkRefused',
    metric: 'sojourn_janitor_troubles_total',
    expression: 'sum by (policy, action) (increase(METRIC[1h])) > 0',
    for: '1h',
    summary: 'The janitor cannot do part of its work.',
    description: 'The conditions of the CleanupPolicy and the messages of its CleanupCandidates say what was refused.',
  },
  {
    name: 'SojournNoticesFailing',
    metric: 'sojourn_janitor_notices_total',
    expression: 'sum by (policy, channel) (increase(METRIC{result!="accepted"}[1h])) > 0',
    for: '1h',
    summary: 'Notices to owners fail; their objects are not deleted meanwhile.',
    description:
      'status.notices of the CleanupCandidates has the errors; check the NotificationChannel and its Secret.',
  },
  {
    name: 'SojournPromotionsFailing',
    metric: 'sojourn_promoter_effects_total',
    expression: 'sum by (do) (increase(METRIC{result="failed"}[1h])) > 0',
    for: '1h',
    summary: 'Git hosts, repositories or webhooks refuse requests of promotions.',
    description: '"kubectl get pipelines -A" shows the stalled Pipelines; "sojourn explain pipeline/NAME" says why.',
  },
  {
    name: 'SojournRequestsRefused',
    metric: 'sojourn_activator_refused_total',
    expression: 'sum by (route) (rate(METRIC[5m])) > 0',
    for: '10m',
    summary: 'The proxy refuses requests instead of holding them.',
    description:
      'The header x-sojourn-because of the responses names the reason; "sojourn explain service/NAME" says what the workload waits for.',
  },
]

/** Alerting rules for Prometheus. Throws when a rule uses a metric or label that no system declares. */
export function alertRules(metrics: readonly DeclaredMetric[]): Readonly<Record<string, unknown>> {
  return {
    groups: [
      {
        name: 'sojourn',
        rules: alerts.map(({ name, metric, expression, for: lasting, critical, summary, description }) => {
          const declared = metrics.find((candidate) => candidate.name === metric)
          if (!declared) throw new Error(`alert ${name} uses ${metric}, which no system declares`)
          const asked = /by \(([^)]*)\)/.exec(expression)?.[1]?.split(', ') ?? []
          const unknown = asked.find((label) => !declared.labels?.includes(label))
          if (unknown !== undefined) throw new Error(`alert ${name}: ${metric} has no label ${unknown}`)
          return {
            alert: name,
            expr: expression.replace('METRIC', metric),
            for: lasting,
            labels: { severity: critical ? 'critical' : 'warning' },
            annotations: { summary, description },
          }
        }),
      },
    ],
  }
}

interface Figure {
  readonly title: string
  readonly expression: string
  readonly unit?: string
  /** Values from here on are red; undefined where no value is bad. */
  readonly badFrom?: number
}

/** The first row of the dashboard. */
const figures: readonly Figure[] = [
  { title: 'Breaker open', expression: 'max(sojourn_departures_breaker_open)', badFrom: 1 },
  { title: 'Deleted in a day', expression: countedInADay('sojourn_departures_total{result=~"gone|leaving"}') },
  { title: 'Held or refused in a day', expression: countedInADay('sojourn_departures_total{result=~"held|refused"}') },
  { title: 'Objects failing', expression: 'sum(sojourn_controller_keys{state="failing"})', badFrom: 1 },
  { title: 'Kinds not watched', expression: 'sum(max by (cluster, kind) (sojourn_cache_trouble))', badFrom: 1 },
  { title: 'Requests waiting', expression: 'sum(sojourn_activator_waiting)' },
  {
    title: 'Cost saved in a day',
    // A new leader begins with the reports of the former one, which may still be scraped.
    expression: 'sum(max by (namespace, system, currency) (increase(sojourn_saved_cost_total[24h])))',
  },
  { title: 'Processes', expression: 'count(sojourn_event_loop_lag_seconds_count)' },
]

/** `increase` misses the value with which a series begins: that is added for series that are younger than a day. */
function countedInADay(counter: string): string {
  const began = `sum(min_over_time(${counter}[24h]) unless ${counter} offset 24h)`
  return `(sum(increase(${counter}[24h])) or vector(0)) + (${began} or vector(0))`
}

/** Throws when a figure uses a metric that no system declares. */
function figurePanel(
  { title, expression, unit = 'short', badFrom }: Figure,
  index: number,
  names: ReadonlySet<string>,
) {
  const asked = (/sojourn_[a-z_]+/.exec(expression)?.[0] ?? '').replace(/_(count|sum|bucket)$/, '')
  if (!names.has(asked)) throw new Error(`figure ${title} asks for ${asked}, which nothing declares`)
  const steps = [
    { color: badFrom === undefined ? 'text' : 'green', value: null },
    ...(badFrom === undefined ? [] : [{ color: 'red', value: badFrom }]),
  ]
  return {
    type: 'stat',
    title,
    datasource: { type: 'prometheus', uid: '${datasource}' },
    gridPos: { x: index * 3, y: 1, w: 3, h: 4 },
    fieldConfig: { defaults: { unit, decimals: 0, thresholds: { mode: 'absolute', steps } }, overrides: [] },
    options: { colorMode: 'value', graphMode: 'none', reduceOptions: { calcs: ['lastNotNull'] } },
    targets: [{ refId: 'A', expr: expression, instant: true }],
  }
}

/** A Grafana dashboard: the most important figures, then one panel per metric, with one row per system. */
export function grafanaDashboard(metrics: readonly DeclaredMetric[]): Readonly<Record<string, unknown>> {
  const rows = Map.groupBy(metrics, ({ name }) => name.split('_')[1] ?? '')
  const names = new Set(metrics.map(({ name }) => name))
  let id = 0
  const first = [
    { id: ++id, type: 'row', title: 'at a glance', gridPos: { x: 0, y: 0, w: 24, h: 1 }, panels: [] },
    ...figures.map((figure, index) => ({ id: ++id, ...figurePanel(figure, index, names) })),
  ]
  let y = 5
  const panels = [...rows].flatMap(([row, members]) => {
    const title = { id: ++id, type: 'row', title: row, gridPos: { x: 0, y: y++, w: 24, h: 1 }, panels: [] }
    const shown = members.map((metric, index) => ({
      id: ++id,
      type: 'timeseries',
      title: metric.name.slice('sojourn_'.length).replaceAll('_', ' '),
      description: metric.help,
      datasource: { type: 'prometheus', uid: '${datasource}' },
      gridPos: { x: (index % 3) * 8, y: y + Math.floor(index / 3) * 7, w: 8, h: 7 },
      fieldConfig: { defaults: { unit: unitOf(metric.name) }, overrides: [] },
      targets: queriesOf(metric),
    }))
    y += Math.ceil(members.length / 3) * 7
    return [title, ...shown]
  })
  return {
    uid: 'sojourn',
    title: 'Sojourn',
    tags: ['sojourn'],
    schemaVersion: 39,
    time: { from: 'now-6h', to: 'now' },
    refresh: '1m',
    templating: { list: [{ name: 'datasource', type: 'datasource', query: 'prometheus' }] },
    panels: [...first, ...panels],
  }
}

/** Gauges that have the same value in every replica, so they are not summed. */
const toldByEach = new Set([
  'sojourn_activator_wake_failed',
  'sojourn_cache_objects',
  'sojourn_cache_trouble',
  'sojourn_departures_breaker_open',
  'sojourn_janitor_circuit_open',
  'sojourn_janitor_resources',
  'sojourn_promoter_forge_budget_left',
])

function queriesOf({ kind, name, labels = [] }: DeclaredMetric): readonly Readonly<Record<string, string>>[] {
  const by = labels.length > 0 ? ` by (${labels.join(', ')})` : ''
  const legendFormat = labels.map((label) => `{{${label}}}`).join(' ')
  switch (kind) {
    case 'counter':
      return [{ refId: 'A', expr: `sum${by} (rate(${name}[$__rate_interval]))`, legendFormat }]
    case 'gauge':
      return [{ refId: 'A', expr: `${toldByEach.has(name) ? 'max' : 'sum'}${by} (${name})`, legendFormat }]
    case 'histogram':
      return ['0.5', '0.99'].map((quantile, index) => ({
        refId: index === 0 ? 'A' : 'B',
        expr: `histogram_quantile(${quantile}, sum by (${['le', ...labels].join(', ')}) (rate(${name}_bucket[$__rate_interval])))`,
        legendFormat: `p${Number(quantile) * 100} ${legendFormat}`.trim(),
      }))
  }
}

function unitOf(name: string): string {
  return name.endsWith('_seconds') ? 's' : 'short'
}
