import fc from 'fast-check'
import { afterAll, beforeAll, describe, it } from 'vitest'
import type { PatchType } from '../../kube/patches/patch.ts'
import { StatusError } from '../../kube/status-error.ts'
import { openTestObjects, someone, type TestObjects } from '../../../test/apiserver/test-objects.ts'

const deployment = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'd', labels: { a: 'b' } },
  spec: {
    replicas: 1,
    selector: { matchLabels: { app: 'd' } },
    template: {
      metadata: { labels: { app: 'd' } },
      spec: { containers: [{ name: 'c', image: 'i', ports: [{ containerPort: 80 }] }] },
    },
  },
}
const widgets = {
  metadata: { name: 'widgets.example.dev' },
  spec: {
    group: 'example.dev',
    scope: 'Namespaced',
    names: { plural: 'widgets', kind: 'Widget' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: { type: 'object', properties: { list: { type: 'array', items: { type: 'string' } } } },
            },
          },
        },
        subresources: { status: {} },
      },
    ],
  },
}

/** A sound body with one thing in it replaced, removed or added anywhere. */
function spoiled(body: unknown): fc.Arbitrary<unknown> {
  const paths = pathsOf(body)
  return fc
    .tuple(fc.constantFrom(...paths), fc.jsonValue({ maxDepth: 3 }), fc.constantFrom('set', 'add', 'drop'))
    .map(([path, value, how]) => {
      const copy = structuredClone({ root: body })
      let at: Record<string, unknown> = copy
      for (const key of ['root', ...path].slice(0, -1)) at = at[key] as Record<string, unknown>
      const last = ['root', ...path].at(-1) ?? 'root'
      if (how === 'drop') delete at[last]
      else if (how === 'set' || typeof at[last] !== 'object' || at[last] === null) at[last] = value
      else (at[last] as Record<string, unknown>)['x'] = value
      return JSON.parse(JSON.stringify(copy.root ?? null)) as unknown
    })
}

function pathsOf(value: unknown): string[][] {
  if (typeof value !== 'object' || value === null) return [[]]
  return [[], ...Object.entries(value).flatMap(([key, part]) => pathsOf(part).map((path) => [key, ...path]))]
}

describe('hostile input', () => {
  let world: TestObjects
  beforeAll(async () => {
    world = await openTestObjects()
    await world.create('apiextensions.k8s.io/v1/customresourcedefinitions', widgets)
    await world.create('apps/v1/deployments', deployment)
    await world.create('example.dev/v1/widgets', {
      apiVersion: 'example.dev/v1',
      kind: 'Widget',
      metadata: { name: 'w' },
      spec: { list: ['a'] },
    })
  })
  afterAll(() => world.close())

  /** Anything may be refused, but only with a Status that is not the server's fault. */
  async function survives(work: () => unknown): Promise<void> {
    try {
      await work()
    } catch (error) {
      if (error instanceof StatusError && error.code < 500) return
      throw error
    }
  }

  const dry = { user: someone, dryRun: ['All'] }
  const bodies = fc.oneof(
    { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 4 }) },
    { weight: 4, arbitrary: spoiled(deployment) },
  )

  it('in a body never fails the server', async () => {
    const type = world.type('apps/v1/deployments')
    const each = fc.asyncProperty(bodies, async (body) => {
      await survives(() => world.objects.create({ type, namespace: 'default', body, ...dry }))
      await survives(() => world.objects.update({ type, namespace: 'default', name: 'd', body, ...dry }))
    })
    await fc.assert(each, { numRuns: 120 })
  })

  it.each([
    [
      'v1/pods',
      {
        metadata: { name: 'p' },
        spec: { containers: [{ name: 'c', image: 'i', resources: { limits: { cpu: '1' } } }] },
      },
    ],
    [
      'batch/v1/jobs',
      {
        metadata: { name: 'j' },
        spec: { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } } },
      },
    ],
    ['v1/namespaces', { metadata: { name: 'n', labels: {} }, spec: { finalizers: ['kubernetes'] } }],
    ['v1/secrets', { metadata: { name: 's' }, stringData: { a: 'b' }, data: { c: 'ZA==' }, type: 'Opaque' }],
    [
      'autoscaling/v1/horizontalpodautoscalers',
      {
        metadata: { name: 'h', annotations: { 'autoscaling.alpha.kubernetes.io/metrics': '[]' } },
        spec: { maxReplicas: 3, scaleTargetRef: { kind: 'Deployment', name: 'd' }, targetCPUUtilizationPercentage: 5 },
      },
    ],
    [
      'events.k8s.io/v1/events',
      {
        metadata: { name: 'e' },
        regarding: { kind: 'Pod' },
        eventTime: '2023-11-14T22:13:20.000000Z',
        action: 'a',
        reason: 'r',
        type: 'Normal',
        reportingController: 'c',
        reportingInstance: 'i',
      },
    ],
    [
      'v1/services',
      { metadata: { name: 's' }, spec: { ports: [{ port: 80, targetPort: 'http' }], selector: { a: 'b' } } },
    ],
    [
      'coordination.k8s.io/v1/leases',
      { metadata: { name: 'l' }, spec: { holderIdentity: 'x', renewTime: '2023-11-14T22:13:20.000000Z' } },
    ],
  ])('in a body of %s never fails the server', async (path, body) => {
    const type = world.type(path)
    const place = type.namespaced ? { namespace: 'default' } : {}
    const each = fc.asyncProperty(spoiled(body), async (each) => {
      await survives(() => world.objects.create({ type, ...place, body: each, ...dry }))
    })
    await fc.assert(each, { numRuns: 50 })
  })

  it('in a patch never fails the server', async () => {
    const patchTypes = fc.constantFrom<PatchType>('json', 'merge', 'strategic', 'apply')
    const operation = fc.record(
      {
        op: fc.constantFrom('add', 'remove', 'replace', 'move', 'copy', 'test', 'x'),
        path: fc.constantFrom(
          '',
          '/',
          '/spec',
          '/spec/template/spec/containers/0',
          '/spec/template/spec/containers/-',
          '/metadata/~1',
          '/metadata/__proto__',
        ),
        from: fc.constantFrom('/spec', '', '/x'),
        value: fc.jsonValue({ maxDepth: 2 }),
      },
      { requiredKeys: ['op', 'path'] },
    )
    const patches = fc.oneof(bodies, fc.array(operation, { maxLength: 4 }))
    const each = fc.asyncProperty(
      patchTypes,
      patches,
      fc.constantFrom('', 'status', 'scale'),
      async (patchType, body, subresource) => {
        const request = {
          type: world.type('apps/v1/deployments'),
          namespace: 'default',
          name: 'd',
          patchType,
          body,
          subresource,
          ...dry,
        }
        await survives(() =>
          world.objects.patch({ ...request, ...(patchType === 'apply' ? { fieldManager: 'f' } : {}) }),
        )
      },
    )
    await fc.assert(each, { numRuns: 200 })
  })

  it('in a custom resource or its definition never fails the server', async () => {
    const each = fc.asyncProperty(
      spoiled(widgets),
      spoiled({ apiVersion: 'example.dev/v1', kind: 'Widget', metadata: { name: 'w2' }, spec: { list: ['a'] } }),
      async (definition, body) => {
        const crds = world.type('apiextensions.k8s.io/v1/customresourcedefinitions')
        await survives(() => world.objects.create({ type: crds, body: definition, ...dry }))
        await survives(() =>
          world.objects.update({ type: crds, name: 'widgets.example.dev', body: definition, ...dry }),
        )
        const type = world.type('example.dev/v1/widgets')
        await survives(() => world.objects.create({ type, namespace: 'default', body, ...dry }))
        await survives(() =>
          world.objects.patch({ type, namespace: 'default', name: 'w', patchType: 'merge', body, ...dry }),
        )
      },
    )
    await fc.assert(each, { numRuns: 80 })
  })

  it('in a query never fails the server', async () => {
    const text = fc.oneof(
      fc.string(),
      fc.constantFrom(
        '0',
        '1',
        '-1',
        'true',
        'Exact',
        'NotOlderThan',
        'a=b',
        'a in (b)',
        '999999999999999999999',
        'metadata.name=d',
      ),
    )
    const query = fc.record(
      {
        labelSelector: text,
        fieldSelector: text,
        limit: text,
        continue: text,
        resourceVersionMatch: text,
        sendInitialEvents: text,
      },
      { requiredKeys: [] },
    )
    const each = fc.asyncProperty(query, fc.constantFrom('', '0', '1', 'x'), async (options, resourceVersion) => {
      const type = world.type('apps/v1/deployments')
      const request = { type, user: someone, resourceVersion, ...options }
      await survives(async () => {
        const { items } = await world.objects.list(request)
        for await (const _ of items);
      })
      await survives(() => world.objects.watch(request, { deliver: () => true, end() {} }).close())
    })
    await fc.assert(each, { numRuns: 120 })
  })

  it('in the options of a delete never fails the server', async () => {
    const options = spoiled({
      kind: 'DeleteOptions',
      dryRun: ['All'],
      gracePeriodSeconds: 3,
      preconditions: { uid: 'x' },
      propagationPolicy: 'Orphan',
    })
    const each = fc.asyncProperty(options, async (body) => {
      await survives(() =>
        world.objects.delete({
          type: world.type('apps/v1/deployments'),
          namespace: 'default',
          name: 'd',
          user: someone,
          body,
        }),
      )
    })
    await fc.assert(each, { numRuns: 200 })
  })
})
