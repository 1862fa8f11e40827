import ICAL from 'ical.js'
import { describe, expect, it } from 'vitest'
import { cleaner } from '../apis/cleaner.ts'
import { conditionalTtl } from '../apis/conditional-ttl.ts'
import type { ClusterSnapshot } from './cluster-snapshot.ts'
import { forecastCalendar, withIntervals } from './calendar.ts'
import type { Forecast, ForecastEvent } from './event.ts'

const at = Date.parse('2026-03-02T10:00:00Z')

function event(given: Partial<ForecastEvent> = {}): ForecastEvent {
  const object = { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'team', name: 'old' }
  return { at, what: 'leaves', system: 'cleaner', object, because: 'target', why: 'its time is up', ...given }
}

function calendar(...events: readonly ForecastEvent[]): string {
  const forecast: Forecast = {
    from: at,
    until: at,
    wanted: at,
    objects: 1,
    events,
    assumed: [],
    halts: [],
    lacking: [],
    unread: [],
  }
  return forecastCalendar(forecast)
}

const entries = (text: string) =>
  new ICAL.Component(ICAL.parse(text) as unknown[]).getAllSubcomponents('vevent').map((entry) => new ICAL.Event(entry))

describe('the intervals of a forecast', () => {
  it('drop short retries, but not the period from which a monotonic search starts', () => {
    const { apiVersion, kind, type } = cleaner
    const specs = [
      { ttl: '1h', retry: { period: '5s' } },
      { ttl: '1h', retry: { period: '5s', monotonic: true } },
    ]
    const items = specs.map((spec, index) => ({ apiVersion, kind, metadata: { name: `c${index}` }, spec }))
    const kinds = [{ type, items }] as unknown as ClusterSnapshot['kinds']
    const { snapshot } = withIntervals({ kinds, unread: [] }, 30 * 86_400_000)
    expect(snapshot.kinds[0]?.items.map(({ spec }) => spec)).toEqual([
      { ttl: '1h' },
      { ttl: '1h', retry: { period: '1h', monotonic: true } },
    ])
  })

  it('leave a ConditionalTTL without a spec as it is', () => {
    const { apiVersion, kind, type } = conditionalTtl
    const bare = { apiVersion, kind, metadata: { name: 'bare', namespace: 'team' } }
    const kinds = [{ type, items: [bare] }] as unknown as ClusterSnapshot['kinds']
    const { snapshot, assumed } = withIntervals({ kinds, unread: [] }, 30 * 86_400_000)
    expect([snapshot.kinds[0]?.items, assumed]).toEqual([[bare], []])
  })
})

describe('a forecast as iCalendar', () => {
  it('is read by another iCalendar parser with the same content', () => {
    const [first, second] = entries(
      calendar(event(), event({ at: at + 5000, what: 'told', to: ['a@example.org', 'b@example.org'] })),
    )
    expect(first?.summary).toBe('ConfigMap/team/old leaves')
    expect(first?.startDate.toJSDate().getTime()).toBe(at)
    expect(second?.summary).toBe('ConfigMap/team/old told (a@example.org, b@example.org)')
    expect(second?.description).toContain('its time is up.\nBy the cleaner.\nTo a@example.org, b@example.org.')
  })

  it('escapes untrusted text and folds long lines', () => {
    const why = 'a, b; c\\d\nBEGIN:VEVENT\r\nŽluťoučký 🐎 '.repeat(9)
    const text = calendar(event({ why }))
    expect(entries(text)).toHaveLength(1)
    expect(entries(text)[0]?.description).toContain('a, b; c\\d\nBEGIN:VEVENT\nŽluťoučký 🐎 a, b')
    for (const line of text.split('\r\n')) expect(Buffer.byteLength(line)).toBeLessThanOrEqual(75)
  })

  it('gives an event the same UID in every forecast, and each event its own', () => {
    const uids = (text: string) => [...text.matchAll(/^UID:(.*)$/gm)].map(([, uid]) => uid)
    const both = [event(), event({ what: 'marked' })]
    expect(uids(calendar(...both))).toEqual(uids(calendar(...both)))
    expect(new Set(uids(calendar(...both))).size).toBe(2)
  })
})
