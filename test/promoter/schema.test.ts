import { describe, expect, it } from 'vitest'
import type { PipelineSpec, PullRequestSpec } from '../../src/apis/pipeline.ts'
import { environments } from './world.ts'
import { specOf, useClusters } from './clusters.ts'

const on = useClusters()

function repositoryOf(over: Partial<PullRequestSpec>): Partial<PipelineSpec> {
  const plain = { type: 'github', url: 'https://a.test/b/c', baseBranch: 'main', secretRef: { name: 'x' } } as const
  return { promotion: { strategy: { 'pull-request': { ...plain, ...over } } } }
}

describe('the schema', () => {
  it.each([
    ['N12: no environments', { environments: [] }, 'spec.environments'],
    ['N12: an environment twice', { environments: environments('dev', 'dev') }, 'spec.environments[1]'],
    ['C37: no targets', { environments: [{ name: 'dev', targets: [] }] }, 'spec.environments[0].targets'],
    ['a name that is no label', { environments: environments('Dev_1') }, 'spec.environments[0].name'],
    [
      'C53: two strategies',
      { promotion: { strategy: { notification: {}, webhook: { url: 'https://a.test/' } } } },
      'spec.promotion.strategy',
    ],
    ['C44 C54: no strategy', { promotion: { strategy: {} } }, 'spec.promotion.strategy'],
    [
      'C55: a plain URL',
      { promotion: { strategy: { webhook: { url: 'http://a.test/' } } } },
      'spec.promotion.strategy.webhook.url',
    ],
    ['C55: no URL', repositoryOf({ url: undefined as never }), 'spec.promotion.strategy.pull-request.url'],
    [
      'C55: a plain URL of a repository',
      repositoryOf({ url: 'http://a.test/b/c' }),
      'spec.promotion.strategy.pull-request.url',
    ],
    ['C55: an empty forge', repositoryOf({ type: '' as never }), 'spec.promotion.strategy.pull-request.type'],
    [
      'C55: no Secret named',
      repositoryOf({ secretRef: { name: '' } }),
      'spec.promotion.strategy.pull-request.secretRef.name',
    ],
    [
      'C55: an unknown forge',
      {
        promotion: {
          strategy: {
            'pull-request': {
              type: 'sourceforge' as never,
              url: 'https://a.test/b/c',
              baseBranch: 'main',
              secretRef: { name: 'x' },
            },
          },
        },
      },
      'spec.promotion.strategy.pull-request.type',
    ],
  ])('refuses %s, naming the field', async (_, over, field) => {
    await expect(on.test.pipeline('bad', specOf(over))).rejects.toThrow(field)
  })

  it.each(['github', 'gitlab', 'gitea', 'forgejo', 'bitbucket-server', 'bitbucket-cloud', 'azure-devops'] as const)(
    'takes a pull request on %s',
    async (type) => {
      const strategy = {
        'pull-request': { type, url: 'https://a.test/b/c', baseBranch: 'main', secretRef: { name: 'x' } },
      }
      await expect(on.test.pipeline(`p-${type}`, specOf({ promotion: { strategy } }))).resolves.toBeTruthy()
    },
  )
})
