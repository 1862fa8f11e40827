import fc from 'fast-check'
import { expect, it } from 'vitest'
import { environments, pipelineOf, pullRequest, pushed, targetOf, World } from './testing.ts'
import type { Effect } from './effects.ts'
import type { EffectResult } from './results.ts'

const names = ['dev', 'staging', 'prod']

type Happening =
  | { readonly what: 'release' | 'breakDev' | 'mendDev' | 'breakStaging' | 'suspend' | 'resume' | 'crash' }
  | { readonly what: 'time'; readonly ms: number }
  | { readonly what: 'effect'; readonly answer: 'ok' | 'transient' | 'lost' }
  | { readonly what: 'human'; readonly act: 'merge' | 'close' }

const happening: fc.Arbitrary<Happening> = fc.oneof(
  fc.constantFrom<Happening>(
    { what: 'release' },
    { what: 'breakDev' },
    { what: 'mendDev' },
    { what: 'breakStaging' },
    { what: 'suspend' },
    { what: 'resume' },
    { what: 'crash' },
  ),
  fc.record({ what: fc.constant('time' as const), ms: fc.integer({ min: 1000, max: 1_200_000 }) }),
  fc.record({ what: fc.constant('effect' as const), answer: fc.constantFrom('ok', 'ok', 'transient', 'lost') }),
  fc.record({ what: fc.constant('human' as const), act: fc.constantFrom('merge', 'merge', 'close') }),
)

/** A forge and a deployer that do as they are told, and count what they are told. */
class Outside {
  readonly opened = new Map<string, 'open' | 'merged' | 'closed'>()
  readonly revisions = new Map<string, { environment: string; revision: string }>()
  readonly world: World

  constructor(world: World) {
    this.world = world
  }

  /** Does the effect; find-before-create keeps it to one pull request per id. */
  perform({ do: kind, promotion, environment }: Effect): EffectResult {
    const state = this.opened.get(promotion.id)
    switch (kind) {
      case 'push':
        return pushed
      case 'propose':
        if (!state) this.opened.set(promotion.id, 'open')
        this.revisions.set(promotion.id, { environment, revision: promotion.revision })
        return { result: 'seen', pullRequest: pullRequest(this.opened.get(promotion.id) ?? 'open') }
      case 'poll':
        this.world.polledAt.set(promotion.id, this.world.now)
        return { result: 'seen', pullRequest: pullRequest(state ?? 'open') }
      case 'withdraw':
        if (state === 'open') this.opened.set(promotion.id, 'closed')
        return state
          ? { result: 'withdrawn', pullRequest: pullRequest(this.opened.get(promotion.id)!) }
          : { result: 'withdrawn' }
      default:
        throw new Error(`unexpected ${kind}`)
    }
  }

  human(act: 'merge' | 'close'): void {
    for (const [id, state] of this.opened) {
      if (state !== 'open') continue
      this.opened.set(id, act === 'merge' ? 'merged' : 'closed')
      const { environment, revision } = this.revisions.get(id)!
      if (act === 'merge') this.world.runs({ [environment]: revision })
    }
  }

  openFor(environment: string): number {
    return [...this.opened].filter(
      ([id, state]) => state === 'open' && this.revisions.get(id)?.environment === environment,
    ).length
  }
}

function act(world: World, outside: Outside, answer: 'ok' | 'transient' | 'lost'): void {
  const { effect } = world.step()
  if (!effect) return
  expectSound(world, effect)
  const result = outside.perform(effect)
  if (answer === 'lost') return
  const failed: EffectResult = {
    result: 'failed',
    error: { class: 'Transient', reason: 'GitProviderUnavailable', message: '502' },
  }
  world.record(effect, answer === 'ok' ? result : failed)
}

function expectSound(world: World, { do: kind, environment, promotion }: Effect): void {
  if (world.pipeline.spec.suspend) expect(['poll', 'withdraw']).toContain(kind)
  if (kind !== 'push' || promotion.attempt > 1) return
  const before = names[names.indexOf(environment) - 1]!
  expect(world.targets[before]).toMatchObject([{ ready: true, revision: promotion.revision }])
}

it('keeps at most one pull request open per environment, promotes only what is ready before, and gets there in the end', () => {
  fc.assert(
    fc.property(fc.array(happening, { maxLength: 80 }), (history) => {
      const world = new World(pipelineOf({ environments: environments(...names), settle: { quietPeriod: '30s' } }))
      const outside = new Outside(world)
      world.runs({ dev: '1.0.0', staging: '1.0.0', prod: '1.0.0' })
      let release = 0
      let sequence = 0
      for (const event of history) {
        if (event.what === 'release') world.runs({ dev: `1.${++release}.0` })
        if (event.what === 'breakDev')
          world.targets['dev'] = [targetOf(`1.${release}.0`, { ready: false, namespace: 'dev' })]
        if (event.what === 'mendDev') world.runs({ dev: `1.${release}.0` })
        if (event.what === 'breakStaging')
          world.targets['staging'] = world.targets['staging']!.map((target) => ({ ...target, ready: false }))
        if (event.what === 'suspend') world.edit({ suspend: true })
        if (event.what === 'resume') world.edit({ suspend: false })
        if (event.what === 'crash') world.polledAt.clear()
        if (event.what === 'time') world.now += event.ms
        if (event.what === 'human') outside.human(event.act)
        act(world, outside, event.what === 'effect' ? event.answer : 'ok')
        for (const name of names) expect(outside.openFor(name)).toBeLessThanOrEqual(1)
        expect(world.status.sequence ?? 0).toBeGreaterThanOrEqual(sequence)
        sequence = world.status.sequence ?? 0
      }
      settleDown(world, outside, ++release)
    }),
    { numRuns: 200 },
  )
})

/** A last release, and people who merge everything: it has to reach the last environment. */
function settleDown(world: World, outside: Outside, release: number): void {
  world.edit({ suspend: false })
  world.runs({ dev: `1.${release}.0` })
  for (let turn = 0; turn < 60 && world.targets['prod']?.[0]?.revision !== `1.${release}.0`; turn++) {
    world.now += 600_000
    act(world, outside, 'ok')
    outside.human('merge')
  }
  expect(world.targets['prod']).toMatchObject([{ revision: `1.${release}.0` }])
}
