import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { parse, stringify } from 'yaml'

const files = join(import.meta.dirname, '../../../deploy/chart/files')
const hasPromtool = spawnSync('promtool', ['--version']).status === 0
if (!hasPromtool)
  console.warn(
    'SKIPPED: alerts were NOT shown to Prometheus, for there is no promtool here: apt-get install -y prometheus',
  )

interface Panel {
  readonly title: string
  readonly targets?: readonly { readonly expr: string }[]
}

interface Rule {
  readonly alert: string
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
}

describe.skipIf(!hasPromtool)('the alert rules and dashboard queries', () => {
  const directory = mkdtempSync(join(tmpdir(), 'sojourn-promtool-'))
  afterAll(() => rmSync(directory, { recursive: true, force: true }))
  const promtool = (...args: readonly string[]) => {
    const { status, stdout, stderr } = spawnSync('promtool', args, { encoding: 'utf8' })
    return { status, text: `${stdout}${stderr}` }
  }
  const write = (name: string, content: unknown) => {
    const path = join(directory, name)
    writeFileSync(path, typeof content === 'string' ? content : stringify(content))
    return path
  }

  it('have rules that promtool accepts', () => {
    const { status, text } = promtool('check', 'rules', join(files, 'alerts.yaml'))
    expect([status, text]).toEqual([0, expect.stringMatching(/SUCCESS: \d+ rules found/)])
  })

  it('have queries that all parse', () => {
    const { panels } = JSON.parse(readFileSync(join(files, 'dashboard.json'), 'utf8')) as { panels: readonly Panel[] }
    const queries = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
    expect(queries.length).toBeGreaterThan(20)
    const rules = queries.map((expr, index) => ({
      record: `panel:${index}`,
      expr: expr.replaceAll('$__rate_interval', '5m'),
    }))
    const { status, text } = promtool('check', 'rules', write('panels.yaml', { groups: [{ name: 'panels', rules }] }))
    expect([status, text]).toEqual([0, expect.stringContaining(`SUCCESS: ${queries.length} rules found`)])
  })

  it('do not add up a gauge that is the same in every replica', () => {
    const { panels } = JSON.parse(readFileSync(join(files, 'dashboard.json'), 'utf8')) as { panels: readonly Panel[] }
    const [target] = panels.find(({ title }) => title === 'departures breaker open')?.targets ?? []
    const input_series = ['a', 'b'].map((pod) => ({
      series: `sojourn_departures_breaker_open{pod="${pod}"}`,
      values: '1x5',
    }))
    const asked = { expr: target?.expr, eval_time: '5m', exp_samples: [{ labels: '{}', value: 1 }] }
    const tests = [{ interval: '1m', input_series, promql_expr_test: [asked] }]
    const { status, text } = promtool('test', 'rules', write('replicas.yaml', { tests }))
    expect([status, text]).toEqual([0, expect.stringContaining('SUCCESS')])
  })

  it('fire when no metrics arrive any more', () => {
    const { groups } = parse(readFileSync(join(files, 'alerts.yaml'), 'utf8')) as {
      readonly groups: readonly { readonly rules: readonly Rule[] }[]
    }
    const alertname = 'SojournAbsent'
    const rule = groups.flatMap(({ rules }) => rules).find(({ alert }) => alert === alertname)
    const expected = { exp_labels: rule?.labels, exp_annotations: rule?.annotations }
    const input_series = [{ series: 'sojourn_event_loop_lag_seconds_count{pod="a"}', values: '0+1x30 _x60' }]
    const alert_rule_test = [
      { eval_time: '30m', alertname, exp_alerts: [] },
      { eval_time: '60m', alertname, exp_alerts: [expected] },
    ]
    const tests = [{ interval: '1m', input_series, alert_rule_test }]
    const { status, text } = promtool(
      'test',
      'rules',
      write('absent.yaml', { rule_files: [join(files, 'alerts.yaml')], tests }),
    )
    expect([status, text]).toEqual([0, expect.stringContaining('SUCCESS')])
  })

  it.each([
    ['SojournBreakerOpen', 'sojourn_departures_breaker_open', {}, '1m', '1x180'],
    ['SojournCircuitOpen', 'sojourn_janitor_circuit_open', { policy: 'p', location: 'home' }, '1m', '1x180'],
    ['SojournCacheInTrouble', 'sojourn_cache_trouble', { cluster: 'edge', kind: 'pods' }, '11m', '1x180'],
    ['SojournKeysFailing', 'sojourn_controller_keys', { controller: 'cleaner', state: 'failing' }, '31m', '1x180'],
    ['SojournWorkRefused', 'sojourn_janitor_troubles_total', { policy: 'p', action: 'Mark' }, '63m', '0+1x180'],
    [
      'SojournNoticesFailing',
      'sojourn_janitor_notices_total',
      { policy: 'p', channel: 'mail', result: 'rejected' },
      '63m',
      '0+1x180',
    ],
    ['SojournPromotionsFailing', 'sojourn_promoter_effects_total', { do: 'push', result: 'failed' }, '63m', '0+1x180'],
    ['SojournRequestsRefused', 'sojourn_activator_refused_total', { route: 'team/shop' }, '13m', '0+1x180'],
  ])('fire %s when %s is bad for long enough, and not before', (alertname, metric, labels, after, values) => {
    const pairs = Object.entries(labels).map(([name, value]) => `${name}="${value}"`)
    const { state: _, result: __, ...kept } = labels as Record<string, string | undefined>
    const { groups } = parse(readFileSync(join(files, 'alerts.yaml'), 'utf8')) as {
      readonly groups: readonly { readonly rules: readonly Rule[] }[]
    }
    const rule = groups.flatMap(({ rules }) => rules).find(({ alert }) => alert === alertname)
    const expected = { exp_labels: { ...rule?.labels, ...kept }, exp_annotations: rule?.annotations }
    const series = (said: string) => [{ series: `${metric}{${pairs.join(',')}}`, values: said }]
    const tests = [
      {
        interval: '1m',
        input_series: series(values),
        alert_rule_test: [{ eval_time: after, alertname, exp_alerts: [expected] }],
      },
      {
        interval: '1m',
        input_series: series('0x180'),
        alert_rule_test: [{ eval_time: '1h', alertname, exp_alerts: [] }],
      },
    ]
    const { status, text } = promtool(
      'test',
      'rules',
      write(`${alertname}.yaml`, { rule_files: [join(files, 'alerts.yaml')], tests }),
    )
    expect([status, text]).toEqual([0, expect.stringContaining('SUCCESS')])
  })
})
