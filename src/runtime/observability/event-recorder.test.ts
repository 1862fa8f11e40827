import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Client } from '../../client/client.ts'
import { StatusError } from '../../kube/status-error.ts'
import { EventRecorder } from './event-recorder.ts'
import { silentLogger } from './log.ts'
import { Metrics } from './metrics.ts'
import { FakeApi } from '../../../test/runtime/fake-api.ts'
import { VirtualClock } from '../time/virtual-clock.ts'

const minute = 60_000
const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { namespace: 'a', name: 'p', uid: 'u1' } }
const note = { type: 'Normal' as const, reason: 'Deleted', message: 'time was up' }

function recording({ isAudit = false } = {}) {
  const clock = new VirtualClock(Date.UTC(2026, 0, 1))
  const api = new FakeApi()
  const metrics = new Metrics()
  const client = new Client(api.transport)
  const recorder = new EventRecorder('sojourn-cleaner', { client, clock, log: silentLogger, metrics, isAudit })
  return { clock, api, metrics, recorder, events: () => api.all('events') }
}

describe('EventRecorder', () => {
  it('writes an Event about an object, as kubectl describe shows it', async () => {
    const { recorder, events } = recording()
    recorder.record(pod, { ...note, related: { apiVersion: 'v1', kind: 'ConfigMap', name: 'c' } })
    await recorder.flush()
    expect(events()).toHaveLength(1)
    expect(events()[0]).toMatchObject({
      metadata: { namespace: 'a', name: expect.stringMatching(/^p\.[0-9a-f]+$/) },
      involvedObject: { apiVersion: 'v1', kind: 'Pod', namespace: 'a', name: 'p', uid: 'u1' },
      type: 'Normal',
      reason: 'Deleted',
      message: 'time was up',
      count: 1,
      firstTimestamp: '2026-01-01T00:00:00Z',
      source: { component: 'sojourn-cleaner' },
      related: { kind: 'ConfigMap' },
    })
  })

  it('writes one Event for all objects beyond the first fifty of a kind with the same reason, and counts them', async () => {
    const { clock, recorder, events } = recording()
    for (let index = 0; index < 1500; index++) {
      const metadata = { namespace: 'a', name: `p${index}`, uid: `u${index}` }
      recorder.record({ ...pod, metadata }, { ...note, message: `owner ${index} is unknown` })
    }
    recorder.record({ ...pod, metadata: { namespace: 'b', name: 'p', uid: 'v' } }, note)
    await clock.runFor(minute)
    expect(events()).toHaveLength(52)
    expect(events().find(({ count }) => count !== 1)).toMatchObject({
      involvedObject: { name: 'p50' },
      message: 'owner 50 is unknown (the same of more objects of this kind: "count" is their number)',
      count: 1450,
    })
  })

  it('leaves out nothing that people did, and says of no one what another did', async () => {
    const { recorder, events } = recording({ isAudit: true })
    const said = (user: string, index: number) => `${user} changed it on the dashboard: spec.reason=${index}`
    // Ada would use up what may be said of one object, and of all of a kind.
    for (let index = 0; index < 60; index++) recorder.record(pod, { ...note, message: said('ada', index) })
    for (let index = 0; index < 60; index++)
      recorder.record({ ...pod, metadata: { ...pod.metadata, name: `p${index}` } }, { ...note, message: 'ada did' })
    recorder.record(pod, { ...note, message: said('bob', 0) })
    await recorder.flush()
    const messages = events().map(({ message }) => message)
    expect(messages).toHaveLength(121)
    expect(messages).toContain(said('bob', 0))
  })

  it('writes about what has no namespace in the default one', async () => {
    const { recorder, events } = recording()
    recorder.record({ apiVersion: 'v1', kind: 'Namespace', name: 'a' }, note)
    await recorder.flush()
    expect(events()[0]).toMatchObject({ metadata: { namespace: 'default' }, involvedObject: { name: 'a' } })
  })

  it('counts the same thing again in one Event, and starts another after ten quiet minutes', async () => {
    const { clock, recorder, events } = recording()
    for (let times = 0; times < 5; times++) {
      recorder.record(pod, note)
      await clock.runFor(minute)
    }
    expect(events()).toHaveLength(1)
    expect(events()[0]).toMatchObject({ count: 5, lastTimestamp: '2026-01-01T00:04:00Z' })
    await clock.runFor(10 * minute)
    recorder.record(pod, note)
    await recorder.flush()
    expect(events()).toHaveLength(2)
  })

  it('writes an Event anew when the server has forgotten it', async () => {
    const { clock, api, recorder, events } = recording()
    recorder.record(pod, note)
    await recorder.flush()
    api.delete('events', 'a', events()[0]?.metadata.name ?? '')
    await clock.runFor(minute)
    recorder.record(pod, note)
    await recorder.flush()
    expect(events()[0]).toMatchObject({ count: 2 })
  })

  it('cuts an object short that talks too much, and lets the others speak', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: 60 }), async (times) => {
        const { recorder, events, metrics } = recording()
        for (let index = 0; index < times; index++) recorder.record(pod, { ...note, message: `number ${index}` })
        recorder.record({ ...pod, metadata: { ...pod.metadata, name: 'quiet' } }, note)
        recorder.record(pod, { ...note, type: 'Warning', message: 'what fails is not hidden by what goes well' })
        await recorder.flush()
        expect(events()).toHaveLength(Math.min(25, times) + 2)
        const suppressed = Math.max(0, times - 25)
        if (suppressed) expect(metrics.render()).toContain(`{result="suppressed"} ${suppressed}`)
      }),
      { numRuns: 15 },
    )
  })

  it('tries again when the server is not well, and gives up what it refuses', async () => {
    const { clock, api, recorder, events, metrics } = recording()
    let failures = 2
    api.faults.push(() => (failures-- > 0 ? answer(new StatusError('ServiceUnavailable', 'not now')) : undefined))
    recorder.record(pod, note)
    await clock.runFor(minute)
    expect(events()).toHaveLength(1)
    api.faults.push(() => answer(new StatusError('Forbidden', 'namespace is being terminated')))
    recorder.record(pod, { ...note, reason: 'Other' })
    await clock.runFor(minute)
    expect(metrics.render()).toContain('{result="failed"} 1')
  })

  it('shortens a message that is too long', async () => {
    const { recorder, events } = recording()
    recorder.record(pod, { ...note, message: 'x'.repeat(5000) })
    await recorder.flush()
    expect(events()[0]).toMatchObject({ message: `${'x'.repeat(1021)}…` })
  })
})

function answer(error: StatusError) {
  return { status: error.code, headers: {}, body: error.toStatus() }
}
