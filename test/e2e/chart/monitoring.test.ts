import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { stringify } from 'yaml'

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

describe.skipIf(!hasPromtool)('what Prometheus is given', () => {
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

  it('are alert rules', () => {
    const { status, text } = promtool('check', 'rules', join(files, 'alerts.yaml'))
    expect([status, text]).toEqual([0, expect.stringMatching(/SUCCESS: \d+ rules found/)])
  })

  it('are queries of which every one can be read', () => {
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

  it.each([
    ['SojournBreakerOpen', 'sojourn_departures_breaker_open', {}, '1m'],
    ['SojournCacheInTrouble', 'sojourn_cache_trouble', { cluster: 'edge', kind: 'pods' }, '11m'],
    ['SojournKeysFailing', 'sojourn_controller_keys', { controller: 'cleaner', state: 'failing' }, '31m'],
  ])('ring %s when %s stands at 1 for long enough, and not before', (alertname, metric, labels, after) => {
    const pairs = Object.entries(labels).map(([name, value]) => `${name}="${value}"`)
    const { state: _, ...kept } = { state: undefined, ...labels } as Record<string, string | undefined>
    const summary = /summary: (.*)/g
    const rule =
      readFileSync(join(files, 'alerts.yaml'), 'utf8')
        .split('- alert: ')
        .find((text) => text.startsWith(alertname)) ?? ''
    const expected = {
      exp_labels: { severity: 'warning', ...kept },
      exp_annotations: { summary: summary.exec(rule)?.[1]?.replace(/^"|"$/g, '') },
    }
    const series = (value: number) => [{ series: `${metric}{${pairs.join(',')}}`, values: `${value}x60` }]
    const tests = [
      {
        interval: '1m',
        input_series: series(1),
        alert_rule_test: [{ eval_time: after, alertname, exp_alerts: [expected] }],
      },
      { interval: '1m', input_series: series(0), alert_rule_test: [{ eval_time: '1h', alertname, exp_alerts: [] }] },
    ]
    const { status, text } = promtool(
      'test',
      'rules',
      write(`${alertname}.yaml`, { rule_files: [join(files, 'alerts.yaml')], tests }),
    )
    expect([status, text]).toEqual([0, expect.stringContaining('SUCCESS')])
  })
})
