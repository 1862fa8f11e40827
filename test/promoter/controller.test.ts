import { generateKeyPairSync } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { pipeline as pipelineKind } from '../../src/apis/pipeline.ts'
import { conditionOf, configMaps, events, TestPromoter } from './cluster.ts'
import { gitSecret, phase, specOf, useClusters, withRepository } from './clusters.ts'
import { manifest } from './stage.ts'

const on = useClusters()

describe('promotions', () => {
  it('C14 C15 C23 C24: go through dev, staging and prod, and again with the next revision', async () => {
    const { spec, repository, pulls } = await withRepository(on, {}, ['dev', 'staging', 'prod'])
    const strategy = spec.promotion!.strategy['pull-request']!
    for (const name of ['dev', 'staging', 'prod']) await on.home.release(name, '1.0.0')
    await on.test.pipeline('app', {
      ...spec,
      promotion: { strategy: { 'pull-request': { ...strategy, autoMerge: true } } },
    })
    await on.test.until('app', ({ status }) => status?.run?.phase === 'Complete')
    for (const version of ['1.1.0', '1.2.0']) {
      await on.home.release('dev', version)
      for (const name of ['staging', 'prod']) {
        await on.test.until(
          'app',
          (pipeline) => phase(pipeline, name) === 'RollingOut' && pipeline.status?.run?.revision === version,
        )
        expect(await repository.file('main', `${name}/app.yaml`)).toBe(manifest(name, version))
        await on.home.release(name, version)
      }
      await on.test.until('app', ({ status }) => status?.run?.phase === 'Complete' && status.run.revision === version)
    }
    expect(pulls().map(({ state }) => state)).toEqual(['merged', 'merged', 'merged', 'merged'])
    const done = await on.test.get('app')
    expect(done.status?.environments?.['prod']?.promotion).toMatchObject({ phase: 'Succeeded', revision: '1.2.0' })
    expect(done.status?.latestRevision).toBe('1.2.0')
  })

  it('go on with what happened while no process was running', async () => {
    const { spec, pulls, repository } = await withRepository(on)
    for (const name of ['dev', 'prod']) await on.home.release(name, '1.0.0')
    await on.test.pipeline('app', spec)
    await on.test.until('app', ({ status }) => status?.run?.phase === 'Complete')
    await on.test.stop()
    await on.home.release('dev', '1.1.0')
    on.test = new TestPromoter(on.home, { leaf: on.leaf })
    await on.test.until('app', (pipeline) => phase(pipeline, 'prod') === 'Proposed')
    await on.test.stop()
    await on.forge.pulls.merge(pulls()[0]!)
    await on.home.release('prod', '1.1.0')
    on.test = new TestPromoter(on.home, { leaf: on.leaf })
    await on.test.until('app', ({ status }) => status?.run?.revision === '1.1.0' && status.run.phase === 'Complete')
    expect(pulls()).toMatchObject([{ state: 'merged' }])
    expect(await repository.file('main', 'prod/app.yaml')).toBe(manifest('prod', '1.1.0'))
  })

  it('report how long each phase took, and what is left of the rate limit of their forge', async () => {
    const { spec, pulls } = await withRepository(on)
    await on.home.release('dev', '1.1.0')
    await on.home.release('prod', '1.0.0')
    await on.test.pipeline('app', spec)
    await on.test.until('app', (pipeline) => phase(pipeline, 'prod') === 'Proposed')
    await on.home.release('prod', '1.1.0')
    await on.test.until('app', (pipeline) => phase(pipeline, 'prod') === 'Succeeded')
    expect(pulls()).toHaveLength(1)
    const said = on.test.metrics.render()
    for (const left of ['Intended', 'Pushed', 'Proposed'])
      expect(said).toContain(`sojourn_promoter_phase_seconds_count{phase="${left}"} 1`)
    expect(said).toMatch(/sojourn_promoter_forge_budget_left\{host="127\.0\.0\.1:\d+"\} [1-5]\d\n/)
  })

  it('C57: by notification emit one Event with the exact message', async () => {
    await on.home.release('dev', '1.1.0')
    await on.home.release('prod', '1.0.0')
    await on.test.pipeline('app', specOf())
    await on.test.until('app', (pipeline) => phase(pipeline, 'prod') === 'RollingOut')
    const { items } = await on.home.client.list(events, { namespace: 'team' })
    const promote = items.filter((event) => event['reason'] === 'Promote')
    expect(promote).toMatchObject([
      {
        message: 'Promote pipeline team/app to prod with version 1.1.0',
        metadata: { annotations: { environment: 'prod', version: '1.1.0' } },
      },
    ])
  })

  it('by commit write to the base branch once', async () => {
    const { spec, repository } = await withRepository(on)
    const { url, baseBranch, secretRef } = spec.promotion!.strategy['pull-request']!
    await on.home.release('dev', '1.1.0')
    await on.home.release('prod', '1.0.0')
    await on.test.pipeline('app', { ...spec, promotion: { strategy: { commit: { url, baseBranch, secretRef } } } })
    await on.test.until('app', (pipeline) => phase(pipeline, 'prod') === 'RollingOut')
    expect(await repository.file('main', 'prod/app.yaml')).toBe(manifest('prod', '1.1.0'))
    expect(await repository.git('rev-list', '--count', 'main')).toBe('2')
  })

  it('close their pull request when the pipeline is deleted', async () => {
    const { spec, repository, pulls } = await withRepository(on)
    await on.home.release('dev', '1.1.0')
    await on.home.release('prod', '1.0.0')
    await on.test.pipeline('app', spec)
    const open = await on.test.until('app', (pipeline) => phase(pipeline, 'prod') === 'Proposed')
    expect(open.metadata.finalizers).toEqual(['sojourn.dev/promotions'])
    await on.home.client.deleteObject(pipelineKind.type, { namespace: 'team', name: 'app' })
    await expect
      .poll(() => on.home.client.list(pipelineKind.type, { namespace: 'team' }).then(({ items }) => items.length), {
        timeout: 10_000,
      })
      .toBe(0)
    expect(pulls()).toMatchObject([{ state: 'closed' }])
    expect(await repository.branches()).toEqual(['main'])
  })

  it('wait during a freeze and continue when it ends', async () => {
    await on.home.namespace('sojourn-system')
    await on.home.client.create(configMaps, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { namespace: 'sojourn-system', name: 'freeze' },
      data: { promotions: 'frozen' },
    })
    await on.home.release('dev', '1.0.0')
    await on.home.release('prod', '1.0.0')
    await on.test.pipeline('app', specOf())
    await on.test.until('app', (pipeline) => conditionOf(pipeline, 'Suspended')?.reason === 'Frozen')
    await on.home.release('dev', '1.1.0')
    await on.test.until('app', (pipeline) => phase(pipeline, 'prod') === 'Gated')
    await on.home.client.deleteObject(configMaps, { namespace: 'sojourn-system', name: 'freeze' })
    await on.test.until('app', (pipeline) => phase(pipeline, 'prod') === 'RollingOut')
  })

  it('of a dry run call no forge, emit no Event and report what would be done', async () => {
    await on.test.stop()
    on.test = new TestPromoter(on.home, { leaf: on.leaf }, { dryRun: true })
    const { spec } = await withRepository(on)
    for (const name of ['dev', 'prod']) await on.home.release(name, name === 'dev' ? '1.1.0' : '1.0.0')
    const asked = on.forge.requests.length
    const { url } = spec.promotion!.strategy['pull-request']!
    const strategies = {
      pull: spec.promotion!.strategy,
      notice: { notification: {} },
      call: { webhook: { url } },
    }
    for (const [name, strategy] of Object.entries(strategies)) {
      await on.test.pipeline(name, { ...spec, promotion: { strategy } })
      const held = await on.test.until(name, (pipeline) =>
        conditionOf(pipeline, 'Suspended')?.message.includes('would'),
      )
      expect(conditionOf(held, 'Suspended')).toMatchObject({ reason: 'DryRun' })
      expect(conditionOf(held, 'Suspended')?.message).toContain('would promote 1.1.0 into prod')
      expect(held.metadata.finalizers).toBeUndefined()
    }
    await on.test.promoter.controller.whenIdle()
    expect(on.forge.requests.length).toBe(asked)
    const { items } = await on.home.client.list(events, { namespace: 'team' })
    expect(items.filter((event) => event['reason'] === 'Promote')).toEqual([])
  })

  it('that failed for their credentials go on with the next version of the Secret', async () => {
    const { spec, pulls } = await withRepository(on)
    await on.home.secret('team', 'git', { ...gitSecret(on.forge), password: 'wrong' })
    await on.home.release('dev', '1.1.0')
    await on.home.release('prod', '1.0.0')
    await on.test.pipeline('app', spec)
    const failed = await on.test.until(
      'app',
      (pipeline) => conditionOf(pipeline, 'Stalled')?.reason === 'CredentialsRefused',
    )
    expect(JSON.stringify(failed)).not.toContain('"wrong"')
    await on.home.secret('team', 'git', gitSecret(on.forge))
    await on.test.until('app', (pipeline) => phase(pipeline, 'prod') === 'Proposed')
    expect(pulls()).toHaveLength(1)
  })

  it('that failed for the key they are signed with go on with the next version of that Secret', async () => {
    const { spec, repository, pulls } = await withRepository(on)
    const pullRequest = spec.promotion!.strategy['pull-request']!
    const strategy = { 'pull-request': { ...pullRequest, commit: { signingKeyRef: { name: 'signer' } } } }
    await on.home.release('dev', '1.1.0')
    await on.home.release('prod', '1.0.0')
    await on.home.secret('team', 'signer', { identity: 'not-a-key-at-all' })
    await on.test.pipeline('app', { ...spec, promotion: { strategy } })
    const failed = await on.test.until('app', (pipeline) => conditionOf(pipeline, 'Stalled')?.reason === 'KeyInvalid')
    expect(conditionOf(failed, 'Stalled')?.message).toContain('commit.signingKeyRef: identity of Secret team/signer')
    expect(JSON.stringify(failed)).not.toContain('not-a-key-at-all')
    const { privateKey } = generateKeyPairSync('ed25519')
    await on.home.secret('team', 'signer', { identity: privateKey.export({ format: 'pem', type: 'pkcs8' }).toString() })
    await on.test.until('app', (pipeline) => phase(pipeline, 'prod') === 'Proposed')
    expect(await repository.git('cat-file', 'commit', pulls()[0]!.head)).toContain(
      'gpgsig -----BEGIN SSH SIGNATURE-----',
    )
  })
})
