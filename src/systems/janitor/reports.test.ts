import { afterEach, describe, expect, it } from 'vitest'
import { startJanitorWorld, type JanitorWorld } from '../../../test/janitor/janitor-world.ts'
import { events } from '../../kube/core-types.ts'

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
})
