import { afterEach, describe, expect, it } from 'vitest'
import { startJanitorWorld, type JanitorWorld } from '../../../test/janitor/janitor-world.ts'
import { bond } from '../../apis/bond.ts'
import { usageLedger } from '../../apis/usage-ledger.ts'
import { configMaps, events, leases } from '../../kube/core-types.ts'
import type { StoredObject } from '../../kube/object.ts'
import { pauseJanitor } from './work/switches.ts'

const hour = 3_600_000
const minute = 60_000

let world: JanitorWorld | undefined
afterEach(async () => {
  await world?.[Symbol.asyncDispose]()
  world = undefined
})

async function start(): Promise<JanitorWorld> {
  world = await startJanitorWorld()
  return world
}

describe('what a policy reports', () => {
  it('C67: is not Ready while a rule of it fails, names the field and the resource, and marks the others', async () => {
    const at = await start()
    await at.configMap('plain')
    await at.configMap('sized', { labels: { size: 'big' } })
    await at.pass(2 * hour)
    const expression = 'object.metadata.labels.size == "big"'
    await at.policy({ rules: [{ rules: [{ name: 'Expression', parameters: { expression } }] }] })
    await at.pass(minute)
    const ready = (await at.readPolicy()).status?.conditions?.find(({ type }) => type === 'Ready')
    expect(ready).toMatchObject({ status: 'False', reason: 'RuleFails' })
    expect(ready?.message).toMatch(/^spec\.rules\[0\]\.rules\[0\]\.parameters: no such key: labels \(ConfigMap .*plain/)
    expect(await at.phases()).toEqual({ sized: 'Notified' })
  })

  it('C68: records an Event on an object with a malformed ttl, which never expires', async () => {
    const at = await start()
    await at.configMap('wrong', { annotations: { 'sojourn.dev/ttl': 'soonish' } })
    await at.configMap('right', { annotations: { 'sojourn.dev/ttl': '30m' } })
    await at.pass(2 * hour)
    await at.policy({
      rules: [
        { rules: [{ name: 'ExpiredResourceRule' }] },
        { rules: [{ name: 'AgeRule', parameters: { moreThanDays: 0 } }] },
      ],
    })
    await at.pass(96 * hour)
    expect(await at.phases()).toEqual({ right: 'Deleted' })
    expect(await at.exists('wrong')).toBe(true)
    const { items } = await at.client.list<{ reason: string; message: string; involvedObject: { name: string } }>(
      events,
    )
    expect(items.filter(({ reason }) => reason === 'MalformedTtl')).toMatchObject([
      { involvedObject: { name: 'wrong' }, message: expect.stringContaining('"soonish"') },
    ])
  })

  it('says that a kind is not served, and that nothing matches', async () => {
    const at = await start()
    const inventory = async (name?: string) =>
      (await at.readPolicy(name)).status?.conditions?.find(({ type }) => type === 'InventoryComplete')
    await at.policy({ targets: [{ kubernetes: { resources: [{ group: 'example.com', kind: 'Gadget' }] } }] })
    await at.pass(minute)
    expect(await inventory()).toMatchObject({
      status: 'False',
      reason: 'Incomplete',
      message: expect.stringContaining('the cluster serves no kind Gadget.example.com'),
    })
    const nowhere = { resources: [{ kind: 'ConfigMap' }], namespaces: { include: ['void'] } }
    await at.policy({ targets: [{ kubernetes: nowhere }] }, 'empty')
    await at.pass(minute)
    expect(await inventory('empty')).toMatchObject({ status: 'True', reason: 'Empty' })
  })

  it('C72: is Paused, which is a condition, and deletes nothing meanwhile', async () => {
    const at = await start()
    await at.configMap('one')
    await at.pass(2 * hour)
    await at.policy({})
    await at.pass(minute)
    const paused = async () => (await at.readPolicy()).status?.conditions?.find(({ type }) => type === 'Paused')?.status
    expect(await paused()).toBeUndefined()
    await pauseJanitor(at.client, true)
    await at.pass(24 * hour)
    expect([await paused(), await at.exists('one')]).toEqual(['True', true])
    await pauseJanitor(at.client, false)
    await at.pass(2 * hour)
    expect([await paused(), await at.exists('one')]).toEqual(['False', false])
  })

  it('C74: neither marks nor announces a Namespace while something in it is protected', async () => {
    const at = await start()
    await at.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'guest' } })
    await at.configMap('precious', { namespace: 'guest', annotations: { 'sojourn.dev/keep': 'true' } })
    await at.pass(2 * hour)
    const found = { name: 'AttributeRule', parameters: { name: 'guest' } }
    const targets = [{ kubernetes: { resources: [{ kind: 'Namespace' }] } }]
    await at.policy({ targets, rules: [{ rules: [found] }] })
    await at.pass(hour)
    expect(await at.candidates()).toEqual([])
    const place = { namespace: 'guest', name: 'precious' }
    const keep = (value: string | null) =>
      at.client.patch(configMaps, place, {
        type: 'merge',
        body: { metadata: { annotations: { 'sojourn.dev/keep': value } } },
      })
    await keep(null)
    await at.pass(hour)
    expect(await at.phases()).toEqual({ guest: 'Notified' })
    await keep('true')
    await at.pass(12 * hour)
    const [{ status } = {} as never] = await at.candidates()
    expect(status).toMatchObject({ phase: 'Unmarked', because: 'takes-protected' })
    expect(status?.history?.map(({ phase }) => phase)).toEqual(['Marked', 'Notified', 'Unmarked'])
  })

  it('C75: does not change the phase of a mark that the door holds at each attempt', async () => {
    const at = await start()
    const one = await at.configMap('one')
    await at.pass(2 * hour)
    await at.policy({})
    await at.pass(hour)
    const held = await at.create({
      apiVersion: bond.apiVersion,
      kind: bond.kind,
      metadata: { name: 'hold', namespace: 'team' },
      spec: {
        dependent: { apiVersion: 'v1', kind: 'ConfigMap', name: 'other' },
        dependency: { apiVersion: 'v1', kind: 'ConfigMap', name: one.metadata.name },
        onDelete: 'Hold',
      },
    })
    const active = { phase: 'Active', dependents: 1, dependencyUid: one.metadata.uid }
    await at.client.update(bond.type, { ...held, status: active }, { subresource: 'status' })
    await at.pass(24 * hour)
    const [{ status } = {} as never] = await at.candidates()
    expect(status).toMatchObject({ phase: 'Due', because: 'bond-holds', leaves: expect.any(String) })
    expect(status?.history?.map(({ phase }) => phase)).toEqual(['Marked', 'Notified', 'Due', 'Due'])
  })

  it('C76: shows no date of deletion that has passed', async () => {
    const at = await start()
    await at.configMap('one')
    await at.pass(2 * hour)
    await at.policy({ actions: ['Mark', 'Notify'] })
    await at.pass(hour)
    const leaves = async () => (await at.candidates())[0]?.status?.leaves ?? ''
    expect(Date.parse(await leaves())).toBeGreaterThan(at.clock.now())
    await at.pass(12 * hour)
    expect(await leaves()).toBe('due')
  })

  it('C73: spreads deletions again that an outage made overdue', async () => {
    const at = await start()
    for (let index = 0; index < 12; index++) await at.configMap(`map-${index}`)
    await at.pass(2 * hour)
    const limits = { maxDeletes: 100, maxDeletePercent: 100, batchSize: 2, deleteSpread: '12h' }
    await at.policy({ limits, retention: { duration: '6h' } })
    await at.pass(7 * hour)
    const left = async () => (await at.names(configMaps)).filter((name) => name.startsWith('map-')).length
    const before = await left()
    expect(before).toBeGreaterThanOrEqual(8)
    await pauseJanitor(at.client, true)
    await at.pass(48 * hour)
    await pauseJanitor(at.client, false)
    await at.pass(5 * minute)
    expect(await left()).toBeGreaterThanOrEqual(before - 2)
    await at.pass(24 * hour)
    expect(await left()).toBe(0)
  })

  it('has ledgers and Leases that Kubernetes deletes with the policy', async () => {
    const at = await start()
    await at.configMap('one')
    await at.pass(2 * hour)
    const { metadata } = await at.policy({ unusedFor: '1d' })
    await at.pass(minute)
    const owner = { kind: 'CleanupPolicy', name: metadata.name, uid: metadata.uid }
    const ledgers = await at.client.list<StoredObject>(usageLedger.type)
    const held = await at.client.list<StoredObject>(leases, { namespace: 'sojourn-system' })
    for (const { items } of [ledgers, held]) {
      const ours = items.filter(({ metadata: { name } }) => /^(?:ledger|janitor)-/.test(name))
      expect(ours).not.toEqual([])
      for (const each of ours) expect(each.metadata.ownerReferences).toMatchObject([owner])
    }
  })
})
