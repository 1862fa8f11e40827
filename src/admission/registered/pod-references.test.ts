import { afterEach, beforeEach, expect, it } from 'vitest'
import { openTestObjects, type TestObjects } from '../../../test/apiserver/test-objects.ts'

let world: TestObjects
beforeEach(async () => {
  world = await openTestObjects()
})
afterEach(() => world.close())

const mountPath = '/var/run/secrets/kubernetes.io/serviceaccount'
interface Spec {
  readonly volumes?: readonly { name: string; projected?: { sources: readonly object[] } }[]
  readonly containers: readonly { volumeMounts?: readonly { name: string; mountPath: string }[] }[]
  readonly initContainers?: Spec['containers']
  readonly serviceAccountName?: string
  readonly priority?: number
}
const pod = async (spec: object = {}) => {
  const body = { metadata: { name: 'p' }, spec: { containers: [{ name: 'c', image: 'none' }], ...spec } }
  return (await world.create('v1/pods', body)).spec as Spec
}
const account = (name: string, more: object = {}) => world.create('v1/serviceaccounts', { metadata: { name }, ...more })

it('mounts the token of the ServiceAccount in every container', async () => {
  await account('robot')
  const init = [{ name: 'i', image: 'none' }]
  const { volumes, containers, initContainers } = await pod({ serviceAccountName: 'robot', initContainers: init })
  expect(volumes).toMatchObject([
    { projected: { sources: [{ serviceAccountToken: { path: 'token' } }, { configMap: {} }, { downwardAPI: {} }] } },
  ])
  const mounts = [{ name: volumes?.[0]?.name, mountPath, readOnly: true }]
  expect([...containers, ...(initContainers ?? [])].map(({ volumeMounts }) => volumeMounts)).toEqual([mounts, mounts])
})

it.each([
  ['the Pod opts out', {}, { automountServiceAccountToken: false }],
  ['the account opts out', { automountServiceAccountToken: false }, {}],
])('mounts no token when %s', async (_, accountFields, podFields) => {
  await account('default', accountFields)
  expect(await pod(podFields)).not.toHaveProperty('volumes')
})

it('takes the secrets for images from the account, unless the Pod has its own', async () => {
  await account('default', { imagePullSecrets: [{ name: 'shared' }] })
  expect(await pod()).toMatchObject({ imagePullSecrets: [{ name: 'shared' }], priority: 0 })
  const own = {
    metadata: { name: 'q' },
    spec: { imagePullSecrets: [{ name: 'own' }], containers: [{ name: 'c', image: 'none' }] },
  }
  expect((await world.create('v1/pods', own)).spec).toMatchObject({ imagePullSecrets: [{ name: 'own' }] })
})

it('prefers what the Pod says to what the account says', async () => {
  await account('default', { automountServiceAccountToken: false })
  expect((await pod({ automountServiceAccountToken: true })).volumes).toHaveLength(1)
})

it('accepts a Pod before the account of a new namespace exists, without a token', async () => {
  const spec = await pod()
  expect(spec.serviceAccountName).toBe('default')
  expect(spec.volumes).toBeUndefined()
})

it.each([
  [{ serviceAccountName: 'x' }, 'error looking up service account default/x: serviceaccount "x" not found'],
  [{ priorityClassName: 'x' }, 'no PriorityClass with name x was found'],
  [
    { priority: 5 },
    'the integer value of priority (5) must not be provided in pod spec; priority admission controller computed 0 from the given PriorityClass name',
  ],
  [{ runtimeClassName: 'x' }, 'pod rejected: RuntimeClass "x" not found'],
])('refuses %j', async (spec, why) => {
  await expect(pod(spec)).rejects.toMatchObject({ code: 403, message: `pods "p" is forbidden: ${why}` })
})

it('takes the priority of the class, which every cluster has for critical Pods', async () => {
  await world.create('scheduling.k8s.io/v1/priorityclasses', { metadata: { name: 'high' }, value: 7 } as never)
  expect((await pod({ priorityClassName: 'high' })).priority).toBe(7)
  await world.delete('v1/pods', 'p')
  expect((await pod({ priorityClassName: 'system-node-critical' })).priority).toBe(2_000_001_000)
})

it('adds the overhead of the RuntimeClass', async () => {
  const overhead = { podFixed: { cpu: '10m' } }
  await world.create('node.k8s.io/v1/runtimeclasses', { metadata: { name: 'sandboxed' }, handler: 'runsc', overhead })
  expect(await pod({ runtimeClassName: 'sandboxed' })).toMatchObject({ overhead: { cpu: '10m' } })
})
