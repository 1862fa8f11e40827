import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Metrics } from './metrics.ts'

describe('Metrics', () => {
  it('renders what Prometheus reads', () => {
    const metrics = new Metrics()
    const done = metrics.counter({ name: 'done_total', help: 'What was done.', labels: ['system'] })
    const depth = metrics.gauge({ name: 'depth', help: 'How\nmuch waits.' })
    const took = metrics.histogram({ name: 'took_seconds', help: 'How long.', labels: ['system'], buckets: [0.1, 1] })
    done.inc({ system: 'cle"an\\er\n' })
    done.inc({ system: 'b' }, 2.5)
    depth.set({}, 7)
    for (const value of [0.1, 0.5, 3]) took.observe({ system: 'a' }, value)
    expect(metrics.render()).toBe(`# HELP done_total What was done.
# TYPE done_total counter
done_total{system="cle\\"an\\\\er\\n"} 1
done_total{system="b"} 2.5
# HELP depth How\\nmuch waits.
# TYPE depth gauge
depth 7
# HELP took_seconds How long.
# TYPE took_seconds histogram
took_seconds_bucket{system="a",le="0.1"} 1
took_seconds_bucket{system="a",le="1"} 2
took_seconds_bucket{system="a",le="+Inf"} 3
took_seconds_sum{system="a"} 3.6
took_seconds_count{system="a"} 3
`)
  })

  it('gives the same metric to who declares it again in the same words', () => {
    const metrics = new Metrics()
    const declaration = { name: 'a_total', help: 'A.', labels: ['x'] as const }
    metrics.counter(declaration).inc({ x: '1' })
    expect(metrics.counter(declaration).value({ x: '1' })).toBe(1)
  })

  it.each([
    ['another help', (metrics: Metrics) => metrics.counter({ name: 'a_total', help: 'B.' })],
    ['another kind', (metrics: Metrics) => metrics.gauge({ name: 'a_total', help: 'A.' })],
    ['other labels', (metrics: Metrics) => metrics.counter({ name: 'a_total', help: 'A.', labels: ['x'] })],
    ['a bad name', (metrics: Metrics) => metrics.counter({ name: 'a-total', help: 'A.' })],
    ['a bad label', (metrics: Metrics) => metrics.histogram({ name: 'b', help: 'B.', labels: ['le'] })],
  ])('refuses %s', (_, declare) => {
    const metrics = new Metrics()
    metrics.counter({ name: 'a_total', help: 'A.' })
    expect(() => declare(metrics)).toThrow(/a_total|a-total|label/)
  })

  it('lists every declaration once, by name', () => {
    const metrics = new Metrics()
    metrics.gauge({ name: 'b', help: 'B.' })
    metrics.counter({ name: 'a_total', help: 'A.', labels: ['x'] })
    expect(metrics.declarations()).toEqual([
      { kind: 'counter', name: 'a_total', help: 'A.', labels: ['x'] },
      { kind: 'gauge', name: 'b', help: 'B.', labels: [] },
    ])
  })

  it('asks its collectors before each rendering, until they leave', () => {
    const metrics = new Metrics()
    const gauge = metrics.gauge({ name: 'a', help: 'A.' })
    let calls = 0
    const leave = metrics.onCollect(() => gauge.set({}, ++calls))
    expect(metrics.render()).toContain('a 1')
    leave()
    expect(metrics.render()).toContain('a 1')
  })

  it('counts series beyond its limit together', () => {
    const metrics = new Metrics()
    const counter = metrics.counter({ name: 'a_total', help: 'A.', labels: ['name'] })
    for (let index = 0; index < 6000; index++) counter.inc({ name: `n${index}` })
    expect(counter.value({ name: 'other' })).toBe(1000)
  })

  it('has bucket counts that only grow and end at the number of observations', () => {
    fc.assert(
      fc.property(fc.array(fc.double({ min: 0, max: 100, noNaN: true })), (values) => {
        const metrics = new Metrics()
        const histogram = metrics.histogram({ name: 'a', help: 'A.' })
        for (const value of values) histogram.observe({}, value)
        const counts = [...metrics.render().matchAll(/_bucket\{.*\} (\d+)/g)].map(([, count]) => Number(count))
        expect(counts).toEqual(counts.toSorted((left, right) => left - right))
        expect(counts.at(-1) ?? 0).toBe(values.length)
      }),
    )
  })
})
