import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { events } from '../../src/kube/core-types.ts'
import type { KubeObject, ObjectRef, ResourceType } from '../../src/kube/object.ts'
import { configMap, refTo } from './manifests.ts'
import { until, worlds, type TenantWorld } from './tenant-world.ts'

const rbac = 'rbac.authorization.k8s.io'
const definitions: ResourceType = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  namespaced: false,
}
const oxen = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'oxen.farm.example.org' },
  spec: {
    group: 'farm.example.org',
    scope: 'Namespaced',
    names: { kind: 'Ox', plural: 'oxen', singular: 'ox' },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
  },
}

interface Ends {
  readonly dependent: ObjectRef
  readonly dependency: ObjectRef
}

function bondOf(name: string, { dependent, dependency }: Ends): KubeObject {
  const end = ({ apiVersion, kind, name: of }: ObjectRef) => ({ apiVersion, kind, name: of })
  return {
    apiVersion: 'sojourn.dev/v1alpha1',
    kind: 'Bond',
    metadata: { namespace: 'a', name },
    spec: { dependent: end(dependent), dependency: end(dependency), onDelete: 'Cascade' },
  }
}

/** The status of a Bond that knows its dependency; empty before. */
function statusText(found: KubeObject | undefined): string {
  const text = JSON.stringify(found?.['status'] ?? {})
  return text.includes('dependencyUid') ? text : ''
}

describe.each(worlds)('kinds that are written in another way: $name', ({ start }) => {
  let world: TenantWorld
  beforeAll(async () => void (world = await start({ roles: ['collector', 'cleaner'] })))
  afterAll(() => world?.[Symbol.asyncDispose]())

  async function grant(user: string, rules: readonly object[]): Promise<void> {
    const metadata = { namespace: 'a', name: user }
    await world.create('administrator', { apiVersion: `${rbac}/v1`, kind: 'Role', metadata, rules })
    await world.create('administrator', {
      apiVersion: `${rbac}/v1`,
      kind: 'RoleBinding',
      metadata,
      roleRef: { apiGroup: rbac, kind: 'Role', name: user },
      subjects: [{ apiGroup: rbac, kind: 'User', name: user }],
    })
    await world.may(user, { verb: 'create', group: 'sojourn.dev', resource: 'bonds', namespace: 'a' }, true)
  }

  it('47: a Bond deletes no object of an odd plural for an author who may not delete it', async () => {
    await world.create('administrator', oxen)
    const ox = refTo('a', 'ox', 'Ox', 'farm.example.org/v1')
    const { apiVersion, kind, ...metadata } = ox
    await until(() => world.create('administrator', { apiVersion, kind, metadata }).catch(() => undefined))
    await world.create('tenant', configMap('a', 'farm'))
    // The plurals as a rule of English makes them, and no right to the real one.
    const wrong = { apiGroups: ['farm.example.org'], resources: ['oxes', 'oxs', 'ox'], verbs: ['*'] }
    const bonds = { apiGroups: ['sojourn.dev'], resources: ['bonds'], verbs: ['*'] }
    const owners = { apiGroups: [''], resources: ['configmaps', 'configmaps/finalizers'], verbs: ['*'] }
    await grant('herder', [wrong, bonds, owners])
    const bond = bondOf('herd', { dependent: ox, dependency: refTo('a', 'farm') })
    const type = (await world.as('administrator').discovery.typeOf(bond))!
    // The embedded server knows the plural at once, the collector of a cluster when it looks.
    const refused = await world
      .asUser('herder')
      .create(type, bond)
      .then(() => false)
      .catch((error: { readonly reason?: string }) => error.reason === 'Forbidden')
    const herd = refTo('a', 'herd', 'Bond', bond.apiVersion)
    if (!refused) await until(async () => statusText(await world.get(herd)) || undefined)
    await world.as('tenant').request({ method: 'DELETE', path: '/api/v1/namespaces/a/configmaps/farm' })
    if (refused) await world.gone(refTo('a', 'farm'))
    else await hasEvent('may not delete oxen')
    expect(await world.get(ox)).toBeDefined()
  })

  it('128: a Bond on a kind whose plural is the kind itself needs the right to that, and says which is missing', async () => {
    // A group of its own: clients remember what a group serves.
    const group = 'chaos.example.org'
    const names = { kind: 'PodChaos', plural: 'podchaos', singular: 'podchaos' }
    await world.create('administrator', {
      ...oxen,
      metadata: { name: `podchaos.${group}` },
      spec: { ...oxen.spec, group, names },
    })
    const chaos = refTo('a', 'chaos', 'PodChaos', `${group}/v1`)
    const { apiVersion, kind, ...metadata } = chaos
    await until(() => world.create('administrator', { apiVersion, kind, metadata }).catch(() => undefined))
    const bonds = { apiGroups: ['sojourn.dev'], resources: ['bonds'], verbs: ['*'] }
    const owners = { apiGroups: [''], resources: ['configmaps', 'configmaps/finalizers'], verbs: ['*'] }
    await grant('tester', [{ apiGroups: [group], resources: ['podchaos'], verbs: ['*'] }, bonds, owners])
    await grant('stranger', [bonds, owners])
    const bond = bondOf('chaos', { dependent: chaos, dependency: refTo('a', 'farm') })
    const type = (await world.as('administrator').discovery.typeOf(bond))!
    await expect(world.asUser('stranger').create(type, bond)).rejects.toThrow(
      /(may not|cannot) delete (podchaoses|PodChaos)/,
    )
    await expect(world.asUser('tester').create(type, bond)).resolves.toMatchObject({ metadata: { name: 'chaos' } })
  })

  it('37: a Bond deletes nothing for an author who has lost the right', async () => {
    await grant('leaver', [
      { apiGroups: ['sojourn.dev'], resources: ['bonds'], verbs: ['*'] },
      { apiGroups: [''], resources: ['configmaps', 'configmaps/finalizers'], verbs: ['*'] },
    ])
    for (const name of ['base', 'upper']) await world.create('tenant', configMap('a', name))
    const bond = bondOf('lost', { dependent: refTo('a', 'upper'), dependency: refTo('a', 'base') })
    const type = (await world.as('administrator').discovery.typeOf(bond))!
    await world.asUser('leaver').create(type, bond)
    await until(async () => statusText(await world.get(refTo('a', 'lost', 'Bond', bond.apiVersion))) || undefined)
    const bindings = { group: rbac, version: 'v1', kind: 'RoleBinding', plural: 'rolebindings', namespaced: true }
    await world.as('administrator').deleteObject(bindings, { namespace: 'a', name: 'leaver' })
    await world.may('leaver', { verb: 'delete', group: '', resource: 'configmaps', namespace: 'a' }, false)
    await world.as('tenant').request({ method: 'DELETE', path: '/api/v1/namespaces/a/configmaps/base' })
    await hasEvent('ConfigMap upper is kept')
    expect(await world.get(refTo('a', 'upper'))).toBeDefined()
  })

  /** Waits for an Event in namespace a. */
  const hasEvent = (text: string) =>
    until(async () => {
      const { items } = await world.as('administrator').list(events, { namespace: 'a' })
      return JSON.stringify(items).includes(text) || undefined
    })

  it('49: a record is kept true in every version of a kind', async () => {
    const name = 'cleaners.cleaner.vtex.dev'
    const stored = await world.as('administrator').get<KubeObject>(definitions, { name })
    const { versions } = stored['spec'] as { versions: readonly Readonly<Record<string, unknown>>[] }
    const older = { ...versions[0], name: 'v1alpha0', storage: false }
    const body = { spec: { versions: [...versions, older] } }
    const isServed = await world
      .as('administrator')
      .patch(definitions, { name }, { type: 'merge', body })
      .then(() => true)
      // The embedded server serves its own kinds in one version.
      .catch(() => false)
    if (!isServed) return
    const type = {
      group: 'cleaner.vtex.dev',
      version: 'v1alpha0',
      kind: 'Cleaner',
      plural: 'cleaners',
      namespaced: true,
    }
    const manifest = {
      apiVersion: 'cleaner.vtex.dev/v1alpha0',
      kind: 'Cleaner',
      metadata: {
        namespace: 'a',
        name: 'c49',
        annotations: { 'sojourn.dev/creator': 'administrator', 'sojourn.dev/creator-groups': 'system:masters' },
      },
      spec: { ttl: '1h', targets: [] },
    }
    const made = await until(() =>
      world
        .as('cleanerAuthor')
        .create(type, manifest)
        // It is served, and known to the policies, a moment later.
        .catch((error: Error) => (/404|not found|could not find/i.test(error.message) ? undefined : String(error))),
    )
    expect(made).toMatchObject({ metadata: { annotations: { 'sojourn.dev/creator': 'cleanerAuthor' } } })
    await expect(
      world
        .as('cleanerAuthor')
        .patch(
          type,
          { namespace: 'a', name: 'c49' },
          { type: 'merge', body: { metadata: { annotations: { 'sojourn.dev/creator': 'administrator' } } } },
        ),
    ).rejects.toThrow('only admission changes who wrote the spec')
  })
})
