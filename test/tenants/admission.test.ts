import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cleaner as cleanerKind } from '../../src/apis/cleaner.ts'
import type { Client } from '../../src/client/client.ts'
import { services } from '../../src/kube/core-types.ts'
import type { KubeObject, StoredObject } from '../../src/kube/object.ts'
import { cleaner, refTo } from './manifests.ts'
import { recordingWorlds, until, type TenantWorld } from './tenant-world.ts'

const forged = { 'sojourn.dev/creator': 'administrator', 'sojourn.dev/creator-groups': 'system:authenticated' }
const rbac = 'rbac.authorization.k8s.io'

describe.each(recordingWorlds)('what admission refuses: $name', ({ start }) => {
  let world: TenantWorld
  beforeAll(async () => {
    world = await start({ roles: ['cleaner'] })
    await grant('serviceAuthor', [{ apiGroups: [''], resources: ['services'], verbs: ['*'] }])
    await grant('statusWriter', [{ apiGroups: ['sojourn.dev'], resources: ['*'], verbs: ['*'] }])
    // A right counts a moment after it is granted.
    await until(async () => (await world.asUser('serviceAuthor').list(services, { namespace: 'a' })) && true)
  })
  afterAll(() => world?.[Symbol.asyncDispose]())

  /** Grants a user something in namespace a. */
  async function grant(user: string, rules: readonly object[]): Promise<void> {
    const metadata = { namespace: 'a', name: user.toLowerCase() }
    await world.create('administrator', { apiVersion: `${rbac}/v1`, kind: 'Role', metadata, rules })
    await world.create('administrator', {
      apiVersion: `${rbac}/v1`,
      kind: 'RoleBinding',
      metadata,
      roleRef: { apiGroup: rbac, kind: 'Role', name: metadata.name },
      subjects: [{ apiGroup: rbac, kind: 'User', name: user }],
    })
  }

  const creatorOf = ({ metadata }: StoredObject) => metadata.annotations?.['sojourn.dev/creator']
  const patch = (client: Client, name: string, body: unknown, subresource = '') =>
    client.patch(cleanerKind.type, { namespace: 'a', name }, { type: 'merge', body }, { subresource })
  const waiting = (name: string, overrides = {}) => cleaner('a', name, { spec: { ttl: '1h', ...overrides } })
  const createAs = async (user: string, manifest: KubeObject) => {
    const type = await world.as('administrator').discovery.typeOf(manifest)
    return world.asUser(user).create(type!, manifest)
  }

  it('31: a change of the spec makes its author answer for it, also one with fewer rights', async () => {
    expect(creatorOf(await world.create('administrator', waiting('c31')))).toBe('administrator')
    expect(creatorOf(await patch(world.as('cleanerAuthor'), 'c31', { spec: { ttl: '2h' } }))).toBe('cleanerAuthor')
  })

  it('32: a change of metadata by a user with more rights keeps the record', async () => {
    await world.create('cleanerAuthor', waiting('c32'))
    const body = { metadata: { labels: { seen: 'yes' } } }
    expect(creatorOf(await patch(world.as('administrator'), 'c32', body))).toBe('cleanerAuthor')
  })

  it('33: a forged record is overwritten at creation and refused afterwards', async () => {
    const made = await world.create('cleanerAuthor', cleaner('a', 'c33', { annotations: forged, spec: { ttl: '1h' } }))
    expect(creatorOf(made)).toBe('cleanerAuthor')
    await expect(patch(world.as('cleanerAuthor'), 'c33', { metadata: { annotations: forged } })).rejects.toThrow(
      'only admission changes who wrote the spec',
    )
    expect(creatorOf((await world.get(ref('c33')))!)).toBe('cleanerAuthor')
  })

  it('35: a removed record is put back', async () => {
    await world.create('cleanerAuthor', waiting('c35'))
    const body = { metadata: { annotations: { 'sojourn.dev/creator': null } } }
    expect(creatorOf(await patch(world.as('cleanerAuthor'), 'c35', body))).toBe('cleanerAuthor')
  })

  it('36: the status subresource changes no record', async () => {
    await world.create('cleanerAuthor', waiting('c36'))
    const body = { metadata: { annotations: forged } }
    await patch(world.as('cleanerAuthor'), 'c36', body, 'status').catch(() => undefined)
    expect(creatorOf((await world.get(ref('c36')))!)).toBe('cleanerAuthor')
  })

  it('an administrator adopts an object, a peer does not', async () => {
    await world.create('cleanerAuthor', waiting('adopted'))
    const body = (user: string) => ({ metadata: { annotations: { 'sojourn.dev/creator': user } } })
    await expect(patch(world.as('tenant'), 'adopted', body('tenant'))).rejects.toThrow('only admission changes')
    expect(creatorOf(await patch(world.as('administrator'), 'adopted', body('administrator')))).toBe('administrator')
  })

  it('41: an account that its author may not use is refused', async () => {
    const account = { serviceAccountName: 'deployer' }
    await expect(world.create('cleanerAuthor', waiting('c41', account))).rejects.toThrow('spec.serviceAccountName')
    expect(await world.create('tenant', waiting('c41-entitled', account))).toBeDefined()
  })

  it('45: a user with a name that cannot be recorded is refused', async () => {
    const long = 'x'.repeat(254)
    await grant(long.slice(0, 60), [])
    const client = world.asUser('administrator', long)
    await expect(client.create(cleanerKind.type, waiting('c45'))).rejects.toThrow(/253/)
  })

  const departure = (name: string, namespace = 'a'): KubeObject => ({
    apiVersion: 'sojourn.dev/v1alpha1',
    kind: 'Departure',
    metadata: { namespace, name },
    spec: {
      object: { apiVersion: 'v1', kind: 'ConfigMap', namespace, name: 'x', uid: 'u', resourceVersion: '1' },
      because: 'expired',
      by: { system: 'cleaner' },
      recordedAt: new Date().toISOString().replace(/\.\d+/, ''),
    },
  })

  it('50: a tenant plants no Departures', async () => {
    await expect(world.create('tenant', departure('planted'))).rejects.toThrow('only Sojourn writes its records')
    expect(await world.create('administrator', departure('restored-backup'))).toBeDefined()
    const spec = { of: 'restored-backup', number: 1, manifests: '' }
    const page = { ...departure('restored-backup-p1'), kind: 'DeparturePage', spec }
    await expect(world.create('tenant', page)).rejects.toThrow('only Sojourn writes its records')
  })

  it('51: a tenant changes no Departure, and may still label it and mark it as restored', async () => {
    await world.create('administrator', departure('true'))
    const tenant = world.as('tenant')
    const type = (await tenant.discovery.typeOf(departure('true')))!
    const change = (body: unknown, subresource = '') =>
      tenant.patch(type, { namespace: 'a', name: 'true' }, { type: 'merge', body }, { subresource })
    await expect(change({ spec: { manifest: { kind: 'ClusterRoleBinding' } } })).rejects.toThrow('only Sojourn writes')
    await expect(change({ status: { phase: 'Gone' } }, 'status')).rejects.toThrow('only Sojourn writes')
    await change({ metadata: { labels: { seen: 'yes' } } })
    await change({ status: { phase: 'Restored', restoredAt: '2026-01-05T08:00:00Z' } }, 'status')
  })

  it('52: the right to bonds/status forges no binding', async () => {
    const end = { apiVersion: 'v1', kind: 'ConfigMap', name: 'x' }
    const bond = {
      apiVersion: 'sojourn.dev/v1alpha1',
      kind: 'Bond',
      metadata: { namespace: 'a', name: 'guard' },
      spec: { dependent: end, dependency: { ...end, name: 'y' }, onDelete: 'Orphan' },
    }
    await world.create('tenant', bond)
    const writer = world.asUser('statusWriter')
    const type = (await writer.discovery.typeOf(bond))!
    const write = (status: unknown) =>
      writer.patch(
        type,
        { namespace: 'a', name: 'guard' },
        { type: 'merge', body: { status } },
        { subresource: 'status' },
      )
    await expect(write({ phase: 'Active', dependencyUid: 'of-another' })).rejects.toThrow('only Sojourn writes')
    // What a restore does with a Bond of its own.
    await write({ phase: 'Pending', dependencyUid: null })
  })

  it('53: a tenant writes no ledger and no candidate', async () => {
    const role = { apiGroups: ['sojourn.dev'], resources: ['*'], verbs: ['*'] }
    const metadata = { name: 'all-of-ours' }
    await world.create('administrator', { apiVersion: `${rbac}/v1`, kind: 'ClusterRole', metadata, rules: [role] })
    await world.create('administrator', {
      apiVersion: `${rbac}/v1`,
      kind: 'ClusterRoleBinding',
      metadata,
      roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: 'all-of-ours' },
      subjects: [{ apiGroup: rbac, kind: 'User', name: 'statusWriter' }],
    })
    for (const kind of ['UsageLedger', 'SavingsReport', 'CleanupCandidate']) {
      const manifest = {
        apiVersion: 'sojourn.dev/v1alpha1',
        kind,
        metadata: { name: 'forged', ...(kind === 'SavingsReport' ? { namespace: 'sojourn-system' } : {}) },
        spec: validSpecs[kind],
      }
      await until(async () => {
        const error: unknown = await createAs('statusWriter', manifest).catch((thrown: unknown) => thrown)
        return String(error).includes('only Sojourn writes') || undefined
      })
    }
    const spec = validSpecs['CleanupCandidate']
    const candidate = { apiVersion: 'sojourn.dev/v1alpha1', kind: 'CleanupCandidate', metadata: { name: 'true' }, spec }
    const { apiVersion, kind } = await world.create('administrator', candidate)
    const type = (await world.as('administrator').discovery.typeOf({ apiVersion, kind }))!
    const change = (body: unknown) =>
      world.asUser('statusWriter').patch(type, { name: 'true' }, { type: 'merge', body: { spec: body } })
    await expect(change({ resource: { name: 'another' } })).rejects.toThrow('only Sojourn writes')
    // A person's postponement.
    await change({ hold: true })
  })

  it('57: a tenant opts nothing out for others: neither the roles edit and admin nor rights in a namespace allow it', async () => {
    const optOut = {
      apiVersion: 'sojourn.dev/v1alpha1',
      kind: 'CleanupOptOut',
      metadata: { name: 'everything' },
      spec: { selector: { kind: 'ConfigMap', labels: {} } },
    }
    for (const role of ['edit', 'admin']) {
      const metadata = { name: `opting-out-${role}` }
      const subjects = [{ apiGroup: rbac, kind: 'User', name: metadata.name }]
      const roleRef = { apiGroup: rbac, kind: 'ClusterRole', name: role }
      const binding = { apiVersion: `${rbac}/v1`, kind: 'ClusterRoleBinding', metadata, roleRef, subjects }
      await world.create('administrator', binding)
      await world.may(metadata.name, { verb: 'create', group: '', resource: 'configmaps', namespace: 'b' }, true)
      await expect(createAs(metadata.name, optOut)).rejects.toMatchObject({ reason: 'Forbidden' })
    }
    await expect(createAs('tenant', optOut)).rejects.toMatchObject({ reason: 'Forbidden' })
  })

  it('56: an approval is given in the own name only', async () => {
    const spec = { pipeline: 'p', environment: 'prod', promotionId: '0123456789abcdef', decision: 'Approve' }
    const approval = (approver: string) => ({
      apiVersion: 'sojourn.dev/v1alpha1',
      kind: 'Approval',
      metadata: { namespace: 'a', name: `by-${approver}` },
      spec: { ...spec, approver },
    })
    await expect(world.create('tenant', approval('neighbour'))).rejects.toThrow('spec.approver')
    expect(await world.create('tenant', approval('tenant'))).toBeDefined()
  })

  const service = (name: string, annotations: Readonly<Record<string, string>>): KubeObject => ({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { namespace: 'a', name, annotations },
    spec: { ports: [{ port: 80 }] },
  })

  it.each([
    ['18: a page from a ConfigMap', { 'sojourn.dev/waiting-page': 'ConfigMap/settings' }, 'configmaps "settings"'],
    ['19: the certificate of a Secret', { 'sojourn.dev/tls-secret': 'tls' }, 'secrets "tls"'],
    ['the scale of a Deployment', { 'proxless/deployment': 'web' }, 'scale'],
    ['the scale of a further workload', { 'sojourn.dev/target': 'Deployment/web,StatefulSet/db' }, 'scale'],
    ['a takeover', { 'sojourn.dev/takeover': 'true' }, 'update endpointslices'],
  ])('%s needs the right of who annotates the Service', async (_, annotations, right) => {
    const name = `s${Object.values(annotations).join('').length}${right.length}`
    await expect(createAs('serviceAuthor', service(name, annotations))).rejects.toThrow(right)
    await createAs('serviceAuthor', service(name, { other: 'x' }))
    const author = world.asUser('serviceAuthor')
    const change = (client: Client, body: unknown) =>
      client.patch(services, { namespace: 'a', name }, { type: 'merge', body })
    await expect(change(author, { metadata: { annotations } })).rejects.toThrow(right)
    await change(world.as('administrator'), { metadata: { annotations } })
    // What is there already keeps no one from changing the rest.
    await change(author, { metadata: { labels: { seen: 'yes' } } })
  })

  it('a tenant with the rights annotates a Service', async () => {
    const annotations = { 'proxless/deployment': 'web', 'sojourn.dev/waiting-page': 'ConfigMap/page' }
    await createAs('tenant', service('entitled', annotations))
  })
})

function ref(name: string) {
  return refTo('a', name, 'Cleaner', 'cleaner.vtex.dev/v1alpha')
}

const validSpecs: Readonly<Record<string, unknown>> = {
  SavingsReport: { day: '2026-01-05', accruedTo: '2026-01-05T08:00:00Z', rows: [] },
  UsageLedger: {
    policy: 'p',
    location: 'l',
    shard: 0,
    shards: 1,
    trackingSince: '2026-01-05T08:00:00Z',
    observedAt: '2026-01-05T08:00:00Z',
    entries: {},
  },
  CleanupCandidate: {
    policy: 'p',
    location: 'l',
    resource: { provider: 'kubernetes', apiVersion: 'v1', kind: 'ConfigMap', namespace: 'a', name: 'x', uid: 'u' },
  },
}
