import { expect, it } from 'vitest'
import type { Pipeline } from '../apis/pipeline.ts'
import {
  environments,
  pipelineOf,
  pullRequest,
  pullRequestPromotion,
  pushed,
  targetOf,
  World,
} from '../../test/promoter/world.ts'
import type { StoredObject } from '../kube/object.ts'
import { explainPipeline } from './explain-pipeline.ts'
import { readManagedItems, type ManagedItem } from './managed-items.ts'
import type { Reader } from './reader.ts'

const minute = 60_000

/** prod waits for a merge. */
function proposed(spec: Partial<Pipeline['spec']> = {}): World {
  const world = new World(pipelineOf({ environments: environments('dev', 'prod'), ...spec }))
  world.runs({ dev: '1.1.0', prod: '1.0.0' })
  world.answer('push', pushed)
  world.answer('propose', { result: 'seen', pullRequest: pullRequest('open') })
  world.step()
  return world
}

async function itemOf({ pipeline, now }: World): Promise<ManagedItem> {
  const list = ({ kind }: { kind: string }) => Promise.resolve(kind === 'Pipeline' ? [pipeline] : [])
  const [item] = await readManagedItems({ list } as unknown as Reader, { namespace: undefined, now })
  return item!
}

it('names the pull request to merge, and the newest revision with what it waits for', async () => {
  const world = proposed({ runPolicy: 'Finish' })
  world.runs({ dev: '1.2.0' })
  world.step(minute)
  expect(await itemOf(world)).toMatchObject({
    state: 'Running',
    next: { what: 'merge https://git.test/acme/deploy/pull/1 for prod' },
    why: 'run 1 of 1.1.0 is Running: prod Proposed; the newest revision is 1.2.0; run 1 of 1.1.0 finishes first: spec.runPolicy is Finish',
  })
})

it('names the command that approves, with the whole hash', async () => {
  const hash = 'a1b2c3d4e5f60718293a4b5c6d7e8f9001122334'
  const spec = { environments: environments('dev', 'prod'), promotion: { ...pullRequestPromotion, manual: true } }
  const world = new World(pipelineOf(spec))
  world.runs({ dev: `main@sha1:${hash}`, prod: '1.0.0' })
  world.step()
  const next = { what: `approve: sojourn approve app prod ${hash} -n team` }
  const item = await itemOf(world)
  expect(item).toMatchObject({ state: 'AwaitingApproval', next })
  // For people, elsewhere, the hash is short.
  const told = [item.why, ...explainPipeline(world.pipeline as Pipeline & StoredObject).slice(0, -1)].join('\n')
  expect(told).toContain('main@sha1:a1b2c3d ')
  expect(told.match(new RegExp(hash, 'g'))).toBeNull()
})

it('says Stalled, and what helps, when a roll-out took too long', async () => {
  const world = proposed()
  world.answer('poll', { result: 'seen', pullRequest: pullRequest('merged') }, minute)
  world.step()
  world.step(31 * minute)
  const next = { what: 'fix prod, or: sojourn rollback app prod -n team' }
  expect(await itemOf(world)).toMatchObject({ state: 'Stalled', next })
})

it('says what helps when an environment was set back', async () => {
  const world = proposed()
  world.answer('poll', { result: 'seen', pullRequest: pullRequest('merged') }, minute)
  world.runs({ prod: '1.1.0' })
  world.step()
  world.runs({ prod: '1.0.0' })
  world.step()
  expect(await itemOf(world)).toMatchObject({ state: 'Complete', next: { what: 'sojourn retry app -n team' } })
})

it('names the command that continues a suspended pipeline', async () => {
  const world = proposed()
  world.request('Suspend', '*')
  world.step()
  expect(await itemOf(world)).toMatchObject({ state: 'Suspended', next: { what: 'sojourn resume app -n team' } })
})

it('says of a pipeline that is being deleted what it closes first, and what keeps it from that', async () => {
  const world = proposed()
  const { metadata } = world.pipeline
  world.pipeline = { ...world.pipeline, metadata: { ...metadata, deletionTimestamp: '2026-11-02T12:01:00Z' } }
  const error = { class: 'Transient', reason: 'GitProviderUnavailable', message: 'connect ECONNREFUSED' } as const
  world.answer('withdraw', { result: 'failed', error })
  expect(await itemOf(world)).toMatchObject({
    state: 'Leaving',
    next: { what: 'gone' },
    why: 'https://git.test/acme/deploy/pull/1 is closed first, which has failed: connect ECONNREFUSED',
  })
  const told = explainPipeline(world.pipeline as Pipeline & StoredObject).join('\n')
  expect(told).toContain('closed before the pipeline is deleted')
  expect(told).not.toContain('sojourn retry')
})

it('says how to learn more where nothing else helps', async () => {
  const world = proposed({ maxRunDuration: '10m' })
  world.answer('poll', { result: 'seen', pullRequest: pullRequest('merged') }, minute)
  world.step(20 * minute)
  expect(await itemOf(world)).toMatchObject({
    state: 'Stalled',
    next: { what: 'sojourn explain pipeline/app -n team' },
  })
})

it('is Unknown while a target cannot be read, whatever the run has reached', async () => {
  const world = proposed()
  const message = 'cluster team/leaf cannot be reached'
  world.targets['prod'] = [
    targetOf(undefined, { ready: false, reason: 'ClusterUnreachable', namespace: 'prod', message }),
  ]
  world.step()
  expect(await itemOf(world)).toMatchObject({ state: 'Unknown', why: expect.stringContaining(message) as string })
})
