import { describe, expect, it } from 'vitest'
import type { Transport } from '../../kube/transport.ts'
import {
  channel,
  classOf,
  day,
  exists,
  forges,
  hour,
  launch,
  Mails,
  minute,
  namespaceOf,
  pullUrl,
  read,
} from '../../../test/environments/environments-world.ts'
import { PullForge } from '../../../test/pull-forge.ts'
import { startWorld } from '../../../test/world.ts'

/** Environments of one repository, each with an open pull request, and a way to start the system again. */
async function startMany(count: number, pullRequest: { comment?: boolean; commitStatus?: boolean } = {}) {
  const world = await startWorld()
  const [mails, forge] = [new Mails(), new PullForge()]
  const metadata = { name: 'forge', namespace: 'sojourn-system' }
  await world.create(channel)
  await world.create({ apiVersion: 'v1', kind: 'Secret', metadata, stringData: { token: 'secret-token' } })
  await world.create(classOf({ pullRequest: { forges: [...forges], ...pullRequest } }))
  const names = Array.from({ length: count }, (_, index) => `pr-${index + 1}`)
  for (const [index, name] of names.entries()) {
    forge.open(index + 1)
    await world.create(namespaceOf(name, { 'sojourn.dev/pull-request': pullUrl.replace('42', String(index + 1)) }))
  }
  const writes: string[] = []
  const transport: Transport = (request) => {
    if (request.method !== 'GET') writes.push(`${request.method} ${request.path}`)
    return world.server.transport(request)
  }
  let running = launch(world, { mails, forge, transport })
  return {
    world,
    forge,
    writes,
    stop: () => running.stop(),
    launch: () => {
      writes.length = 0
      running = launch(world, { mails, forge, transport })
    },
    async [Symbol.asyncDispose]() {
      await running.stop()
      await world[Symbol.asyncDispose]()
    },
  }
}

const quiet = { comment: false, commitStatus: false }
const stateOf = async (world: Parameters<typeof read>[0], name: string) => {
  const { status } = await read(world, { namespace: name, name })
  return { status, known: status?.conditions?.find(({ type }) => type === 'PullRequestKnown') }
}

describe('a restart of the environments role', () => {
  it('writes nothing while the budget of the forge is spent, nor when the pull requests are read', async () => {
    await using started = await startMany(10, quiet)
    const { world, forge, writes } = started
    await world.pass(2 * hour)
    await started.stop()
    for (const seconds of [30, 600]) {
      forge.limitedSeconds = seconds
      started.launch()
      await world.pass(minute / 2)
      forge.limitedSeconds = undefined
      await world.pass(20 * minute)
      expect(writes).toEqual([])
      await started.stop()
    }
    expect(forge.requests.at(-1)).toContain('/pulls')
    expect((await stateOf(world, 'pr-1')).known).toMatchObject({ status: 'True', reason: 'Known' })
  })

  it('writes nothing while the forge is still down', async () => {
    await using started = await startMany(10, quiet)
    const { world, forge, writes } = started
    await world.pass(2 * hour)
    forge.isDown = true
    await world.pass(5 * minute)
    await started.stop()
    started.launch()
    await world.pass(20 * minute)
    expect(writes).toEqual([])
    expect((await stateOf(world, 'pr-1')).known).toMatchObject({ status: 'False', reason: 'Unreadable' })
  })

  it('lets a due deletion wait until the pull request was read, without a write', async () => {
    await using started = await startMany(4, quiet)
    const { world, forge, writes } = started
    await world.pass(6.9 * day)
    await started.stop()
    const { status } = await stateOf(world, 'pr-1')
    expect(status?.phase).toBe('Announced')
    await world.pass(day)
    forge.limitedSeconds = 30
    started.launch()
    await world.pass(minute / 2)
    expect(writes).toEqual([])
    expect(await exists(world, 'pr-1')).toBe(true)
    forge.limitedSeconds = undefined
    await world.pass(hour)
    expect(await exists(world, 'pr-1')).toBe(false)
  })

  it('says what a due deletion waits for when the forge refuses to be read for long', async () => {
    await using started = await startMany(4, quiet)
    const { world, forge } = started
    await world.pass(6.9 * day)
    await started.stop()
    await world.pass(day)
    forge.limitedSeconds = 7200
    started.launch()
    await world.pass(minute)
    expect((await stateOf(world, 'pr-1')).status).toMatchObject({
      phase: 'Held',
      message: 'the deletion is due and held: the pull request cannot be read',
    })
    expect(await exists(world, 'pr-1')).toBe(true)
  })
})

describe('comments on many pull requests', () => {
  it('are all written in the end, though the budget of the forge is spent in between', async () => {
    await using started = await startMany(80)
    const { world, forge } = started
    await world.pass(2 * hour)
    expect(forge.comments).toHaveLength(80)
    expect(new Set(forge.statuses.map(({ context }) => context)).size).toBe(80)
  })
})
