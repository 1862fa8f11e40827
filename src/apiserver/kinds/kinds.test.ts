import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openTestObjects, type TestObjects } from '../../../test/apiserver/test-objects.ts'
import { Upkeep } from '../objects/upkeep/upkeep.ts'
import type { Definition } from './definitions/definition.ts'
import { validateDefinition } from './definitions/validate-definition.ts'
import { Kinds } from './kinds.ts'

const definitions = 'apiextensions.k8s.io/v1/customresourcedefinitions'
const widgets = 'example.dev/v1/widgets'

const schema = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      required: ['size'],
      properties: {
        size: { type: 'integer', minimum: 1 },
        colour: { type: 'string', default: 'red', enum: ['red', 'blue'] },
        replicas: { type: 'integer' },
      },
    },
    status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
  },
}

function definition(overrides: Record<string, unknown> = {}, version: Record<string, unknown> = {}) {
  return {
    metadata: { name: 'widgets.example.dev' },
    spec: {
      group: 'example.dev',
      scope: 'Namespaced',
      names: { plural: 'widgets', kind: 'Widget', shortNames: ['wd'] },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: schema },
          subresources: {
            status: {},
            scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' },
          },
          selectableFields: [{ jsonPath: '.spec.colour' }],
          additionalPrinterColumns: [{ name: 'Size', type: 'integer', jsonPath: '.spec.size' }],
          ...version,
        },
      ],
      ...overrides,
    },
  }
}

describe('custom kinds', () => {
  let world: TestObjects
  beforeEach(async () => {
    world = await openTestObjects()
  })
  afterEach(() => world.close())
  const widget = (name: string, spec: object = { size: 1 }, more: object = {}) => ({
    apiVersion: 'example.dev/v1',
    kind: 'Widget',
    metadata: { name },
    spec,
    ...more,
  })

  it('are served as soon as their CRD is written', async () => {
    const { version } = world.kinds
    const made = await world.create(definitions, definition())
    expect(made).toMatchObject({
      spec: { names: { singular: 'widget', listKind: 'WidgetList' }, conversion: { strategy: 'None' } },
      status: {
        acceptedNames: { kind: 'Widget', plural: 'widgets' },
        storedVersions: ['v1'],
        conditions: [
          { type: 'NamesAccepted', status: 'True' },
          { type: 'Established', status: 'True' },
        ],
      },
    })
    expect(world.kinds.version).toBeGreaterThan(version)
    expect(world.type(widgets)).toMatchObject({
      kind: 'Widget',
      namespaced: true,
      listKind: 'WidgetList',
      shortNames: ['wd'],
      resource: 'widgets.example.dev',
      subresources: [{ name: 'status' }, { name: 'scale', kind: 'Scale' }],
      custom: { printerColumns: [{ name: 'Size' }] },
    })
  })

  it('are pruned, defaulted and validated', async () => {
    await world.create(definitions, definition())
    const made = await world.create(widgets, widget('a', { size: 2, unknown: true }, { status: { x: 1 } }))
    expect(made.spec).toEqual({ size: 2, colour: 'red' })
    expect(made).not.toHaveProperty('status')
    expect(made.metadata.generation).toBe(1)
    await expect(world.create(widgets, widget('b', { size: 0 }))).rejects.toMatchObject({ code: 422 })
    await expect(world.create(widgets, widget('b', {}))).rejects.toMatchObject({
      code: 422,
      message: expect.stringContaining('spec.size: Required value'),
    })
    await expect(world.merge(widgets, 'a', { spec: { colour: 'green' } })).rejects.toMatchObject({ code: 422 })
  })

  it('count generations, and keep status apart where they have it', async () => {
    await world.create(definitions, definition())
    await world.create(widgets, widget('a'))
    const reported = await world.merge(
      widgets,
      'a',
      { status: { seen: 1 }, metadata: { labels: { x: 'y' } } },
      { subresource: 'status' },
    )
    expect(reported).toMatchObject({ status: { seen: 1 }, metadata: { generation: 1 } })
    expect(reported.metadata).not.toHaveProperty('labels')
    const changed = await world.merge(widgets, 'a', { spec: { size: 3 }, status: { seen: 2 } })
    expect(changed).toMatchObject({ spec: { size: 3 }, status: { seen: 1 }, metadata: { generation: 2 } })
  })

  it('count changes of status, too, where it is not kept apart', async () => {
    await world.create(definitions, definition({}, { subresources: {} }))
    await world.create(widgets, widget('a', { size: 1 }, { status: { seen: 1 } }))
    const changed = await world.merge(widgets, 'a', { status: { seen: 2 } })
    expect(changed).toMatchObject({ status: { seen: 2 }, metadata: { generation: 2 } })
  })

  it('need a version to be replaced, and take no strategic merge', async () => {
    await world.create(definitions, definition())
    const { metadata, ...rest } = await world.create(widgets, widget('a'))
    const { resourceVersion: _version, ...unversioned } = metadata
    const attempt = world.update(widgets, { ...rest, metadata: unversioned } as never)
    await expect(attempt).rejects.toMatchObject({
      code: 422,
      message:
        'widgets.example.dev "a" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update',
    })
    const strategic = { ...world.at(widgets, 'a'), patchType: 'strategic' as const, body: {} }
    await expect(world.objects.patch(strategic)).rejects.toMatchObject({ code: 415 })
  })

  it('can be scaled, and selected by their fields', async () => {
    await world.create(definitions, definition())
    await world.create(widgets, widget('a', { size: 1, replicas: 2 }))
    await world.create(widgets, widget('b', { size: 1, colour: 'blue' }))
    const scale = await world.objects.get({ ...world.at(widgets, 'a'), subresource: 'scale' })
    expect(scale.object).toMatchObject({ kind: 'Scale', spec: { replicas: 2 }, status: { replicas: 0 } })
    await world.merge(widgets, 'a', { spec: { replicas: 7 } }, { subresource: 'scale' })
    expect((await world.get(widgets, 'a')).spec).toMatchObject({ replicas: 7 })
    expect((await world.list(widgets, { fieldSelector: 'spec.colour=blue' })).names).toEqual(['b'])
    await expect(world.list(widgets, { fieldSelector: 'spec.size=1' })).rejects.toMatchObject({ code: 400 })
  })

  it('serve every version with the apiVersion asked for', async () => {
    const v1 = definition().spec.versions[0]
    const versions = [v1, { ...v1, name: 'v2', storage: false }, { ...v1, name: 'v3', storage: false, served: false }]
    await world.create(definitions, definition({ versions }))
    await world.create(widgets, widget('a'))
    await world.create('example.dev/v2/widgets', widget('b', { size: 1 }, { apiVersion: 'example.dev/v2' }))
    expect((await world.list(widgets)).items.map(({ apiVersion }) => apiVersion)).toEqual([
      'example.dev/v1',
      'example.dev/v1',
    ])
    expect((await world.get('example.dev/v2/widgets', 'a')).apiVersion).toBe('example.dev/v2')
    const heard = world.watch('example.dev/v2/widgets')
    await world.settle()
    expect(heard.events.map(({ object }) => object.apiVersion)).toEqual(['example.dev/v2', 'example.dev/v2'])
    expect(() => world.type('example.dev/v3/widgets')).toThrow('not served')
  })

  it('show what was stored under an older schema through the new one', async () => {
    const made = await world.create(definitions, definition())
    await world.create(widgets, widget('a'))
    const properties = { size: { type: 'integer' }, shape: { type: 'string', default: 'round' } }
    const openAPIV3Schema = { ...schema, properties: { ...schema.properties, spec: { type: 'object', properties } } }
    const spec = definition({}, { schema: { openAPIV3Schema } }).spec
    await world.update(definitions, { ...made, spec: { ...(made.spec as object), versions: spec.versions } } as never)
    expect((await world.get(widgets, 'a')).spec).toEqual({ size: 1, shape: 'round' })
    expect((await world.list(widgets)).items[0]?.spec).toEqual({ size: 1, shape: 'round' })
  })

  it('end their watches when their CRD changes', async () => {
    await world.create(definitions, definition())
    const heard = world.watch(widgets)
    const other = world.watch('v1/configmaps')
    await world.settle()
    await world.merge(definitions, 'widgets.example.dev', { spec: { names: { categories: ['all'] } } })
    expect(heard.hasEnded).toBe(true)
    expect(other.hasEnded).toBe(false)
    const again = world.watch(widgets)
    await world.create(widgets, widget('a'))
    await world.settle()
    expect(again.story).toEqual(['ADDED a'])
  })

  it('do not take names that another kind of the group has', async () => {
    await world.create(definitions, definition())
    const names = { plural: 'gadgets', kind: 'Gadget', shortNames: ['wd'] }
    const second = await world.create(definitions, {
      ...definition({ names }),
      metadata: { name: 'gadgets.example.dev' },
    })
    expect(second.status).toMatchObject({
      conditions: [
        { type: 'NamesAccepted', status: 'False' },
        { type: 'Established', status: 'False' },
      ],
    })
    expect(() => world.type('example.dev/v1/gadgets')).toThrow('not served')
  })

  it('are served once the names they wait for are free', async () => {
    const { store, objects, kinds, clock } = world
    const upkeep = new Upkeep({ store, objects, kinds, clock })
    await world.create(definitions, definition())
    const names = { plural: 'gadgets', kind: 'Gadget', shortNames: ['wd'] }
    await world.create(definitions, { ...definition({ names }), metadata: { name: 'gadgets.example.dev' } })
    await world.delete(definitions, 'widgets.example.dev')
    for (let turn = 0; turn < 10; turn++) await world.settle()
    expect(world.type('example.dev/v1/gadgets').kind).toBe('Gadget')
    await upkeep.close()
  })

  it('never get hold of the objects of a built-in kind', async () => {
    const names = { plural: 'leases', kind: 'Lease' }
    const intruder = {
      ...definition({ group: 'coordination.k8s.io', names }),
      metadata: { name: 'leases.coordination.k8s.io', annotations: { 'api-approved.kubernetes.io': 'unapproved' } },
    }
    const made = await world.create(definitions, intruder)
    expect(made.status).toMatchObject({
      conditions: expect.arrayContaining([expect.objectContaining({ type: 'Established', status: 'False' })]),
    })
    await world.create('coordination.k8s.io/v1/leases', { metadata: { name: 'l' }, spec: {} })
    const { store, objects, kinds, clock } = world
    const upkeep = new Upkeep({ store, objects, kinds, clock })
    await world.delete(definitions, 'leases.coordination.k8s.io')
    for (let turn = 0; turn < 5; turn++) await world.settle()
    await expect(world.get(definitions, 'leases.coordination.k8s.io')).rejects.toMatchObject({ code: 404 })
    expect((await world.list('coordination.k8s.io/v1/leases')).names).toEqual(['l'])
    await upkeep.close()
  })

  it.each([
    [
      'a name that is not plural.group',
      { ...definition(), metadata: { name: 'x.example.dev' } },
      'must be spec.names.plural+"."+spec.group',
    ],
    ['no schema', definition({}, { schema: undefined }), 'schema.openAPIV3Schema: Required value'],
    [
      'two storage versions',
      definition({ versions: [1, 2].map((n) => ({ ...definition().spec.versions[0], name: `v${n}` })) }),
      'must have exactly one version marked as storage version',
    ],
    ['a webhook', definition({ conversion: { strategy: 'Webhook' } }), 'does not call conversion webhooks'],
    [
      'a schema that is not structural',
      definition({}, { schema: { openAPIV3Schema: { properties: { x: {} } } } }),
      'Required value',
    ],
    ['no scope', definition({ scope: undefined }), 'spec.scope'],
    ['no names', definition({ names: undefined }), 'spec.names.plural: Required value'],
    ['no versions', definition({ versions: [] }), 'spec.versions'],
    [
      'a rule that does not compile',
      definition({}, { schema: { openAPIV3Schema: { ...schema, 'x-kubernetes-validations': [{ rule: 'self.' }] } } }),
      'x-kubernetes-validations',
    ],
  ])('are not made by a CRD with %s', async (_, body, message) => {
    const written = JSON.parse(JSON.stringify(body)) as Record<string, unknown>
    await expect(world.create(definitions, written)).rejects.toMatchObject({
      code: 422,
      message: expect.stringContaining(message),
    })
  })

  it('keep group, scope and plural for ever', async () => {
    await world.create(definitions, definition())
    await expect(world.merge(definitions, 'widgets.example.dev', { spec: { scope: 'Cluster' } })).rejects.toMatchObject(
      {
        code: 422,
        message: expect.stringContaining('spec.scope: Invalid value: "Cluster": field is immutable'),
      },
    )
  })

  it('keep rules that cost too much only where they are stored already', () => {
    const texts = { type: 'array', items: { type: 'string' } }
    const rules = [{ rule: 'self.a.all(x, self.b.exists(y, x == y))' }]
    const costly = { type: 'object', properties: { a: texts, b: texts }, 'x-kubernetes-validations': rules }
    const openAPIV3Schema = { type: 'object', properties: { spec: costly } }
    const written = definition({}, { schema: { openAPIV3Schema }, selectableFields: [] }) as unknown as Definition
    expect(validateDefinition(written).map(({ message }) => message)).toContainEqual(
      expect.stringContaining('estimated rule cost exceeds budget by factor of more than 100x'),
    )
    expect(validateDefinition(written, written)).toEqual([])
  })

  it('are there again after a restart', async () => {
    await world.create(definitions, definition())
    await world.create(widgets, widget('a'))
    const kinds = new Kinds({ clock: world.clock })
    kinds.follow(world.store)
    expect(kinds.find({ group: 'example.dev', version: 'v1', plural: 'widgets' })?.kind).toBe('Widget')
  })

  describe('when their CRD is deleted', () => {
    let upkeep: Upkeep
    beforeEach(async () => {
      const { store, objects, kinds, clock } = world
      upkeep = new Upkeep({ store, objects, kinds, clock, onError: (error) => expect(error).toBe(undefined) })
      await world.create(definitions, definition())
      await world.create(widgets, widget('a'))
      await world.create(widgets, { ...widget('b'), metadata: { name: 'b', finalizers: ['x.dev/hold'] } })
    })
    afterEach(() => upkeep.close())

    it('are deleted with it once no finalizer holds them', async () => {
      await world.delete(definitions, 'widgets.example.dev')
      await expect(world.create(widgets, widget('c'))).rejects.toMatchObject({ code: 405 })
      await world.settle()
      expect((await world.list(widgets)).names).toEqual(['b'])
      expect((await world.get(definitions, 'widgets.example.dev')).status).toMatchObject({
        conditions: expect.arrayContaining([expect.objectContaining({ type: 'Terminating', status: 'True' })]),
      })
      await world.merge(widgets, 'b', { metadata: { finalizers: null } })
      for (let turn = 0; turn < 10; turn++) await world.settle()
      await expect(world.get(definitions, 'widgets.example.dev')).rejects.toMatchObject({ code: 404 })
      expect(() => world.type(widgets)).toThrow('not served')
    })

    it('are no more in number than at the moment it was marked, though one was on its way', async () => {
      const before = world.at(widgets, 'c')
      await world.delete(definitions, 'widgets.example.dev')
      await expect(world.objects.create({ ...before, body: widget('c') })).rejects.toMatchObject({ code: 405 })
    })
  })
})

describe('built-in kinds', () => {
  it('convert between the versions of an autoscaler without loss', async () => {
    const world = await openTestObjects()
    const spec = {
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' },
      minReplicas: 1,
      maxReplicas: 5,
    }
    const body = { metadata: { name: 'h' }, spec: { ...spec, targetCPUUtilizationPercentage: 70 } }
    await world.create('autoscaling/v1/horizontalpodautoscalers', body)
    const v2 = await world.get('autoscaling/v2/horizontalpodautoscalers', 'h')
    expect(v2.spec).toMatchObject({
      metrics: [
        { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 70 } } },
      ],
    })
    const memory = {
      type: 'Resource',
      resource: { name: 'memory', target: { type: 'Utilization', averageUtilization: 50 } },
    }
    await world.merge('autoscaling/v2/horizontalpodautoscalers', 'h', {
      spec: { metrics: [memory, ...(v2.spec as { metrics: object[] }).metrics] },
    })
    const v1 = await world.merge('autoscaling/v1/horizontalpodautoscalers', 'h', { spec: { maxReplicas: 9 } })
    expect(v1.spec).toMatchObject({ targetCPUUtilizationPercentage: 70, maxReplicas: 9 })
    const after = await world.get('autoscaling/v2/horizontalpodautoscalers', 'h')
    expect((after.spec as { metrics: object[] }).metrics).toHaveLength(2)
    await world.close()
  })

  it('know every kind of the table by its path', async () => {
    const world = await openTestObjects()
    expect(world.kinds.all().length).toBeGreaterThan(40)
    expect(world.kinds.ofKind({ group: 'apps', version: 'v1', kind: 'Deployment' })?.plural).toBe('deployments')
    expect(world.kinds.ofResource('events')?.group).toBe('')
    await world.close()
  })
})
