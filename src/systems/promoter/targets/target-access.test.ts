import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startWorld, type World } from '../../../../test/world.ts'
import { gitopsCluster } from '../../../apis/gitops-cluster.ts'
import type { Pipeline } from '../../../apis/pipeline.ts'
import { roleBindings, roles } from '../../../kube/core-types.ts'
import { AccessReviews } from '../../../tenancy/access-reviews.ts'
import { ActAs } from '../../../tenancy/act-as.ts'
import { planOf } from '../model/plan.ts'
import { TargetAccess } from './target-access.ts'

type Target = Pipeline['spec']['environments'][number]['targets'][number]

function pipelineOf(target: Target, { creator = 'jo', kind = 'ConfigMap' } = {}): Pipeline {
  return {
    apiVersion: 'pipelines.weave.works/v1alpha1',
    kind: 'Pipeline',
    metadata: {
      name: 'shop',
      namespace: 'team',
      uid: 'uid-1',
      resourceVersion: '1',
      creationTimestamp: '2026-01-05T08:00:00Z',
      annotations: { 'sojourn.dev/creator': creator },
    },
    spec: {
      appRef: { apiVersion: 'v1', kind, name: 'shop' },
      environments: [{ name: 'dev', targets: [target] }],
      adapter: { revision: 'self.data.revision' },
    },
  } as Pipeline
}

describe('what a Pipeline may read', () => {
  let world: World
  let access: TargetAccess
  const refusal = async (pipeline: Pipeline) => [
    ...(await access.refusals(pipeline, planOf(pipeline.spec, 'team'))).values(),
  ]

  beforeAll(async () => {
    world = await startWorld()
    const { client, clock } = world
    const reviews = new AccessReviews({ client, clock })
    access = new TargetAccess({ client, actAs: new ActAs({ client, reviews, provesCreators: () => true }) })
    const grant = { apiVersion: 'rbac.authorization.k8s.io/v1' }
    for (const [namespace, resources] of [
      ['team', ['configmaps', 'secrets']],
      ['shared', ['configmaps']],
    ] as const) {
      if (namespace !== 'team')
        await world.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
      const metadata = { name: 'reader', namespace }
      await client.create(roles, {
        ...grant,
        kind: 'Role',
        metadata,
        rules: [{ apiGroups: [''], resources, verbs: ['get'] }],
      })
      await client.create(roleBindings, {
        ...grant,
        kind: 'RoleBinding',
        metadata,
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'reader' },
        subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'jo' }],
      })
    }
    await world.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'other' } })
    for (const [name, annotations] of [
      ['closed', {}],
      ['open', { 'sojourn.dev/allow-from': 'team' }],
    ] as const)
      await client.create(gitopsCluster.type, {
        apiVersion: gitopsCluster.apiVersion,
        kind: gitopsCluster.kind,
        metadata: { name, namespace: 'other', annotations },
        spec: { secretRef: { name: 'kubeconfig' } },
      })
  })
  afterAll(() => world[Symbol.asyncDispose]())

  it('is what its creator may read, in any namespace', async () => {
    expect(await refusal(pipelineOf({ namespace: 'team' }))).toEqual([])
    expect(await refusal(pipelineOf({ namespace: 'shared' }))).toEqual([])
  })

  it('11: is nothing in a namespace where its creator may not read', async () => {
    expect(await refusal(pipelineOf({ namespace: 'other' }))).toEqual([
      expect.stringContaining('user "jo", who last wrote its spec, may not get configmaps "shop" in namespace other'),
    ])
    expect(await refusal(pipelineOf({ namespace: 'shared' }, { creator: 'sam' }))).toHaveLength(1)
  })

  it('checks the rights for the version that is read in place of one that is not served', async () => {
    const pipeline = pipelineOf({ namespace: 'team' })
    const appRef = { apiVersion: 'apps/v1beta1', kind: 'Deployment', name: 'shop' }
    expect(await refusal({ ...pipeline, spec: { ...pipeline.spec, appRef } })).toEqual([
      expect.stringContaining('may not get deployments'),
    ])
  })

  it('10: is never a Secret, though its creator may read it', async () => {
    for (const kind of ['Secret', 'secret'])
      expect(await refusal(pipelineOf({ namespace: 'team' }, { kind }))).toEqual([
        expect.stringContaining('a Secret cannot be an application'),
      ])
  })

  it('12: is not a cluster whose credentials belong to another namespace, unless that allows it', async () => {
    const clusterRef = (name: string) => ({ kind: 'GitopsCluster', name, namespace: 'other' }) as const
    expect(await refusal(pipelineOf({ namespace: 'team', clusterRef: clusterRef('closed') }))).toEqual([
      expect.stringContaining('annotate it with sojourn.dev/allow-from=team'),
    ])
    expect(await refusal(pipelineOf({ namespace: 'team', clusterRef: clusterRef('open') }))).toEqual([])
  })

  it('includes the Secrets of its namespace that its creator may read', async () => {
    expect(await access.secretRefusal(pipelineOf({ namespace: 'team' }), 'forge')).toBeUndefined()
    expect(await access.secretRefusal(pipelineOf({ namespace: 'team' }, { creator: 'sam' }), 'forge')).toContain(
      'may not get secrets "forge" in namespace team',
    )
  })
})
