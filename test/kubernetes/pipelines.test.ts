import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startReferenceCluster, type ReferenceCluster } from '../../scripts/reference-cluster/reference-cluster.ts'
import { whyUnavailable } from '../../scripts/reference-cluster/tools.ts'
import { pipeline } from '../../src/apis/pipeline.ts'
import { validateRoute } from '../../src/admission/webhook.ts'
import { accepted, pipelineManifest, refusedByProgram, refusedBySchema } from '../pipeline-refusals.ts'
import { attempt, run, whenEstablished } from './kubectl.ts'

const missing = await whyUnavailable('etcd', 'kube-apiserver', 'kubectl')
if (missing) console.warn(`SKIPPED: Pipelines on a real kube-apiserver: ${missing}`)

describe.skipIf(missing)('kubectl apply of a Pipeline to a real kube-apiserver', () => {
  let cluster: ReferenceCluster
  const apply = (input: unknown) => attempt('kubectl', ['apply', '--validate=false', '-f', '-'], { ...cluster, input })

  beforeAll(async () => {
    cluster = await startReferenceCluster({ durable: false })
    await run('kubectl', ['apply', '--server-side', '-f', '-'], { ...cluster, input: pipeline.crd })
    await whenEstablished(cluster)
    await run('kubectl', ['create', 'namespace', 'team'], cluster)
  }, 900_000)
  afterAll(() => cluster?.stop())

  it.each(refusedBySchema)('with $what is refused by the schema alone, naming the field', async ({ spec, says }) => {
    const { code, stderr } = await apply(pipelineManifest(spec))
    expect(code).toBe(1)
    expect(stderr).toContain('is invalid')
    for (const words of says) expect(stderr).toContain(words)
  })

  it.each(accepted)('%s is let pass', async (_, spec) => {
    expect((await apply(pipelineManifest(spec, 'good'))).stderr).toBe('')
  })

  it.each(refusedByProgram)('with $what is refused by what the webhook says of it', async ({ spec, says }) => {
    const manifest = pipelineManifest(spec, 'stored')
    const dry = ['create', '--dry-run=server', '--validate=false', '-o', 'json', '-f', '-']
    const object = JSON.parse(await run('kubectl', dry, { ...cluster, input: manifest })) as unknown
    const request = { uid: '1', operation: 'CREATE', object }
    const body = JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request })
    const route = validateRoute({ discovery: { typeOf: () => Promise.resolve(undefined), forget() {} } })
    const answer = await route.handle({ body } as Parameters<typeof route.handle>[0])
    expect(answer.body).toMatchObject({ response: { allowed: false, status: { code: 422 } } })
    for (const words of says) expect(JSON.stringify(answer.body)).toContain(words)
  })
})
