import { expect, it } from 'vitest'
import type { Pipeline } from '../apis/pipeline.ts'
import type { StoredObject } from '../kube/object.ts'
import {
  environments,
  pipelineOf,
  pullRequest,
  pullRequestPromotion,
  pushed,
  World,
} from '../../test/promoter/world.ts'
import { explainPipeline } from './explain-pipeline.ts'

/** prod does not run dev's revision yet. */
function behind(spec: Partial<Pipeline['spec']> = {}): World {
  const world = new World(pipelineOf({ environments: environments('dev', 'prod'), ...spec }))
  world.runs({ dev: '1.1.0', prod: '1.0.0' })
  return world
}

const factsOf = ({ pipeline }: World) => explainPipeline(pipeline as Pipeline & StoredObject).join('\n')
const again = 'sojourn retry app -n team'

it('says how to retry after a pull request was closed', () => {
  const world = behind()
  world.answer('push', pushed)
  world.answer('propose', { result: 'seen', pullRequest: pullRequest('closed') })
  world.step()
  expect(factsOf(world)).toContain(
    `prod: the next revision is promoted as usual; to propose this one again, run: ${again}`,
  )
})

it('says why a promotion has failed, how to fix it, and how to retry', () => {
  const world = behind()
  const error = { class: 'Permanent', reason: 'MarkerNotFound', message: 'no marker' } as const
  world.answer('push', { result: 'failed', error })
  world.step()
  expect(factsOf(world)).toContain('prod: the last attempt failed: no marker')
  expect(factsOf(world)).toContain(`to retry now, run: ${again}`)
})

it('counts approvers, not approvals', () => {
  const world = behind({ promotion: { ...pullRequestPromotion, approval: { required: 2 } } })
  world.step()
  world.approve('prod', 'ann')
  world.approve('prod', 'ann')
  world.step()
  expect(factsOf(world)).toContain(
    'prod: 1 of 2 approvals for 1.1.0; to approve, run: sojourn approve app prod 1.1.0 -n team',
  )
})

it('counts no targets of a run for a revision that a user asked for', () => {
  const world = new World()
  world.runs({ dev: '1.0.0', staging: '1.0.0', prod: '1.0.0' })
  world.step()
  world.runs({ dev: '1.1.0' })
  world.merge()
  world.runs({ staging: '1.1.0' })
  world.step()
  world.request('Rollback', 'staging')
  world.merge(2)
  world.runs({ staging: '1.0.0' })
  world.step()
  expect(factsOf(world)).toContain('staging: runs 1.0.0; the promotion of 1.0.0 is Succeeded')
})
