import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { configMaps, jobs, secrets } from '../../src/kube/core-types.ts'
import type { KubeObject } from '../../src/kube/object.ts'
import { encodeRelease } from '../../src/helm/release-record.ts'
import { read } from '../../src/helm/release-text.ts'
import { releaseHolder } from '../cleaners.ts'
import { cleaner, configMap, refTo, refToCleaner } from './manifests.ts'
import { until, worlds, type TenantWorld } from './tenant-world.ts'

const rbac = 'rbac.authorization.k8s.io'

describe.each(worlds)('a forged Helm release: $name', ({ start, recordsCreators }) => {
  const itRecorded = it.skipIf(!recordsCreators)
  let world: TenantWorld
  beforeAll(async () => void (world = await start()))
  afterAll(() => world?.[Symbol.asyncDispose]())

  interface Forged {
    readonly objects?: readonly KubeObject[]
    readonly hook?: KubeObject
    /** Written into the record instead of namespace a. */
    readonly namespace?: string
    readonly driver?: 'configmap'
  }

  /** As the tenant: a release record in namespace a, and a Cleaner that uninstalls it. */
  async function uninstall(name: string, { objects = [], hook, namespace, driver }: Forged): Promise<void> {
    const hooks = hook ? [{ events: ['pre-delete'], object: hook }] : []
    const holder = releaseHolder({ name, objects, hooks }, { namespace: 'a' })
    await world.create('tenant', driver ? asConfigMap(holder) : await rewritten(holder, namespace))
    const helm = { release: name, delete: true, ...(driver ? { driver } : {}) }
    await world.create('tenant', cleaner('a', name, { spec: { helm } }))
  }

  const refused = (name: string, ...reasons: readonly string[]) => world.ready(refToCleaner('a', name), ...reasons)

  it('lets the tenant uninstall a release whose hook stays in the namespace', async () => {
    await world.create('tenant', configMap('a', 'good-part'))
    const hook = configMap('a', 'good-hook')
    await uninstall('good', { objects: [configMap('a', 'good-part')], hook })
    await world.gone(refToCleaner('a', 'good'))
    expect(await world.get(refTo('a', 'good-part'))).toBeUndefined()
    expect(await world.get(refTo('a', 'good-hook'))).toBeDefined()
  })

  it('1: a hook in another namespace is not created', async () => {
    await uninstall('hook-in-b', { hook: configMap('b', 'planted') })
    expect(await refused('hook-in-b', 'Confined')).toMatchObject({
      status: 'False',
      message: expect.stringContaining('may only change objects of its own namespace a, not of b') as string,
    })
    expect(await world.get(refTo('b', 'planted'))).toBeUndefined()
  })

  it('2: a cluster-scoped hook is not created', async () => {
    const hook = {
      apiVersion: `${rbac}/v1`,
      kind: 'ClusterRoleBinding',
      metadata: { name: 'taken-over' },
      roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [{ apiGroup: rbac, kind: 'User', name: 'tenant' }],
    }
    await uninstall('cluster-hook', { hook })
    await refused('cluster-hook', 'Confined')
    expect(await world.get({ apiVersion: hook.apiVersion, kind: hook.kind, name: 'taken-over' })).toBeUndefined()
  })

  it('3: before-hook-creation deletes nothing in another namespace', async () => {
    await world.create('neighbour', configMap('b', 'precious'))
    await uninstall('before-hook', { hook: configMap('b', 'precious') })
    await refused('before-hook', 'Confined')
    expect(await world.get(refTo('b', 'precious'))).toMatchObject({ data: { key: 'value' } })
  })

  it('3: before-hook-creation deletes nothing that belongs to another release', async () => {
    const annotations = { 'meta.helm.sh/release-name': 'other', 'meta.helm.sh/release-namespace': 'a' }
    await world.create('tenant', configMap('a', 'of-other-release', { annotations }))
    await uninstall('greedy-hook', { hook: configMap('a', 'of-other-release') })
    await world.gone(refToCleaner('a', 'greedy-hook'))
    expect(await world.get(refTo('a', 'of-other-release'))).toMatchObject({ metadata: { annotations } })
  })

  it('4: a RoleBinding as a hook is not created', async () => {
    const hook = {
      apiVersion: `${rbac}/v1`,
      kind: 'RoleBinding',
      metadata: { name: 'promoted', namespace: 'a' },
      roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: 'admin' },
      subjects: [{ apiGroup: rbac, kind: 'User', name: 'tenant' }],
    }
    await uninstall('binding-hook', { hook })
    await refused('binding-hook', 'Confined', 'CreatorForbidden')
    expect(await world.get(refTo('a', 'promoted', 'RoleBinding', hook.apiVersion))).toBeUndefined()
  })

  it('5: a record that says it is of another namespace uninstalls nothing', async () => {
    const annotations = { 'meta.helm.sh/release-name': 'foreign', 'meta.helm.sh/release-namespace': 'b' }
    await world.create('neighbour', configMap('b', 'foreign-part', { annotations }))
    await world.create('tenant', configMap('a', 'foreign-part', {}))
    await uninstall('foreign', {
      objects: [configMap('b', 'foreign-part'), configMap('a', 'foreign-part')],
      namespace: 'b',
    })
    await world.gone(refToCleaner('a', 'foreign'))
    expect(await world.get(refTo('b', 'foreign-part'))).toBeDefined()
    expect(await world.get(refTo('a', 'foreign-part'))).toBeDefined()
  })

  it('6: objects of another namespace without the release in their annotations are kept', async () => {
    await world.create('neighbour', configMap('b', 'unlabelled'))
    await uninstall('unlabelled', { objects: [configMap('b', 'unlabelled')] })
    await world.gone(refToCleaner('a', 'unlabelled'))
    expect(await world.get(refTo('b', 'unlabelled'))).toBeDefined()
  })

  it('6: objects of another namespace that the creator may not delete are kept, whatever their annotations say', async () => {
    const annotations = { 'meta.helm.sh/release-name': 'labelled', 'meta.helm.sh/release-namespace': 'a' }
    await world.create('neighbour', configMap('b', 'labelled', { annotations }))
    await uninstall('labelled', { objects: [configMap('b', 'labelled')] })
    await refused('labelled', 'CreatorForbidden', 'CreatorUnknown')
    expect(await world.get(refTo('b', 'labelled'))).toBeDefined()
  })

  it('7: a record in a ConfigMap is bound in the same way', async () => {
    await uninstall('by-config-map', { hook: configMap('b', 'planted-too'), driver: 'configmap' })
    await refused('by-config-map', 'Confined')
    expect(await world.get(refTo('b', 'planted-too'))).toBeUndefined()
  })

  it('8: a record with 2,001 documents is not read, and nothing is deleted', async () => {
    await world.create('tenant', configMap('a', 'one-of-many'))
    const small = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } })
    const many = Array.from({ length: 2000 }, (_, index) => small(`part-${index}`))
    await uninstall('many', { objects: [small('one-of-many'), ...many] })
    await world.gone(refToCleaner('a', 'many'))
    expect(await world.get(refTo('a', 'one-of-many'))).toBeDefined()
  })

  it('9: a record that changes between decision and uninstall deletes nothing', async () => {
    await world.create('tenant', configMap('a', 'decided'))
    await world.create('tenant', configMap('a', 'swapped-in'))
    await world.create('tenant', {
      ...configMap('a', 'holds-it-up'),
      metadata: { namespace: 'a', name: 'holds-it-up', finalizers: ['example.com/wait'] },
    })
    const holder = releaseHolder({ name: 'swapped', objects: [configMap('a', 'decided')] }, { namespace: 'a' })
    await world.create('tenant', holder)
    const spec = { helm: { release: 'swapped', delete: true }, wait: '20s' }
    await world.create('tenant', cleaner('a', 'swapped', { deletes: ['holds-it-up'], spec }))
    // Decided and recorded; the target's finalizer holds the uninstall back.
    await until(async () =>
      (await world.get(refTo('a', 'holds-it-up')))?.metadata.deletionTimestamp ? true : undefined,
    )
    const changed = releaseHolder({ name: 'swapped', objects: [configMap('a', 'swapped-in')] }, { namespace: 'a' })
    const at = { namespace: 'a', name: 'sh.helm.release.v1.swapped.v1' }
    await world.as('tenant').patch(secrets, at, { type: 'merge', body: { data: changed.data } })
    await world
      .as('tenant')
      .patch(
        configMaps,
        { namespace: 'a', name: 'holds-it-up' },
        { type: 'merge', body: { metadata: { finalizers: null } } },
      )
    await world.gone(refToCleaner('a', 'swapped'))
    expect(await world.get(refTo('a', 'swapped-in'))).toBeDefined()
    expect(await world.get(refTo('a', 'decided'))).toBeDefined()
  })

  itRecorded('30: a user who may only write Cleaners uninstalls no release', async () => {
    await world.create('tenant', configMap('a', 'not-theirs'))
    await world.create(
      'tenant',
      releaseHolder({ name: 'not-theirs', objects: [configMap('a', 'not-theirs')] }, { namespace: 'a' }),
    )
    const helm = { release: 'not-theirs', delete: true }
    await world.create('cleanerAuthor', cleaner('a', 'not-theirs', { spec: { helm } }))
    // Its records are not even read.
    expect((await world.ready(refToCleaner('a', 'not-theirs'), 'CreatorForbidden')).message).toContain('list secrets')
    expect(await world.get(refTo('a', 'not-theirs'))).toBeDefined()
    expect((await world.as('administrator').list(jobs, { namespace: 'a' })).items).toEqual([])
  })
})

function asConfigMap(holder: KubeObject): KubeObject {
  const { release } = holder.data as { readonly release: string }
  const { type: _, ...rest } = holder
  return { ...rest, kind: 'ConfigMap', data: { release: Buffer.from(release, 'base64').toString('latin1') } }
}

/** The record with another namespace written into it. */
async function rewritten(holder: KubeObject, namespace: string | undefined): Promise<KubeObject> {
  if (namespace === undefined) return holder
  const { release } = holder.data as { release: string }
  const record = { ...read({ kind: holder.kind, release }), namespace }
  return { ...holder, data: { release: await encodeRelease(record, holder) } }
}
