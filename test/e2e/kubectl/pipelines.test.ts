import { afterAll, beforeAll, expect, it } from 'vitest'
import { pipeline } from '../../../src/apis/pipeline.ts'
import { ownKindsAdmission } from '../../../src/admission/admission.ts'
import { accepted, pipelineManifest, refusedByProgram, refusedBySchema } from '../../pipeline-refusals.ts'
import { describeWith, Session } from './session.ts'

await describeWith(['kubectl'], 'kubectl apply of a Pipeline', () => {
  let session: Session
  beforeAll(async () => {
    session = await Session.start('kubectl', [ownKindsAdmission])
    await session.pipe('apply -f -', pipeline.crd)
    await session.run('create namespace team')
  })
  afterAll(() => session?.[Symbol.asyncDispose]())

  it.each([...refusedBySchema, ...refusedByProgram])(
    'with $what is refused, naming the field',
    async ({ spec, says }) => {
      const stdin = JSON.stringify(pipelineManifest(spec))
      const { code, stderr } = await session.attempt('apply -f - --validate=false', { stdin })
      expect(code).toBe(1)
      expect(stderr).toContain('is invalid')
      for (const words of says) expect(stderr).toContain(words)
    },
  )

  it.each(accepted)('%s is accepted, and again when applied unchanged', async (_, spec) => {
    const manifest = pipelineManifest(spec, 'good')
    expect(await session.pipe('apply -f -', manifest)).toMatch(/created|configured|unchanged/)
    expect(await session.pipe('apply -f -', manifest)).toContain('unchanged')
  })
})
