import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Reader } from '../../../src/queries/reader.ts'
import { readManagedItems, type ManagedItem } from '../../../src/queries/managed-items.ts'
import type { KubeObject } from '../../../src/kube/object.ts'
import { pipeline } from '../../../src/apis/pipeline.ts'
import { pipelineOf, World } from '../../promoter/world.ts'
import {
  dashboardObjects,
  environmentObjects,
  servicesOfAllSorts,
  servicesWithStories,
  startDashboardWorld,
  type DashboardWorld,
} from './dashboard-world.ts'

type Kinds = Readonly<Record<string, { readonly path: string; readonly query?: string }>>
type ManagedItemsOf = (mirror: object, now: number) => readonly ManagedItem[]

interface Attention {
  readonly what: string
  readonly why: string
  readonly object: { readonly name: string }
  readonly environment?: string
}
type AttentionOf = (mirror: object, items: readonly ManagedItem[], now: number) => readonly Attention[]

const ui = (file: string) => import(new URL(`../../../ui/${file}`, import.meta.url).href) as Promise<unknown>

describe('the overview of the dashboard', () => {
  let world: DashboardWorld
  beforeAll(async () => {
    world = await startDashboardWorld({ only: 'api' })
    const services = [...dashboardObjects(), ...servicesOfAllSorts(), ...servicesWithStories()]
    for (const object of [...services, ...environmentObjects()]) await world.create(object)
    // The same Service and Deployment in an environment, which sleep with it.
    for (const { kind, metadata, ...rest } of services)
      if (metadata.name === 'shop' && ['Service', 'Deployment'].includes(kind))
        await world.create({ ...rest, kind, metadata: { ...metadata, namespace: 'shop-pr-42' } })
    const given = dashboardObjects().find(({ kind }) => kind === 'Pipeline')!
    const startedAt = '2026-11-01T00:00:00Z'
    const condition = { type: 'Ready', status: 'True', reason: 'ReconciliationSucceeded', message: 'run 1 is Complete' }
    await world.create({
      ...given,
      metadata: { ...given.metadata, name: 'arrived' },
      status: {
        conditions: [{ ...condition, lastTransitionTime: startedAt }],
        run: { sequence: 1, revision: '1.1.0', direction: 'Forward', phase: 'Complete', startedAt, restarts: 0 },
      },
    })
    const finalizers = ['sojourn.dev/promotions']
    await world.create({ ...given, metadata: { ...given.metadata, name: 'leaving', finalizers } })
    await world.client.deleteObject(pipeline.type, { namespace: 'team', name: 'leaving' })
    await world.create({
      ...given,
      metadata: { ...given.metadata, name: 'nothing-yet' },
      status: { conditions: [{ ...condition, message: 'nothing to do', lastTransitionTime: startedAt }] },
    })
  })
  beforeAll(async () => {
    const given = dashboardObjects().find(({ kind }) => kind === 'CleanupCandidate')! as KubeObject & { status: object }
    const at = '2026-11-01T00:00:00Z'
    const untold = { phase: 'Marked', notices: [{ channel: 'mail', at, error: 'refused' }], nextAttemptTime: at }
    const marks: readonly (readonly [name: string, status: object, spec?: object])[] = [
      ['untold', untold],
      ['marked', { phase: 'Marked', notices: [] }],
      ['due', { phase: 'Due', scheduledTime: '2030-01-01T00:00:00Z', message: 'departures are paused' }],
      ['failed', { phase: 'Failed', nextAttemptTime: '2030-01-01T00:00:00Z', message: 'refused' }],
      ['spared', { phase: 'OptedOut', because: 'opted-out', message: 'its owner opted out of cleanup' }],
      ['held', { phase: 'Notified' }, { hold: true }],
      ['later', { phase: 'Notified' }, { notBefore: '2031-01-01T00:00:00Z' }],
    ]
    for (const [name, status, spec = {}] of marks)
      await world.create({
        ...given,
        metadata: { name: `candidate-${name}` },
        spec: { ...(given.spec as object), ...spec },
        status: { ...given.status, ...status },
      })
  })
  afterAll(() => world?.[Symbol.asyncDispose]())

  it('shows as bad, and first, what a user has to repair', async () => {
    const { toneOf } = (await ui('tones.js')) as { readonly toneOf: (state: string) => string }
    expect(['Stalled', 'Failed', 'Running'].map((state) => toneOf(state))).toEqual(['bad', 'bad', 'plain'])
  })

  it('puts a workload that could not be woken among what fails', async () => {
    const { kinds } = (await ui('kinds.js')) as { kinds: Kinds }
    const { attentionOf } = (await ui('attention.js')) as { attentionOf: (...of: unknown[]) => readonly Attention[] }
    const found = attentionOf(await mirrorOf(kinds, world), [], Date.now())
    const named = found.filter(({ object }) => object.name === 'crashing')
    expect(named.map(({ what, why }) => `${what}: ${why}`)).toEqual([
      'failing: The last attempt to wake it failed (CrashLoopBackOff): Container web ended with exit code 3.',
    ])
  })

  it('shows the same for every object as `sojourn status`', async () => {
    const { kinds } = (await ui('kinds.js')) as { kinds: Kinds }
    const { managedItemsOf } = (await ui('managed-items.js')) as { managedItemsOf: ManagedItemsOf }
    const now = Date.now()
    const mirror = await mirrorOf(kinds, world)
    const told = await readManagedItems(new Reader(world.client), { namespace: undefined, now })
    expect(told.length).toBeGreaterThan(4)
    expect(told.find(({ object }) => object.name === 'arrived')?.state).toBe('Complete')
    const why = (name: string) => told.find(({ object }) => object.name === name)?.why
    expect(why('fast')).toMatch(/^Its callers go straight to its pods\. /)
    expect(why('given-way')).toMatch(/^Another writer keeps scaling it up, so it stays awake/)
    expect(why('kept-by-hand')).toBe('It is kept awake by hand until 2099-01-01T00:00:00Z.')
    expect(why('slept-by-hand')).toMatch(/^It was put to sleep by hand until 2099/)
    expect(why('crashing')).toMatch(/^The last attempt to wake it failed \(CrashLoopBackOff\): Container web ended/)
    expect(why('mute')).toMatch(/^proxless\/deployment: is missing/)
    expect(told.find(({ object }) => object.name === 'nothing-yet')?.state).toBe('NoRevision')
    const inside = told.filter(({ object }) => object.namespace === 'shop-pr-42')
    expect(inside.map(({ object, why }) => `${object.kind}: ${why}`)).toContain(
      'Service: It sleeps with environment shop-pr-42.',
    )
    expect(new Set(inside.map(({ next }) => next?.at)).size).toBe(1)
    expect(managedItemsOf(mirror, now).map(essence).toSorted()).toEqual(told.map(essence).toSorted())
  })

  it('names every stalled pipeline first, with the environment that a retry would concern', async () => {
    const { attentionOf } = (await ui('attention.js')) as { attentionOf: AttentionOf }
    const minute = 60_000
    const told = ({ pipeline, now }: World) => {
      const all = (list: string) => (list === 'pipelines' ? [pipeline] : [])
      return attentionOf({ all }, [], now).map(({ what, why, environment }) => [what, environment, why])
    }
    const merged = (spec: Parameters<typeof pipelineOf>[0] = {}) => {
      const world = new World(pipelineOf(spec))
      world.runs({ dev: '1.1.0', staging: '1.0.0', prod: '1.0.0' })
      world.merge()
      return world
    }
    const rollout = merged()
    rollout.step()
    rollout.step(31 * minute)
    expect(told(rollout)).toEqual([['failing', 'staging', '1.1.0 for staging: its roll-out takes too long']])
    const run = merged({ maxRunDuration: '10m' })
    run.step(11 * minute)
    expect(told(run)).toEqual([['failing', '*', expect.stringContaining('took longer than spec.maxRunDuration')]])
    const invalid = merged()
    invalid.edit({ interval: 'soon' })
    invalid.step()
    expect(told(invalid)).toEqual([['failing', undefined, expect.stringContaining('interval')]])
  })
})

/** The lists as the mirror in the browser would hold them. */
async function mirrorOf(kinds: Kinds, { client }: DashboardWorld): Promise<object> {
  type Item = { readonly metadata: { readonly namespace?: string; readonly name: string } }
  const lists = new Map<string, readonly Item[]>()
  for (const [name, { path }] of Object.entries(kinds)) {
    const { body } = await client.request({ method: 'GET', path })
    lists.set(name, (body as { items: readonly Item[] }).items)
  }
  const all = (list: string) => lists.get(list) ?? []
  return {
    all,
    find: (list: string, namespace: string, name: string) =>
      all(list).find(({ metadata }) => metadata.namespace === namespace && metadata.name === name),
  }
}

function essence({ object, system, state, next, why }: ManagedItem): string {
  const step = system === 'promoter' ? next?.what : ''
  return [object.kind, object.namespace, object.name, system, state, step, next?.at, why.replace(/[(].*$/, '')].join(
    ' ',
  )
}
