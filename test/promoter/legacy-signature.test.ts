import { createHmac } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Pipeline } from '../../src/apis/pipeline.ts'
import { TestCluster, TestPromoter } from './cluster.ts'
import { environments, pipelineOf } from './world.ts'

let home: TestCluster
let test: TestPromoter

beforeEach(async () => {
  home = await TestCluster.start()
  test = new TestPromoter(home)
  await home.secret('team', 'hmac', { 'hmac-key': 'key' })
  await home.release('dev', '1.1.0')
  await home.release('prod', '1.0.0')
})
afterEach(async () => {
  await test.stop()
  await home.close()
})

/** pipeline-controller's clients sign the empty body of an approval. */
const signature = (key: string) => `sha256=${createHmac('sha256', key).update('').digest('hex')}`

async function approve(legacySignatures: boolean, path: string, key = 'key'): Promise<number> {
  const strategy = { notification: {}, secretRef: { name: 'hmac' } }
  const { spec } = pipelineOf({
    environments: environments('dev', 'prod'),
    promotion: { strategy, approval: { legacySignatures } },
  })
  await test.pipeline('app', spec)
  await test.until('app', ({ status }: Pipeline) => status?.environments?.['prod']?.waitingApproval)
  const route = test.promoter.routes.find((each) => each.method === 'POST' && each.path.test(path))!
  const headers = { 'x-signature': signature(key) }
  return (await route.handle({ method: 'POST', path, headers, body: Buffer.alloc(0), remoteAddress: '10.0.0.1' }))
    .status
}

describe("an approval with pipeline-controller's signature", () => {
  it('is refused by default', async () => {
    expect(await approve(false, '/approval/team/app/prod/1.1.0')).toBe(401)
  })

  it('counts where the Pipeline accepts it for a transition, as the shared key', async () => {
    expect(await approve(true, '/approval/team/app/prod/1.1.0')).toBe(202)
    const done = await test.until('app', ({ status }) => status?.environments?.['prod']?.promotion?.approvedBy)
    expect(done.status?.environments?.['prod']?.promotion?.approvedBy).toEqual(['key:shared'])
  })

  it('is refused with another key, for another revision, and on the endpoint of signed approvals', async () => {
    expect(await approve(true, '/approval/team/app/prod/1.1.0', 'other')).toBe(401)
    const post = (path: string) => {
      const route = test.promoter.routes.find((each) => each.method === 'POST' && each.path.test(path))!
      const headers = { 'x-signature': signature('key') }
      return route.handle({ method: 'POST', path, headers, body: Buffer.alloc(0), remoteAddress: '10.0.0.1' })
    }
    expect((await post('/approval/team/app/prod/6.6.6')).status).toBe(409)
    expect((await post('/v1/namespaces/team/pipelines/app/environments/prod/approvals')).status).toBe(401)
  })
})
