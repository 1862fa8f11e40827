import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'
import { gitopsCluster } from '../../src/apis/gitops-cluster.ts'
import type { Pipeline, PipelineSpec } from '../../src/apis/pipeline.ts'
import { environments, pipelineOf } from './world.ts'
import { ForgeServer, forgePassword, forgeToken, forgeUser } from '../forge/forge-server.ts'
import { condition, TestCluster, TestPromoter } from './cluster.ts'
import { manifest } from './stage.ts'

/** Two clusters, one forge and the promoter at work: the same for each test of a file, and new for each. */
export interface Clusters {
  forge: ForgeServer
  home: TestCluster
  leaf: TestCluster
  test: TestPromoter
}

/** Starts them before each test of the file, and ends them after it. */
export function useClusters(): Clusters {
  const on = {} as Clusters
  beforeAll(async () => void (on.forge = await ForgeServer.start()))
  beforeEach(async () => {
    on.home = await TestCluster.start()
    on.leaf = await TestCluster.start()
    on.test = new TestPromoter(on.home, { leaf: on.leaf })
  })
  afterEach(async () => {
    await on.test.stop()
    await Promise.all([on.home.close(), on.leaf.close()])
  })
  afterAll(() => on.forge.close())
  return on
}

export const target = (pipeline: Pipeline, environment: string, index = 0) =>
  pipeline.status?.environments?.[environment]?.targets?.[index]
export const phase = (pipeline: Pipeline, environment: string) =>
  pipeline.status?.environments?.[environment]?.promotion?.phase

/** dev → prod by notification, but for what is given. */
export function specOf(over: Partial<PipelineSpec> = {}): PipelineSpec {
  return pipelineOf({
    promotion: { strategy: { notification: {} } },
    environments: environments('dev', 'prod'),
    ...over,
  }).spec
}

/** One environment, in the other cluster. */
export const remote = [
  { name: 'dev', targets: [{ namespace: 'apps', clusterRef: { kind: 'GitopsCluster' as const, name: 'leaf' } }] },
]

/** Makes the other cluster known. */
export async function addLeaf({ home }: Clusters, kubeconfig = 'leaf', ready = true): Promise<void> {
  await home.secret('team', 'leaf-kubeconfig', { kubeconfig })
  const object = {
    apiVersion: gitopsCluster.apiVersion,
    kind: 'GitopsCluster',
    metadata: { namespace: 'team', name: 'leaf' },
    spec: { secretRef: { name: 'leaf-kubeconfig' } },
  }
  const created = await home.client.create(gitopsCluster.type, object)
  await home.client.update(
    gitopsCluster.type,
    { ...created, status: { conditions: [condition('Ready', ready)] } },
    { subresource: 'status' },
  )
}

let count = 0

/** A pipeline by pull request on a repository of its own. */
export async function withRepository(
  { forge, home }: Clusters,
  over: Partial<PipelineSpec> = {},
  names = ['dev', 'prod'],
) {
  const name = `repo-${++count}`
  const repository = await forge.createRepository(name)
  await repository.commit(
    'main',
    Object.fromEntries(names.slice(1).map((each) => [`${each}/app.yaml`, manifest(each, '1.0.0')])),
  )
  await home.secret('team', 'git', gitSecret(forge))
  const strategy = {
    'pull-request': {
      type: 'gitea' as const,
      url: forge.url('gitea', name),
      baseBranch: 'main',
      secretRef: { name: 'git' },
    },
  }
  const pulls = () => forge.pulls.all.filter((pull) => pull.repository === name)
  return { repository, pulls, spec: specOf({ environments: environments(...names), promotion: { strategy }, ...over }) }
}

/** What the forge lets in. */
export function gitSecret(forge: ForgeServer): Record<string, string> {
  return { username: forgeUser, password: forgePassword, token: forgeToken, caFile: forge.ca }
}
