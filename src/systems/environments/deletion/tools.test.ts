import { describe, expect, it } from 'vitest'
import { environmentClass, type EnvironmentClassSpec } from '../../../apis/environment-class.ts'
import { keepEnvironment } from '../../../app/operations/environments.ts'
import { events, namespaces } from '../../../kube/core-types.ts'
import type { KubeObject, StoredObject } from '../../../kube/object.ts'
import type { Transport } from '../../../kube/transport.ts'
import {
  deploymentOf,
  exists,
  forges,
  hour,
  minute,
  namespaceOf,
  pullUrl,
  read,
  start,
} from '../../../../test/environments/environments-world.ts'
import type { World } from '../../../../test/world.ts'

const argo = 'argoproj.io/v1alpha1'
const home = 'shop-pr-42'

/** A kind of a deployment tool; test/kubernetes/environment-tools.test.ts has the tools' own definitions. */
function crdOf(apiVersion: string, kind: string): KubeObject {
  const [group = '', version = ''] = apiVersion.split('/')
  const plural = `${kind.toLowerCase()}s`
  const open = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
  const schema = { openAPIV3Schema: { type: 'object', properties: { spec: open, status: open } } }
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
      versions: [{ name: version, served: true, storage: true, schema }],
    },
  }
}

interface Given {
  readonly spec?: Partial<EnvironmentClassSpec>
  readonly labels?: Record<string, string>
  /** Marks of the workload, as the tool writes them. */
  readonly workload?: { labels?: Record<string, string>; annotations?: Record<string, string> }
  readonly tool: KubeObject
  /** How the system reaches the API. */
  readonly through?: (world: World) => Transport
}

/** An environment that a tool has deployed. */
async function deployed({ spec, labels, workload, tool, through }: Given) {
  const given = { channels: [], delete: {}, ...spec, pullRequest: { forges: [...forges], ...spec?.pullRequest } }
  const started = await start(given, through)
  const { world, forge } = started
  forge.open(42)
  await world.create(crdOf(tool.apiVersion, tool.kind))
  await expect.poll(() => world.client.discovery.typeOf(tool)).toBeDefined()
  for (const name of ['argocd', 'flux-system'])
    await world.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
  const stored = await world.create<StoredObject>(tool)
  const made = namespaceOf(home, { 'sojourn.dev/pull-request': pullUrl })
  await world.create({ ...made, metadata: { ...made.metadata, labels: { ...made.metadata.labels, ...labels } } })
  const { metadata, ...rest } = deploymentOf()
  await world.create({ ...rest, metadata: { ...metadata, ...workload } })
  await world.pass(5 * minute)
  const type = (await world.client.discovery.typeOf(tool))!
  const { namespace = '', name } = stored.metadata
  return {
    ...started,
    tool: () => world.client.get<StoredObject>(type, { namespace, name }).catch(() => undefined),
    /** What the tool's own controller does. */
    remove: () => world.client.deleteObject(type, { namespace, name }, {}),
  }
}

const messageIn = async (world: World) => (await read(world)).status?.message ?? ''
const tracked = { annotations: { 'argocd.argoproj.io/tracking-id': 'shop-pr-42:apps/Deployment:shop-pr-42/shop' } }
const destination = { server: 'https://kubernetes.default.svc', namespace: home }
const application = (metadata: object = {}): KubeObject => ({
  apiVersion: argo,
  kind: 'Application',
  metadata: { name: home, namespace: 'argocd', ...metadata },
  spec: { project: 'default', source: { repoURL: 'https://git.example.org/acme/shop.git', path: '.' }, destination },
})
const generated = {
  ownerReferences: [{ apiVersion: argo, kind: 'ApplicationSet', name: 'previews', uid: 'a-set', controller: true }],
}
const flux = (group: string, kind: string, spec: object, status?: object): KubeObject => ({
  apiVersion: `${group}.toolkit.fluxcd.io/v1`,
  kind,
  metadata: { name: home, namespace: 'flux-system' },
  spec,
  ...(status ? { status } : {}),
})
const markedBy = (group: string) => ({
  labels: { [`${group}.toolkit.fluxcd.io/name`]: home, [`${group}.toolkit.fluxcd.io/namespace`]: 'flux-system' },
})
const inventory = (...ids: string[]) => ({ inventory: { entries: ids.map((id) => ({ id, v: 'v1' })) } })

describe('an environment that a tool deploys', () => {
  it.each([
    ['an Application of Argo CD', { tool: application(), workload: tracked }],
    [
      'a Kustomization of Flux with its targetNamespace',
      { tool: flux('kustomize', 'Kustomization', { targetNamespace: home }), workload: markedBy('kustomize') },
    ],
    [
      'a Kustomization of Flux that creates the Namespace itself',
      {
        tool: flux('kustomize', 'Kustomization', {}, inventory(`_${home}__Namespace`, `${home}_shop_apps_Deployment`)),
        labels: markedBy('kustomize').labels,
      },
    ],
    [
      'a HelmRelease of Flux',
      { tool: flux('helm', 'HelmRelease', { targetNamespace: home }), workload: markedBy('helm') },
    ],
  ] satisfies [string, Given][])('is deleted after %s, which is recorded, too', async (_, given) => {
    const { world, forge, tool, ...started } = await deployed(given)
    await using _started = started
    forge.close(42, world.clock.now())
    await world.pass(2 * hour)
    expect(await tool()).toBeUndefined()
    expect(await exists(world)).toBe(false)
  })

  it.each([
    [
      'deploys elsewhere, too',
      flux('kustomize', 'Kustomization', {}, inventory(`${home}_a__ConfigMap`, 'prod_a__Secret')),
    ],
    ['may deploy anywhere', flux('kustomize', 'Kustomization', {})],
    ['has another targetNamespace', flux('kustomize', 'Kustomization', { targetNamespace: 'prod' })],
    [
      'has applied an object of the cluster beside its targetNamespace',
      flux(
        'kustomize',
        'Kustomization',
        { targetNamespace: home },
        inventory(`${home}_shop_apps_Deployment`, '_reader_rbac.authorization.k8s.io_ClusterRole'),
      ),
    ],
  ])('is held by a Kustomization that %s, and the Kustomization stays', async (_, kustomization) => {
    const { world, forge, tool, ...started } = await deployed({ tool: kustomization, workload: markedBy('kustomize') })
    await using _started = started
    forge.close(42, world.clock.now())
    await world.pass(3 * hour)
    expect(await tool()).toBeDefined()
    expect(await exists(world)).toBe(true)
    expect(await messageIn(world)).toContain('deploys more than this environment')
  })

  it.each([
    ['an object of the cluster', { group: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'reader' }],
    ['an object of another namespace', { kind: 'Secret', namespace: 'prod', name: 'keys' }],
  ])('is held by an Application that has deployed %s, and the Application stays', async (_, resource) => {
    const own = [
      { kind: 'Namespace', name: home },
      { group: 'apps', kind: 'Deployment', namespace: home, name: 'shop' },
    ]
    const given = { tool: { ...application(), status: { resources: [...own, resource] } }, workload: tracked }
    const { world, forge, tool, ...started } = await deployed(given)
    await using _started = started
    forge.close(42, world.clock.now())
    await world.pass(3 * hour)
    expect(await tool()).toBeDefined()
    expect(await messageIn(world)).toContain('deploys more than this environment')
  })

  it('140: keeps an Application until its window opens again, when that has closed during the deletion', async () => {
    const resources = [{ kind: 'Secret', namespace: 'prod', name: 'keys' }]
    const given = { tool: { ...application(), status: { resources } }, workload: tracked }
    const { world, forge, tool, ...started } = await deployed({ spec: { delete: { window: 'mornings' } }, ...given })
    await using _started = started
    const days = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday']
    const spec = { timeZone: 'UTC', windows: [{ days, start: '08:00', end: '10:00' }] }
    const { apiVersion } = environmentClass
    await world.create({ apiVersion, kind: 'WorkSchedule', metadata: { name: 'mornings' }, spec })
    forge.close(42, world.clock.now())
    await world.pass(90 * minute)
    expect(await messageIn(world)).toContain('deploys more than this environment')
    await world.pass(hour)
    const type = (await world.client.discovery.typeOf(application()))!
    await world.client.merge(type, { namespace: 'argocd', name: home }, { status: { resources: [] } })
    await world.pass(3 * hour)
    expect(await tool()).toBeDefined()
    expect((await read(world)).status).toMatchObject({ phase: 'Held', deletion: { step: 'Tool' } })
    await world.pass(20 * hour)
    expect(await tool()).toBeUndefined()
    expect(await exists(world)).toBe(false)
  })

  it('141: keeps an Application that deploys elsewhere since it was judged', async () => {
    let isMoved = false
    const through =
      ({ server, client }: World): Transport =>
      async (request) => {
        if (request.path.endsWith(`/applications/${home}`) && !isMoved) {
          isMoved = true
          const type = (await client.discovery.typeOf(application()))!
          const elsewhere = { spec: { destination: { ...destination, namespace: 'prod' } } }
          await client.merge(type, { namespace: 'argocd', name: home }, elsewhere)
        }
        return server.transport(request)
      }
    const { world, forge, tool, ...started } = await deployed({ tool: application(), workload: tracked, through })
    await using _started = started
    forge.close(42, world.clock.now())
    await world.pass(3 * hour)
    expect(isMoved).toBe(true)
    expect(await tool()).toBeDefined()
    expect(await messageIn(world)).toContain('deploys more than this environment')
  })

  it('waits for the finalizer of the Application', async () => {
    const finalizers = ['resources-finalizer.argocd.argoproj.io']
    const { world, forge, tool, ...started } = await deployed({ tool: application({ finalizers }), workload: tracked })
    await using _started = started
    forge.close(42, world.clock.now())
    await world.pass(hour + 5 * minute)
    expect((await tool())?.metadata.deletionTimestamp).toBeDefined()
    expect((await read(world)).status).toMatchObject({ deletion: { step: 'Tool' } })
    const type = (await world.client.discovery.typeOf(application()))!
    const body = { metadata: { finalizers: null } }
    await world.client.patch(type, { namespace: 'argocd', name: home }, { type: 'merge', body })
    await world.pass(minute)
    expect(await exists(world)).toBe(false)
  })

  it('waits for an ApplicationSet to delete the Application of a closed pull request, then deletes what is left', async () => {
    const { world, forge, tool, remove, ...started } = await deployed({
      tool: application(generated),
      workload: tracked,
    })
    await using _started = started
    forge.close(42, world.clock.now())
    await world.pass(hour + 20 * minute)
    // Deleted by Sojourn, the generator would create it again.
    expect((await tool())?.metadata.deletionTimestamp).toBeUndefined()
    expect(await exists(world)).toBe(true)
    await remove()
    await world.pass(minute)
    expect(await exists(world)).toBe(false)
  })

  it('gives a ResourceSet that made the Namespace the time to delete it', async () => {
    const labels = {
      'resourceset.fluxcd.controlplane.io/name': 'previews',
      'resourceset.fluxcd.controlplane.io/namespace': 'flux-system',
    }
    const tool = {
      apiVersion: 'fluxcd.controlplane.io/v1',
      kind: 'ResourceSet',
      metadata: { name: 'previews', namespace: 'flux-system' },
    }
    const { world, forge, ...started } = await deployed({ tool, labels })
    await using _started = started
    forge.close(42, world.clock.now())
    await world.pass(hour + 20 * minute)
    expect(await exists(world)).toBe(true)
    expect((await read(world)).status).toMatchObject({ deletion: { step: 'Tool' } })
    // It never came to it.
    await world.pass(hour)
    expect(await exists(world)).toBe(false)
  })

  it.each<[string, (given: Awaited<ReturnType<typeof deployed>>) => unknown]>([
    ['its pull request is opened again', ({ forge }) => forge.open(42)],
    [
      'it is kept',
      async ({ world }) =>
        keepEnvironment(world.client, await read(world), { forMs: 3 * 24 * hour, now: world.clock.now() }),
    ],
    ['its class is deleted', ({ world }) => world.client.deleteObject(environmentClass.type, { name: 'preview' }, {})],
    [
      'its Namespace leaves the class',
      ({ world }) => world.client.merge(namespaces, { name: home }, { metadata: { labels: { env: null } } }),
    ],
  ])('138: is not deleted after all when %s while the generator has its time', async (_, change) => {
    const given = await deployed({ tool: application(generated), workload: tracked })
    await using _started: AsyncDisposable = given
    const { world, forge } = given
    forge.close(42, world.clock.now())
    await world.pass(hour + 20 * minute)
    expect((await read(world)).status).toMatchObject({ deletion: { step: 'Tool' } })
    await change(given)
    await world.pass(2 * hour)
    expect(await exists(world)).toBe(true)
    const left = await read(world).catch(() => undefined)
    expect(left?.status?.deletion).toBeUndefined()
  })

  it('is held while the pull request is open and no label stops the generator, and says what to set', async () => {
    const spec = { delete: { when: 'true', warnBefore: '1m' } }
    const { world, tool, ...started } = await deployed({ spec, tool: application(generated), workload: tracked })
    await using _started = started
    await world.pass(2 * hour)
    expect(await tool()).toBeDefined()
    expect(await exists(world)).toBe(true)
    expect(await messageIn(world)).toMatch(/ApplicationSet previews would create it again: set pullRequest.label/)
  })

  it('that is created again after its deletion says so, and the second time within an hour is held', async () => {
    const tool = application()
    const spec = { delete: { via: 'None' }, pullRequest: { graceAfterClose: '1m' } } as const
    const { world, forge, ...started } = await deployed({ spec, tool })
    await using _started = started
    forge.close(42, world.clock.now())
    await world.pass(5 * minute)
    for (let life = 0; life < 2; life++) {
      expect(await exists(world)).toBe(false)
      await world.create(namespaceOf(home, { 'sojourn.dev/pull-request': pullUrl }))
      await world.pass(5 * minute)
    }
    expect(await exists(world)).toBe(true)
    expect((await read(world)).status).toMatchObject({ phase: 'Held' })
    expect(await messageIn(world)).toContain('created again')
    const { items } = await world.client.list<StoredObject & { reason?: string }>(events, { namespace: home })
    expect(items.map(({ reason }) => reason)).toContain('Recreated')
    await world.client.deleteObject(namespaces, { name: home }, {})
    await world.pass(hour)
  })
})
