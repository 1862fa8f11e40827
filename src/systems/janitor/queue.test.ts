import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startJanitorWorld, type JanitorWorld } from '../../../test/janitor/janitor-world.ts'
import type { ApiRequest } from '../../kube/transport.ts'
import { PolicyLeases } from './work/policy-leases.ts'
import { writeMark } from './work/work.ts'

const hour = 3_600_000
const minute = 60_000
const signal = new AbortController().signal

let world: JanitorWorld
let writes: ApiRequest[]
beforeEach(async () => {
  writes = []
  world = await startJanitorWorld({
    through: (transport) => async (request) => {
      if (request.method !== 'GET' && !isSettingStatus(request)) writes.push(request)
      return transport(request)
    },
  })
  await world.configMap('one')
  await world.pass(2 * hour)
})
afterEach(() => world[Symbol.asyncDispose]())

/** Whether a channel can be used is reported whether or not a policy names it. */
function isSettingStatus({ path }: ApiRequest): boolean {
  return path.includes('/notificationchannels/')
}

describe('the queue', () => {
  it('C15: is empty without a valid policy', async () => {
    await world.pass(hour)
    expect(writes).toEqual([])
    await world.policy({ suspend: true })
    await world.pass(hour)
    expect(new Set(writes.map(({ method, path }) => `${method} ${path}`))).toEqual(
      new Set(['PUT /apis/sojourn.dev/v1alpha1/cleanuppolicies/tidy/status']),
    )
    expect(await world.candidates()).toEqual([])
  })

  it('C16: has all three actions of each policy', async () => {
    await world.create({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'two', namespace: 'team' } })
    await world.policy({})
    await world.policy(
      { targets: [{ kubernetes: { resources: [{ kind: 'Secret' }], namespaces: { include: ['team'] } } }] },
      'secrets',
    )
    await world.pass(12 * hour)
    const marks = await world.candidates()
    expect(marks.map(({ spec, status }) => [spec.policy, spec.resource.kind, status?.phase])).toEqual([
      ['tidy', 'ConfigMap', 'Deleted'],
      ['secrets', 'Secret', 'Deleted'],
    ])
  })

  it('C17: holds only the actions a policy has', async () => {
    await world.policy({ actions: ['Mark'], notification: {} })
    await world.pass(12 * hour)
    expect(await world.phases()).toEqual({ one: 'Marked' })
    expect(await world.exists('one')).toBe(true)
  })

  it('C24: sends no notices without the action Notify, and then deletes nothing', async () => {
    await world.policy({ actions: ['Mark', 'Delete'] })
    await world.policy({ rules: [{ rules: [{ name: 'AttributeRule', parameters: { name: 'nothing' } }] }] }, 'idle')
    await world.pass(12 * hour)
    const [candidate] = await world.candidates()
    expect(candidate?.status).toMatchObject({ phase: 'Marked' })
    expect(candidate?.status?.notices).toBeUndefined()
    expect(await world.exists('one')).toBe(true)
  })
})

describe('the lease of a policy and location', () => {
  it('E16: has one holder at a time, and passes on when that one is done', async () => {
    const ports = { client: world.client, clock: world.clock, log: world.ports.log }
    const [one, two] = ['one', 'two'].map((identity) => new PolicyLeases({ identity }, ports))
    const inner = await one?.hold({ policy: 'tidy', location: 'kubernetes' }, signal, () =>
      Promise.resolve(two?.hold({ policy: 'tidy', location: 'kubernetes' }, signal, async () => 'both')),
    )
    expect(inner).toEqual({ result: undefined })
    expect(await two?.hold({ policy: 'tidy', location: 'kubernetes' }, signal, async () => 'alone')).toEqual({
      result: 'alone',
    })
    expect(await one?.hold({ policy: 'tidy', location: 'elsewhere' }, signal, async () => 'apart')).toEqual({
      result: 'apart',
    })
  })

  it('E8: does not cover a late worker: a write decided on an older mark is refused', async () => {
    await world.policy({ actions: ['Mark'] })
    await world.pass(minute)
    const [stale] = await world.candidates()
    if (!stale) throw new Error('nothing was marked')
    const work = { fence: { held: true, number: 1 }, signal, wrote: () => {}, ports: world }
    await writeMark(work, stale, { ...stale.status, phase: 'Notified' })
    await expect(writeMark(work, stale, { ...stale.status, phase: 'Deleting' })).rejects.toMatchObject({
      reason: 'Conflict',
    })
  })
})
