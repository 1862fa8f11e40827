import { expect, it } from 'vitest'
import type { Client } from '../../../client/client.ts'
import { pipelineOf } from '../../../../test/promoter/world.ts'
import type { Effect } from '../decision/effects.ts'
import { jobProblem } from './verify.ts'

it('creates no Job with rights that the creator of the Pipeline does not have', async () => {
  const refused = { reason: 'CreatorForbidden' as const, message: 'ann may not create jobs' }
  const asked: string[] = []
  const client = new Proxy({} as Client, {
    get: (_, name) => () => Promise.resolve(void asked.push(String(name))),
  })
  const actor = {
    client,
    refusalOf: ({ verb, resource }: { verb: string; resource: string }) =>
      Promise.resolve(verb === 'create' && resource === 'jobs' ? refused : undefined),
  }
  const effect = { environment: 'prod', promotion: { id: '0123456789abcdef', revision: '1.1.0' } } as Effect
  expect(await jobProblem(actor, { pipeline: pipelineOf(), fromCronJob: 'smoke', effect })).toBe(refused.message)
  expect(asked).toEqual([])
})
