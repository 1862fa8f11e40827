import { existsSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Pipeline } from '../../src/apis/pipeline.ts'
import { conditionOf, configMaps, TestPromoter } from '../promoter/cluster.ts'
import { fluxProgram } from './flux-build.ts'
import { FluxWorld, gitRepository } from './flux-world.ts'
import { MortalPromoter } from './mortal-promoter.ts'

const app = (version: string) =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: { name: app }\ndata: { version: "${version}" }\n`

/** Tests what becomes of commits with Flux's own reconcilers on one kind of API server. */
export function describePromotions(kind: Parameters<typeof FluxWorld.start>[0], why?: string): void {
  // The lane's set-up has said why when it could not be built.
  describe.skipIf(!existsSync(fluxProgram) || why)(`with Flux's own controllers on ${kind}, a commit`, () => {
    let world: FluxWorld
    let test: TestPromoter
    const pipeline = (wanted: (pipeline: Pipeline) => unknown) => test.until('app', wanted)
    const versionIn = async (namespace: string) =>
      ((await world.client.get(configMaps, { namespace, name: 'app' })) as { data?: Record<string, string> }).data?.[
        'version'
      ]
    const open = (environment: string, commit: string) =>
      world.until(
        async () =>
          (await world.forge.pulls()).find(
            ({ state, head, body }) => state === 'open' && head.includes(`/${environment}-`) && body.includes(commit),
          ),
        `a pull request for ${environment}`,
      )

    /** The sources of staging and prod, each pinned to a commit that promotions set. */
    const pins = (commit: string) =>
      Object.fromEntries(
        ['staging', 'prod'].map((name) => [
          `clusters/${name}.yaml`,
          `${JSON.stringify(world.source(name, {})).replace('"ref":{}', `"ref":{\n"commit": "${commit}" # {"$promotion": "team:app:${name}"}\n}`)}\n`,
        ]),
      )

    beforeAll(async () => {
      world = await FluxWorld.start(kind)
      const first = await world.forge.commit({ 'app/app.yaml': app('1') })
      await world.forge.commit({ 'app/app.yaml': app('1'), ...pins(first) })
      await world.client.create(gitRepository, world.source('main', { branch: 'main' }))
      const from = (name: string) => ({ kind: 'GitRepository', name, namespace: 'flux' })
      await world.kustomize({ namespace: 'flux', name: 'clusters' }, { path: './clusters', sourceRef: from('main') })
      for (const [namespace, source] of Object.entries({ dev: 'main', staging: 'staging', prod: 'prod' }))
        await world.kustomize(
          { namespace, name: 'app' },
          { path: './app', targetNamespace: namespace, sourceRef: from(source) },
        )
      expect(await world.applied('prod', first)).toBe(`sha1:${first}`)
      test = new TestPromoter(world.home)
      await test.pipeline('app', {
        appRef: { apiVersion: 'kustomize.toolkit.fluxcd.io/v1', kind: 'Kustomization', name: 'app' },
        environments: ['dev', 'staging', 'prod'].map((name) => ({ name, targets: [{ namespace: name }] })),
        settle: { quietPeriod: '2s' },
        interval: '10s',
        promotion: {
          strategy: {
            'pull-request': { type: 'gitea', url: world.forge.url, baseBranch: 'main', secretRef: { name: 'git' } },
          },
        },
      })
    })
    afterAll(async () => {
      await test?.stop()
      await world?.close()
    })

    /** Merges what is proposed for an environment, and waits until its Kustomization has applied it. */
    async function merge(environment: string, commit: string): Promise<void> {
      await world.forge.merge((await open(environment, commit)).number)
      await world.applied(environment, commit)
    }

    it('flows from dev by pull request to staging and by pull request to prod, once', async () => {
      // What was there before is no promotion: the first run ends with the pull requests for what dev has already.
      const before = (await pipeline(({ status }) => status?.run)).status!.run!
      const second = await world.forge.commit({ 'app/app.yaml': app('2') })
      await world.applied('dev', second)
      await pipeline(({ status }) => status?.run?.revision === `main@sha1:${second}`)
      await merge('staging', second)
      expect(await versionIn('staging')).toBe('2')
      expect(await versionIn('prod')).toBe('1')
      // A promoter that ends in the middle, and another that goes on.
      await test.stop()
      test = new TestPromoter(world.home)
      await merge('prod', second)
      const done = await pipeline(({ status }) => status?.run?.phase === 'Complete')
      expect(await versionIn('prod')).toBe('2')
      // dev follows the branch that promotions write to: their commits are no revisions of their own.
      const tip = await world.forge.tip()
      await world.applied('dev', tip)
      const later = await pipeline(({ status }) => status?.run?.aliases?.some((alias) => alias.endsWith(tip)))
      expect(later.status?.run?.sequence).toBe(done.status?.run?.sequence)
      expect(later.status!.run!.sequence - before.sequence).toBe(1)
      expect(await world.forge.count(`Promotion-Revision: main@sha1:${second}`)).toBe(2)
      expect((await world.forge.pulls()).filter(({ state }) => state === 'open')).toEqual([])
    })

    it('that is broken is held in dev, with the reason of its Kustomization, and the cure is promoted', async () => {
      await world.forge.commit({
        'app/app.yaml': `apiVersion: none.example/v1\nkind: Nothing\nmetadata: { name: app }\n`,
      })
      const messageIn = ({ status }: Pipeline) => status?.environments?.['dev']?.targets?.[0]?.message
      const held = await pipeline((found) => messageIn(found)?.includes('none.example/v1'))
      expect(conditionOf(held, 'PromotionPending')).toMatchObject({ reason: 'EnvironmentNotReady' })
      expect(held.status?.environments?.['dev']?.targets?.[0]).toMatchObject({ ready: false })
      expect((await world.forge.pulls()).filter(({ state }) => state === 'open')).toEqual([])
      const third = await world.forge.commit({ 'app/app.yaml': app('3') })
      await merge('staging', third)
      expect(await versionIn('staging')).toBe('3')
    })

    it('arrives by one commit and one pull request each, wherever its promoters are killed with SIGKILL', async () => {
      await test.stop()
      const promoter = new MortalPromoter(world.kubeconfig)
      try {
        const fourth = await world.forge.commit({ 'app/app.yaml': app('4') })
        await merge('staging', fourth)
        await merge('prod', fourth)
        await world.until(async () => {
          const { run } = (await test.get('app')).status ?? {}
          return run?.phase === 'Complete' && run.revision.endsWith(fourth)
        }, 'the run is complete')
        expect(await versionIn('prod')).toBe('4')
        const proposed = (await world.forge.pulls()).filter(({ body }) => body.includes(fourth))
        expect(proposed).toMatchObject([{ state: 'merged' }, { state: 'merged' }])
        expect(await world.forge.count(`Promotion-Revision: main@sha1:${fourth}`)).toBe(2)
      } finally {
        promoter.end()
      }
      expect(promoter.crashed).toBe(false)
      expect(promoter.kills).toBeGreaterThan(5)
      console.warn(`${kind}: arrived after ${promoter.kills} promoters were killed`)
    })
  })
}
