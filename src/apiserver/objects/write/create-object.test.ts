import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openTestObjects, type TestObjects } from '../../../../test/apiserver/test-objects.ts'

describe('create', () => {
  let world: TestObjects
  beforeEach(async () => {
    world = await openTestObjects()
  })
  afterEach(() => world.close())

  it('gives an object what only the server may give', async () => {
    const object = await world.create('v1/configmaps', {
      metadata: {
        name: 'a',
        uid: 'mine',
        creationTimestamp: '1999-01-01T00:00:00Z',
        deletionTimestamp: '1999-01-01T00:00:00Z',
      },
      data: { k: 'v' },
    })
    expect(object).toMatchObject({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'a', namespace: 'default', creationTimestamp: '2023-11-14T22:13:20Z' },
      data: { k: 'v' },
    })
    expect(object.metadata.uid).toMatch(/^00000000-/)
    expect(object.metadata.resourceVersion).toBe(String(world.store.revision))
    expect(object.metadata).not.toHaveProperty('deletionTimestamp')
    expect(object.metadata).not.toHaveProperty('generation')
    expect(await world.get('v1/configmaps', 'a')).toEqual(object)
  })

  it('stores each owner reference once, whatever the order of its fields', async () => {
    const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: 'u-1' }
    const again = { uid: 'u-1', name: 'owner', kind: 'ConfigMap', apiVersion: 'v1' }
    const other = { ...owner, blockOwnerDeletion: true }
    const ownerReferences = [owner, again, other, owner]
    const object = await world.create('v1/configmaps', { metadata: { name: 'a', ownerReferences } })
    expect(object.metadata.ownerReferences).toEqual([owner, other])
  })

  it('94: refuses more owner references than any real object has', async () => {
    const ownerReferences = Array.from({ length: 101 }, (_, index) => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      name: `owner-${index}`,
      uid: `u-${index}`,
    }))
    await expect(world.create('v1/configmaps', { metadata: { name: 'a', ownerReferences } })).rejects.toMatchObject({
      reason: 'Invalid',
      message: expect.stringContaining(
        'metadata.ownerReferences: Too many: 101: must have at most 100 items',
      ) as string,
    })
  })

  it('stores text that begins with the type, so that versions can be changed in it', async () => {
    await world.create('v1/configmaps', { data: {}, metadata: { name: 'a' } })
    const { text, revision } = await world.objects.get(world.at('v1/configmaps', 'a'))
    expect(text.startsWith('{"apiVersion":"v1","kind":"ConfigMap","metadata":{')).toBe(true)
    expect(JSON.parse(text).metadata.resourceVersion).toBe(String(revision))
  })

  it('counts generations from one where the kind does, and takes no status', async () => {
    const object = await world.create('apps/v1/deployments', { ...deployment('d'), status: { replicas: 9 } })
    expect(object.metadata.generation).toBe(1)
    expect(object.status).toEqual({})
  })

  it('makes a name from generateName', async () => {
    const { metadata } = await world.create('v1/configmaps', { metadata: { generateName: 'x-' } })
    expect(metadata.name).toMatch(/^x-[bcdfghjklmnpqrstvwxz2456789]{5}$/)
    const long = await world.create('v1/configmaps', { metadata: { generateName: 'y'.repeat(80) } })
    expect(long.metadata.name).toHaveLength(63)
  })

  it('gives up after eight generated names that are taken', async () => {
    const same = await openTestObjects({ random: () => 0 })
    await same.create('v1/configmaps', { metadata: { generateName: 'x-' } })
    await expect(same.create('v1/configmaps', { metadata: { generateName: 'x-' } })).rejects.toMatchObject({
      reason: 'AlreadyExists',
    })
    await same.close()
  })

  it.each([
    ['a name that is taken', { metadata: { name: 'taken' } }, {}, 409, 'configmaps "taken" already exists'],
    ['no name', { metadata: {} }, {}, 422, 'name or generateName is required'],
    [
      'another namespace than the URL',
      { metadata: { name: 'a', namespace: 'other' } },
      {},
      400,
      'the namespace of the provided object does not match the namespace sent on the request',
    ],
    [
      'a namespace that is not there',
      { metadata: { name: 'a' } },
      { namespace: 'nowhere' },
      404,
      'namespaces "nowhere" not found',
    ],
    [
      'another apiVersion than the URL',
      { apiVersion: 'v2', metadata: { name: 'a' } },
      {},
      400,
      'no kind "ConfigMap" is registered for version "v2"',
    ],
    [
      'another kind than the URL',
      { kind: 'Pod', metadata: { name: 'a' } },
      {},
      400,
      'Pod in version "v1" cannot be handled as a ConfigMap',
    ],
    [
      'a resourceVersion',
      { metadata: { name: 'a', resourceVersion: '5' } },
      {},
      400,
      'resourceVersion should not be set on objects to be created',
    ],
    [
      'an unknown field under Strict',
      { metadata: { name: 'a' }, dat: {} },
      { fieldValidation: 'Strict' },
      400,
      'strict decoding error: unknown field "dat"',
    ],
    [
      'a wrong dryRun',
      { metadata: { name: 'a' } },
      { dryRun: ['Some'] },
      422,
      'dryRun: Unsupported value: ["Some"]: supported values: "All"',
    ],
    [
      'a wrong fieldValidation',
      { metadata: { name: 'a' } },
      { fieldValidation: 'Maybe' },
      422,
      'fieldValidation: Unsupported value: "Maybe"',
    ],
    ['a body that is no object', [], {}, 400, "couldn't get version/kind"],
    [
      'a value of the wrong type',
      { metadata: { name: 'a' }, data: { k: 1 } },
      {},
      400,
      'json: cannot unmarshal number into Go struct field',
    ],
  ])('refuses %s', async (_, body, options, code, message) => {
    await world.create('v1/configmaps', { metadata: { name: 'taken' } })
    const attempt = world.create('v1/configmaps', body as never, options)
    await expect(attempt).rejects.toMatchObject({ code, message: expect.stringContaining(message) })
  })

  it('warns of unknown fields unless fieldValidation is Ignore', async () => {
    const { type, user } = world.at('v1/configmaps', '')
    const request = { type, user, namespace: 'default', body: { metadata: { name: 'a' }, dat: {} } }
    expect(await world.objects.create(request)).toMatchObject({ created: true, warnings: ['unknown field "dat"'] })
    const ignored = { ...request, body: { metadata: { name: 'b' }, dat: {} }, fieldValidation: 'Ignore' }
    expect(await world.objects.create(ignored)).toMatchObject({ warnings: [] })
  })

  it('does everything but store it on a dry run', async () => {
    const before = world.store.revision
    const object = await world.create('v1/configmaps', { metadata: { name: 'a' } }, { dryRun: ['All'] })
    expect(object.metadata.uid).toBeDefined()
    expect(world.store.revision).toBe(before)
    await expect(world.get('v1/configmaps', 'a')).rejects.toMatchObject({ code: 404 })
  })

  it('says when the name belongs to an object that is being deleted', async () => {
    await world.create('v1/configmaps', { metadata: { name: 'a', finalizers: ['x.dev/hold'] } })
    await world.delete('v1/configmaps', 'a')
    await expect(world.create('v1/configmaps', { metadata: { name: 'a' } })).rejects.toMatchObject({
      message: 'object is being deleted: configmaps "a" already exists',
    })
  })

  it('notes who owns which field', async () => {
    const object = await world.create(
      'v1/configmaps',
      { metadata: { name: 'a' }, data: { k: 'v' } },
      { userAgent: 'kubectl/v1.33 (linux)' },
    )
    expect(object.metadata.managedFields).toMatchObject([
      { manager: 'kubectl', operation: 'Update', apiVersion: 'v1', fieldsV1: { 'f:data': { 'f:k': {} } } },
    ])
  })

  it('runs a pod as the default ServiceAccount and begins it pending', async () => {
    const pod = await world.create('v1/pods', {
      metadata: { name: 'p' },
      spec: { containers: [{ name: 'c', image: 'i' }] },
    })
    expect(pod).toMatchObject({
      spec: { serviceAccountName: 'default' },
      status: { phase: 'Pending', qosClass: 'BestEffort' },
    })
  })

  it('says why a pod with scheduling gates waits', async () => {
    const { status } = await world.create('v1/pods', {
      metadata: { name: 'p' },
      spec: { schedulingGates: [{ name: 'example.com/gate' }], containers: [{ name: 'c', image: 'i' }] },
    })
    expect(status).toMatchObject({
      conditions: [{ type: 'PodScheduled', status: 'False', reason: 'SchedulingGated' }],
    })
  })

  it('keeps stringData of a Secret as data', async () => {
    const secret = await world.create('v1/secrets', { metadata: { name: 's' }, stringData: { a: 'b' } })
    expect(secret).toMatchObject({ data: { a: 'Yg==' } })
    expect(secret).not.toHaveProperty('stringData')
  })

  it('lets a job select its pods by its uid', async () => {
    const template = { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } }
    const job = await world.create('batch/v1/jobs', { metadata: { name: 'j' }, spec: { template } })
    const { uid } = job.metadata
    expect(job.spec).toMatchObject({
      selector: { matchLabels: { 'batch.kubernetes.io/controller-uid': uid } },
      template: { metadata: { labels: { 'job-name': 'j', 'controller-uid': uid } } },
    })
  })

  it('keeps Events of both groups as one', async () => {
    await world.create('events.k8s.io/v1/events', {
      metadata: { name: 'e' },
      regarding: { kind: 'Pod', name: 'p' },
      note: 'hello',
      reason: 'Because',
      type: 'Normal',
      action: 'Act',
      eventTime: '2023-11-14T22:13:20.000000Z',
      reportingController: 'c',
      reportingInstance: 'i',
    })
    expect(await world.get('v1/events', 'e')).toMatchObject({
      apiVersion: 'v1',
      involvedObject: { name: 'p' },
      message: 'hello',
    })
    expect(await world.get('events.k8s.io/v1/events', 'e')).toMatchObject({
      apiVersion: 'events.k8s.io/v1',
      note: 'hello',
    })
  })
})

function deployment(name: string) {
  const labels = { app: name }
  return {
    metadata: { name },
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } },
    },
  }
}
