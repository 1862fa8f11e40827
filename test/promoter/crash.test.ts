import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { seededRandom } from '../../src/runtime/time/random.ts'
import { ForgeServer } from '../forge/forge-server.ts'
import { manifest, Stage } from './stage.ts'
import { environments } from './world.ts'

let forge: ForgeServer
let count = 0

beforeAll(async () => void (forge = await ForgeServer.start()))
afterAll(() => forge.close())

async function build(): Promise<Stage> {
  return Stage.build({ forge, type: 'gitea', repository: `crash-${++count}` })
}

/** From release to arrival: the pull request is merged as soon as it is there, and deployed as soon as it is merged. */
async function promote(stage: Stage): Promise<void> {
  stage.world.runs({ dev: '1.1.0' })
  for (let turn = 0; turn < 40 && stage.world.status.run?.revision !== '1.1.0'; turn++) await stage.turn(60_000)
  for (let turn = 0; turn < 40 && stage.world.status.run?.phase !== 'Complete'; turn++) {
    await stage.turn(60_000)
    await stage.mergeOpen()
    await stage.deploy()
  }
}

/** One commit of ours, one pull request, and it arrived. */
async function expectOnce(stage: Stage): Promise<void> {
  expect(stage.world.status.run).toMatchObject({ revision: '1.1.0', phase: 'Complete' })
  expect(stage.pulls).toMatchObject([{ state: 'merged' }])
  const ours = await stage.repository.git('log', '--all', '--format=%H', '--grep=Promotion-Id')
  expect(ours.split('\n')).toHaveLength(1)
  expect(await stage.repository.file('main', 'prod/app.yaml')).toBe(manifest('prod', '1.1.0'))
}

describe('a process killed at any request of a promotion', () => {
  it('N23: leaves exactly one commit and one pull request in the end, wherever it was', async () => {
    const clean = await build()
    await promote(clean)
    await expectOnce(clean)
    const requests = clean.sent
    expect(requests).toBeGreaterThan(8)
    clean.close()
    for (let request = 0; request < requests; request++)
      for (const when of ['before', 'after'] as const) {
        const stage = await build()
        stage.killAt = { request, when }
        await promote(stage)
        await expectOnce(stage).catch((error: unknown) => {
          throw new Error(`killed ${when} request ${request}`, { cause: error })
        })
        stage.close()
      }
  }, 240_000)

  it('leaves exactly one commit and one pull request when the result of any effect is lost', async () => {
    for (let lost = 0; lost < 4; lost++) {
      const stage = await build()
      let effects = 0
      const perform = stage.perform.bind(stage)
      stage.perform = async (effect) => {
        const result = await perform(effect)
        return effects++ === lost ? undefined : result
      }
      await promote(stage)
      await expectOnce(stage)
      stage.close()
    }
  })
})

const histories = Number(process.env['PROMOTER_HISTORIES'] ?? 200)
const lanes = 4

/** What a verification asks: open or not. */
class Gate {
  isOpen = true
  readonly #server: Server = createServer((_, response) => response.writeHead(this.isOpen ? 200 : 503).end())

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/healthz`
  }

  close(): void {
    this.#server.close()
  }
}

describe(`${histories} random histories`, () => {
  it('of releases, requests, gates, people, faults and kills: never two pull requests open, never two for one id, and all arrives', async () => {
    const lane = async (_: unknown, index: number) => {
      const own = await ForgeServer.start()
      for (let history = index; history < histories; history += lanes) await live(own, history)
      await own.close()
    }
    await Promise.all(Array.from({ length: lanes }, lane))
  }, 900_000)
})

/** One history from its seed: whatever happens, in the end the newest revision has arrived. */
async function live(own: ForgeServer, seed: number): Promise<void> {
  const random = seededRandom(seed)
  const gate = new Gate()
  const [dev, prod] = environments('dev', 'prod')
  const verification = { checks: [{ url: await gate.start() }], interval: '30s' }
  const spec = seed % 2 === 0 ? {} : { environments: [dev!, { ...prod!, verification }] }
  const stage = await Stage.build({ forge: own, type: 'gitea', repository: `history-${seed}`, spec })
  let version = 0
  const steps = 4 + Math.floor(random() * 8)
  for (let step = 0; step < steps; step++) {
    if (await happen(stage, gate, random)) stage.world.runs({ dev: `1.${++version}.0` })
    await stage.turn(Math.floor(random() * 120_000))
    expect(stage.pulls.filter(({ state }) => state === 'open').length).toBeLessThanOrEqual(1)
  }
  own.mend()
  gate.isOpen = true
  stage.world.request('Resume', '*')
  stage.killAt = undefined
  const last = `1.${++version}.0`
  stage.world.runs({ dev: last })
  const isThere = () => stage.world.status.run?.revision === last && stage.world.status.run.phase === 'Complete'
  for (let turn = 0; turn < 40 && !isThere(); turn++) {
    await stage.turn(600_000)
    await stage.mergeOpen()
    await stage.deploy()
  }
  expect({ seed, ...stage.world.status.run }).toMatchObject({ seed, revision: last, phase: 'Complete' })
  expect(await stage.repository.file('main', 'prod/app.yaml')).toBe(manifest('prod', last))
  await expectNothingTwice(stage)
  // Every request was answered once.
  const { requests = [] } = stage.world.status
  expect(new Set(requests.map(({ uid }) => uid)).size).toBe(requests.length)
  expect(requests.length).toBe(Math.min(20, stage.world.approvals.length))
  stage.close()
  gate.close()
}

/** Something happens outside; true when it is a release. */
async function happen(stage: Stage, gate: Gate, random: () => number): Promise<boolean> {
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)]!
  const outside = ['release', 'merge', 'close', 'deploy', 'kill', 'fault', 'drop', 'gate'] as const
  const requests = ['Promote', 'Rollback', 'Retry', 'Suspend', 'Resume'] as const
  const asked = random() < 0.25 ? pick(requests) : undefined
  const what = asked ?? pick([...outside, 'turn', 'turn', 'turn', 'turn'])
  const { pulls } = stage.forge
  if (what === 'merge') await stage.mergeOpen()
  if (what === 'close') for (const pull of stage.pulls) if (pull.state === 'open' && random() < 0.3) pulls.close(pull)
  if (what === 'deploy') await stage.deploy()
  if (what === 'kill')
    stage.killAt = { request: stage.sent + Math.floor(random() * 6), when: pick(['before', 'after']) }
  if (what === 'gate') gate.isOpen = !gate.isOpen
  const { revisions = [] } = stage.world.status
  if (asked === 'Suspend' || asked === 'Resume') stage.world.request(asked, '*')
  else if (asked === 'Promote') stage.world.request(asked, 'prod', { revision: pick(revisions)?.revision ?? '1.0.0' })
  else if (asked) stage.world.request(asked, 'prod')
  if (what === 'fault') stage.forge.fail({ status: 502, afterDoing: random() < 0.5 })
  if (what === 'drop') stage.forge.fail({ drop: true, afterDoing: random() < 0.5 })
  return what === 'release'
}

async function expectNothingTwice(stage: Stage): Promise<void> {
  const ids = stage.pulls.map(({ body }) => /sojourn-promotion: (\w+)/.exec(body)?.[1])
  expect(new Set(ids).size).toBe(ids.length)
  const trailers = '--format=%(trailers:key=Promotion-Id,valueonly)'
  const commits = (await stage.repository.git('log', '--all', trailers, '--grep=Promotion-Id'))
    .split('\n')
    .filter(Boolean)
  expect(new Set(commits).size).toBe(commits.length)
}
