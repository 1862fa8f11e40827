import { afterEach, beforeEach, expect, it } from 'vitest'
import { startWorld, type World } from '../../../test/world.ts'
import { departure, type Departure } from '../../apis/departure.ts'
import { Client } from '../../client/client.ts'
import { type KubeObject, type StoredObject, placeOf } from '../../kube/object.ts'
import { StatusError } from '../../kube/status-error.ts'
import { restore, type Restored } from './restore.ts'
import { kubeSubject } from '../subjects/subject.ts'

let world: World
beforeEach(async () => {
  world = await startWorld()
})
afterEach(() => world[Symbol.asyncDispose]())

/** Lets an object leave and brings it back. */
async function thereAndBack(
  object: StoredObject,
  meanwhile: () => Promise<unknown> = async () => {},
  client = world.client,
) {
  const type = await world.client.discovery.typeOf(object)
  const { uid, name, namespace } = object.metadata
  const ref = { apiVersion: object.apiVersion, kind: object.kind, ...placeOf({ name, namespace }) }
  const by = { system: 'janitor' } as const
  const subject = kubeSubject(world.client, type!, ref)
  await world.door.depart({ subject, uid, because: 'test', by, gracePeriodSeconds: 0 })
  await world.clock.settle()
  expect(await world.get(ref)).toBeUndefined()
  await meanwhile()
  const { items } = await world.client.list<Departure>(departure.type)
  const record = items.find(({ spec }) => spec.object.uid === uid && !spec.page)
  return restore(client, record!, { now: world.clock.now() })
}

const made = (manifest: Omit<KubeObject, 'metadata'> & { readonly name: string } & Record<string, unknown>) => {
  const { name, ...rest } = manifest
  return world.create<StoredObject>({ ...rest, metadata: { name, namespace: 'team' } } as KubeObject)
}
const dataOf = ({ objects }: Restored) => objects[0]?.data as Readonly<Record<string, string>>

it.each([
  ['kubernetes.io/dockerconfigjson', '.dockerconfigjson', '{"auths":{"a":{"auth":"eA=="}}}'],
  ['kubernetes.io/dockercfg', '.dockercfg', '{"a":{"auth":"eA=="}}'],
  ['kubernetes.io/ssh-auth', 'ssh-privatekey', 'key'],
  ['kubernetes.io/tls', 'tls.crt', 'certificate'],
])(
  'brings a Secret of type %s back without its values, so that it is taken and can be filled in',
  async (type, key, value) => {
    const stringData = { [key]: value, ...(type.endsWith('tls') ? { 'tls.key': 'key' } : {}) }
    const secret = await made({ apiVersion: 'v1', kind: 'Secret', name: 's', type, stringData, immutable: true })
    const restored = await thereAndBack(secret)
    expect(restored.objects).toMatchObject([{ type }])
    expect(restored.objects[0]).not.toHaveProperty('immutable')
    expect(Buffer.from(dataOf(restored)[key] ?? '', 'base64').toString()).not.toContain(value)
    expect(restored.notes).toEqual([
      'Secret/team/s was restored without its data, which records do not keep: set it again',
    ])
  },
)

it('lets a Job select its pods anew', async () => {
  const spec = { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'a', image: 'a' }] } } }
  const job = await made({ apiVersion: 'batch/v1', kind: 'Job', name: 'j', spec })
  const [back] = (await thereAndBack(job)).objects
  expect(JSON.stringify(back)).not.toContain(`controller-uid":"${job.metadata.uid}`)
  expect(back).toMatchObject({
    metadata: { labels: { 'job-name': 'j' } },
    spec: { selector: { matchLabels: { 'batch.kubernetes.io/controller-uid': back?.metadata.uid } } },
  })
})

it('lets a Service have another address when its own was given away, and a headless one none', async () => {
  const service = await made({ apiVersion: 'v1', kind: 'Service', name: 's', spec: { ports: [{ port: 80 }] } })
  const { clusterIP } = service.spec as { clusterIP: string }
  const spec = { ports: [{ port: 80 }], clusterIP }
  const takeIt = () => made({ apiVersion: 'v1', kind: 'Service', name: 'other', spec })
  const { objects, notes } = await thereAndBack(service, takeIt)
  const [back] = objects
  expect(back?.spec).not.toMatchObject({ clusterIP })
  expect(notes.join()).toContain(`it was ${clusterIP}`)
  expect(back?.spec).toHaveProperty('clusterIP')
  const headless = await made({
    apiVersion: 'v1',
    kind: 'Service',
    name: 'h',
    spec: { clusterIP: 'None', ports: [{ port: 80 }] },
  })
  expect((await thereAndBack(headless)).objects).toMatchObject([{ spec: { clusterIP: 'None' } }])
})

it('binds no Pod to the node it had', async () => {
  const spec = { nodeName: 'gone', containers: [{ name: 'a', image: 'a' }] }
  const pod = await made({ apiVersion: 'v1', kind: 'Pod', name: 'p', spec })
  const [back] = (await thereAndBack(pod)).objects
  expect(back?.spec).not.toHaveProperty('nodeName')
})

it('tells what to do about the volume of a claim', async () => {
  const pvc = await world.create<StoredObject>({
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'c', namespace: 'team', annotations: { 'pv.kubernetes.io/bind-completed': 'yes', mine: 'yes' } },
    spec: { accessModes: ['ReadWriteOnce'], volumeName: 'pv-1', resources: { requests: { storage: '1Gi' } } },
  })
  const { objects, notes } = await thereAndBack(pvc)
  expect(objects[0]?.metadata.annotations).toEqual({ mine: 'yes', 'sojourn.dev/restored-from': expect.any(String) })
  expect(notes).toEqual([expect.stringContaining('claims PersistentVolume pv-1, as before')])
})

it('gives what comes back to its owner that has stayed, and says when that has gone', async () => {
  const [stays, goes] = await Promise.all(
    ['stays', 'goes'].map((name) => made({ apiVersion: 'v1', kind: 'ConfigMap', name })),
  )
  const owner = ({ metadata }: StoredObject) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    name: metadata.name,
    uid: metadata.uid,
  })
  const child = await world.create<StoredObject>({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'child', namespace: 'team', ownerReferences: [owner(stays!), owner(goes!)] },
  })
  const type = await world.client.discovery.typeOf(child)
  const { objects, notes } = await thereAndBack(child, async () => {
    await world.client.deleteObject(type!, { namespace: 'team', name: 'goes' })
    await made({ apiVersion: 'v1', kind: 'ConfigMap', name: 'goes' })
  })
  expect(objects[0]?.metadata.ownerReferences).toEqual([owner(stays!)])
  expect(notes).toEqual(['ConfigMap/team/child was restored without its owner ConfigMap goes, which no longer exists'])
})

it('gives what comes back to its owner that another restore has brought back', async () => {
  const owner = await made({ apiVersion: 'v1', kind: 'ConfigMap', name: 'owner' })
  const { name, uid } = owner.metadata
  const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name, uid }]
  const child = await world.create<StoredObject>({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'child', namespace: 'team', ownerReferences },
  })
  let anew = ''
  const { objects, notes } = await thereAndBack(child, async () => {
    anew = (await thereAndBack(owner)).objects[0]?.metadata.uid ?? ''
  })
  expect(objects[0]?.metadata.ownerReferences).toMatchObject([{ name: 'owner', uid: anew }])
  expect(anew).not.toBe(uid)
  expect(notes).toEqual([])
})

it('brings back what is in a namespace for one who may look at nothing else', async () => {
  const settings = await made({ apiVersion: 'v1', kind: 'ConfigMap', name: 'settings' })
  const confined = new Client(async (request) => {
    const isEverywhere = request.method === 'GET' && /v1alpha1\/(departures|bonds)$/.test(request.path)
    if (isEverywhere && !request.path.includes('/namespaces/')) throw new StatusError('Forbidden', 'not everywhere')
    return world.server.transport(request)
  })
  const { objects } = await thereAndBack(settings, async () => {}, confined)
  expect(objects.map(({ metadata }) => metadata.name)).toEqual(['settings'])
})

it('brings what left another cluster back to that one', async () => {
  await using far = await startWorld()
  const reach = new Client(far.server.transport, { cluster: 'far' })
  const { uid } = await far
    .create<StoredObject>({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'leaf' } })
    .then(({ metadata }) => metadata)
  await far.create({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'a', namespace: 'leaf' },
    data: { a: 'b' },
  })
  const spaces = await reach.discovery.typeOf({ apiVersion: 'v1', kind: 'Namespace' })
  const subject = kubeSubject(reach, spaces!, { apiVersion: 'v1', kind: 'Namespace', name: 'leaf' })
  await world.door.depart({ subject, uid, because: 'test', by: { system: 'janitor' } })
  await far.clock.settle()
  expect(await far.get({ apiVersion: 'v1', kind: 'Namespace', name: 'leaf' })).toBeUndefined()
  const { items } = await world.client.list<Departure>(departure.type)
  const record = items.find(({ spec }) => spec.object.uid === uid && !spec.page)
  const now = world.clock.now()
  await expect(restore(world.client, record!, { now })).rejects.toThrow('it left cluster "far"')
  await restore(world.client, record!, { now, into: reach })
  expect(await far.get({ apiVersion: 'v1', kind: 'ConfigMap', namespace: 'leaf', name: 'a' })).toMatchObject({
    data: { a: 'b' },
  })
  expect((await world.client.get<Departure>(departure.type, record!.metadata as never)).status?.phase).toBe('Restored')
})
