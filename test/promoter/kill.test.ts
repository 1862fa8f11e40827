import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { seededRandom } from '../../src/runtime/time/random.ts'
import { KillWorld, twists, type Death, type History } from './kill-world.ts'

let world: KillWorld
const atOnce = 8

beforeAll(async () => void (world = await KillWorld.start()))
afterAll(() => world.close())

/** Lets people and deployers do their part until every history has arrived. */
async function live(histories: readonly History[]): Promise<void> {
  const deadline = performance.now() + 1_800_000
  for (let waiting = [...histories]; waiting.length > 0; await sleep(50)) {
    expect(world.crashed).toBe(false)
    if (performance.now() > deadline)
      throw new Error(`never arrived: ${JSON.stringify(await world.get(waiting[0]!), null, 1)}`)
    for (const history of waiting) await world.serve(history)
    const arrived = await Promise.all(waiting.map((history) => world.hasArrived(history)))
    waiting = waiting.filter((_, index) => !arrived[index])
  }
}

/** One pull request and one commit of ours for each promotion that was asked for, and the revision is there. */
async function expectOnce(history: History): Promise<void> {
  const { name, repository, twist, asked } = history
  const merged = { 'rolled back': 2, 'promoted again': 3 }[twist as string] ?? 1
  const states = [...(twist === 'closed' ? ['closed'] : []), ...Array.from({ length: merged }, () => 'merged')]
  expect(
    world.pullsOf(name).map(({ state }) => state),
    name,
  ).toEqual(states)
  // The branch of a closed pull request stays until it is withdrawn; what counts is what reached the base branch.
  const ours = await repository.git('log', 'main', '--format=%H', '--grep=Promotion-Id')
  expect(ours.split('\n'), name).toHaveLength(merged)
  expect(await world.jobsOf(history), name).toBe(twist === 'gated by a Job' ? 1 : 0)
  const { requests = [] } = (await world.get(history)).status ?? {}
  expect(requests.map(({ decision }) => decision).toSorted(), name).toEqual([...asked].toSorted())
  const pipeline = await world.get(history)
  expect(pipeline.status?.run, name).toMatchObject({ sequence: 1, revision: history.revision, phase: 'Complete' })
  expect(pipeline.status?.environments?.['prod']?.promotion, name).toMatchObject({ phase: 'Succeeded' })
}

describe('a promoter killed with SIGKILL', () => {
  it('N23: between every two steps of a promotion leaves exactly one commit and one pull request', async () => {
    const clean = await world.begin('clean', [])
    await live([clean])
    await expectOnce(clean)
    expect(clean.steps).toBeGreaterThan(15)
    const deaths = Array.from({ length: clean.steps }, (_, step) => step).flatMap((step): Death[] => [
      { step, when: 'before' },
      { step, when: 'after' },
    ])
    let spared = 0
    for (let first = 0; first < deaths.length; first += atOnce) {
      const batch = await Promise.all(
        deaths.slice(first, first + atOnce).map((death) => world.begin(`step-${death.step}-${death.when}`, [death])),
      )
      await live(batch)
      for (const history of batch) await expectOnce(history)
      spared += batch.filter((history) => history.deaths.length > 0).length
    }
    // The last steps of a clean life are looks at what is there: after a death they may not be needed any more.
    expect(spared).toBeLessThan(deaths.length / 4)
  }, 3_600_000)

  const histories = Number(process.env['PROMOTER_HISTORIES'] ?? (process.env['CI'] ? 20 : 200))
  it(`N23: anywhere in ${histories} random histories leaves exactly one commit and one pull request each, and all arrive`, async () => {
    const random = seededRandom(23)
    const startedAt = performance.now()
    const killsBefore = world.kills
    const deathsOf = (): Death[] =>
      Array.from({ length: 1 + Math.floor(random() * 2) }, () => ({
        step: Math.floor(random() * 32),
        when: random() < 0.5 ? 'before' : 'after',
      }))
    for (let first = 0; first < histories; first += atOnce) {
      const batch: History[] = []
      for (let index = first; index < Math.min(first + atOnce, histories); index++) {
        batch.push(await world.begin(`random-${index}`, deathsOf(), twists[index % twists.length]))
        if (random() < 0.1) world.kill()
        if (random() < 0.2) world.forge.fail({ status: 502, afterDoing: random() < 0.5 })
      }
      await live(batch)
      for (const history of batch) await expectOnce(history)
    }
    expect(world.kills).toBeGreaterThan(histories)
    const seconds = Math.round((performance.now() - startedAt) / 1000)
    console.warn(`${histories} histories arrived after ${world.kills - killsBefore} SIGKILLs, in ${seconds} s`)
  }, 3_600_000)
})
