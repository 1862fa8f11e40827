import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { environment, type EnvironmentStatus } from '../../src/apis/environment.ts'
import { namespaces } from '../../src/kube/core-types.ts'
import type { KubeObject } from '../../src/kube/object.ts'
import { releaseHolder } from '../cleaners.ts'
import { configMap, refTo } from './manifests.ts'
import { until, worlds, type TenantWorld } from './tenant-world.ts'

const rbac = 'rbac.authorization.k8s.io'
const sojourn = 'sojourn.dev/v1alpha1'

describe.each(worlds)('environments: $name', ({ start }) => {
  let world: TenantWorld
  beforeAll(async () => {
    world = await start({ roles: ['environments', 'activator'] })
    await world.create('administrator', classOf('short', { delete: { when: 'true', warnBefore: '0s' } }))
  })
  afterAll(() => world?.[Symbol.asyncDispose]())

  /** As the administrator: a Namespace in which the tenant has the ClusterRole edit, selected by a class. */
  async function homeOf(name: string, env: string): Promise<void> {
    await world.create('administrator', { apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
    for (const role of ['edit', 'tenant-kinds'])
      await world.create('administrator', {
        apiVersion: `${rbac}/v1`,
        kind: 'RoleBinding',
        metadata: { namespace: name, name: role },
        roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: role },
        subjects: [{ apiGroup: rbac, kind: 'User', name: 'tenant' }],
      })
    await world.may('tenant', { verb: 'create', resource: 'secrets', namespace: name }, true)
    await world.may('tenant', { verb: 'create', group: 'sojourn.dev', resource: 'environments', namespace: name }, true)
    if (env !== '') await select(name, env)
  }

  async function select(name: string, env: string): Promise<void> {
    const body = { metadata: { labels: { env } } }
    await world.as('administrator').patch(namespaces, { name }, { type: 'merge', body })
  }

  const forged = (release: string, namespace: string, hook: KubeObject) =>
    releaseHolder({ name: release, objects: [], hooks: [{ events: ['pre-delete'], object: hook }] }, { namespace })

  it('98: hooks of a forged release in an environment create and delete nothing that its tenants may not', async () => {
    await homeOf('forged', '')
    await world.create('neighbour', configMap('b', 'precious'))
    const subjects = [{ apiGroup: rbac, kind: 'User', name: 'tenant' }]
    const roleRef = { apiGroup: rbac, kind: 'ClusterRole', name: 'cluster-admin' }
    const binding = { apiVersion: `${rbac}/v1`, roleRef, subjects }
    const hooks: Readonly<Record<string, KubeObject>> = {
      elsewhere: configMap('b', 'planted'),
      before: configMap('b', 'precious'),
      cluster: { ...binding, kind: 'ClusterRoleBinding', metadata: { name: 'taken-over' } },
      quota: { apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: 'raised', namespace: 'forged' }, spec: {} },
    }
    for (const [name, hook] of Object.entries(hooks)) await world.create('tenant', forged(name, 'forged', hook))
    await world.create('tenant', configMap('forged', 'inside'))
    await select('forged', 'short')
    await world.gone(refTo('forged', 'inside'))
    expect(await world.get(refTo('b', 'planted'))).toBeUndefined()
    expect(await world.get(refTo('b', 'precious'))).toMatchObject({ data: { key: 'value' } })
    const found = await world.get({ apiVersion: `${rbac}/v1`, kind: 'ClusterRoleBinding', name: 'taken-over' })
    expect(found).toBeUndefined()
  })

  it('99: the mark of an Application that deploys to another cluster does not delete it', async () => {
    await world.create('administrator', applicationKind)
    await until(() =>
      world.as('administrator').discovery.typeOf({ apiVersion: 'argoproj.io/v1alpha1', kind: 'Application' }),
    )
    await homeOf('marked', '')
    const application = {
      apiVersion: 'argoproj.io/v1alpha1',
      kind: 'Application',
      metadata: { namespace: 'b', name: 'production' },
      spec: { destination: { server: 'https://production.example.org', namespace: 'marked' } },
    }
    await world.create('administrator', application)
    const annotations = { 'argocd.argoproj.io/tracking-id': 'production:apps/Deployment:marked/shop' }
    await world.create('tenant', deployment('marked', annotations))
    await select('marked', 'short')
    await messageOf('marked', /production deploys more than this environment/)
    expect(await world.get({ ...refTo('b', 'production'), ...application })).toBeDefined()
  })

  it('100: Environments that a class does not select take no room from those that it selects', async () => {
    const limits = { max: 1, whenFull: 'Refuse' }
    await world.create('administrator', classOf('full', { limits }))
    // Of two that came within a second the later name is the newer one, so the rightful one would be the one too many.
    await homeOf('occupier', '')
    await world.create('tenant', environmentOf('occupier', 'one', { className: 'full' }))
    // On other clusters admission does not keep it to one in a Namespace.
    await world.create('tenant', environmentOf('occupier', 'two', { className: 'full' })).catch(() => undefined)
    await world.ready(environmentRef('occupier', 'one'), 'CreatorForbidden')
    await homeOf('rightful', 'full')
    await world.ready(environmentRef('rightful'), 'Waiting')
  })

  it('101: an Environment that names the owner of another one takes no room from that owner', async () => {
    await world.create('administrator', classOf('owned', { limits: { maxPerOwner: 1 } }))
    await homeOf('borrower', 'owned')
    await until(() => world.get(environmentRef('borrower')))
    const body = { spec: { owner: 'ada@example.org' } }
    const at = { namespace: 'borrower', name: 'borrower' }
    await world.as('tenant').patch(environment.type, at, { type: 'merge', body })
    await until(async () => (await statusOf('borrower'))?.owner === 'ada@example.org' || undefined)
    const metadata = { name: 'hers', labels: { env: 'owned' }, annotations: { 'sojourn.dev/owner': 'ada@example.org' } }
    await world.create('administrator', { apiVersion: 'v1', kind: 'Namespace', metadata })
    await world.ready(environmentRef('hers'), 'Waiting')
  })

  it('105: an Environment scales nothing for an author who may not, in a Namespace that its class does not select', async () => {
    await world.create('administrator', classOf('sleepy', { sleep: { idleAfter: '1h' } }))
    await homeOf('workshop', '')
    await homeOf('bedroom', 'sleepy')
    for (const name of ['workshop', 'bedroom']) await world.create('tenant', deployment(name))
    const resource = { group: 'sojourn.dev', resource: 'environments', namespace: 'workshop' }
    await world.create('administrator', {
      apiVersion: `${rbac}/v1`,
      kind: 'Role',
      metadata: { namespace: 'workshop', name: 'keeper' },
      rules: [{ apiGroups: ['sojourn.dev'], resources: ['environments'], verbs: ['create'] }],
    })
    await world.create('administrator', {
      apiVersion: `${rbac}/v1`,
      kind: 'RoleBinding',
      metadata: { namespace: 'workshop', name: 'keeper' },
      roleRef: { apiGroup: rbac, kind: 'Role', name: 'keeper' },
      subjects: [{ apiGroup: rbac, kind: 'User', name: 'keeper' }],
    })
    await world.may('keeper', { verb: 'create', ...resource }, true)
    const spec = { power: 'Asleep', powerUntil: new Date(Date.now() + 3_600_000).toISOString() }
    const claim = environmentOf('workshop', 'claim', { className: 'sleepy', ...spec })
    await world.asUser('keeper').create(environment.type, claim)
    await world.ready(environmentRef('workshop', 'claim'), 'CreatorForbidden')
    await until(() => world.get(environmentRef('bedroom')))
    const at = { namespace: 'bedroom', name: 'bedroom' }
    await world.as('tenant').patch(environment.type, at, { type: 'merge', body: { spec } })
    await until(async () => (await replicasIn('bedroom')) === 0 || undefined)
    expect(await replicasIn('workshop')).toBe(2)
  })

  async function replicasIn(namespace: string): Promise<number | undefined> {
    const found = await world.get(refTo(namespace, 'shop', 'Deployment', 'apps/v1'))
    return (found?.spec as { replicas?: number } | undefined)?.replicas
  }

  async function statusOf(namespace: string): Promise<EnvironmentStatus | undefined> {
    return (await world.get(environmentRef(namespace)))?.status as EnvironmentStatus | undefined
  }

  function messageOf(namespace: string, pattern: RegExp): Promise<unknown> {
    return until(async () => pattern.test((await statusOf(namespace))?.message ?? '') || undefined)
  }
})

const applicationKind = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'applications.argoproj.io' },
  spec: {
    group: 'argoproj.io',
    scope: 'Namespaced',
    names: { kind: 'Application', plural: 'applications' },
    versions: [
      {
        name: 'v1alpha1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
}

function environmentRef(namespace: string, name = namespace) {
  return refTo(namespace, name, 'Environment', sojourn)
}

function environmentOf(namespace: string, name: string, spec: Readonly<Record<string, unknown>>): KubeObject {
  return { apiVersion: sojourn, kind: 'Environment', metadata: { namespace, name }, spec }
}

function deployment(namespace: string, annotations: Readonly<Record<string, string>> = {}): KubeObject {
  const labels = { app: 'shop' }
  const template = { metadata: { labels }, spec: { containers: [{ name: 'shop', image: 'shop:1' }] } }
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { namespace, name: 'shop', annotations },
    spec: { replicas: 2, selector: { matchLabels: labels }, template },
  }
}

function classOf(name: string, spec: Readonly<Record<string, unknown>>): KubeObject {
  const namespaceSelector = { matchLabels: { env: name } }
  return { apiVersion: sojourn, kind: 'EnvironmentClass', metadata: { name }, spec: { namespaceSelector, ...spec } }
}
