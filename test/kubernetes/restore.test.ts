import { serviceAccounts } from '../../src/kube/core-types.ts'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { startReferenceCluster, type ReferenceCluster } from '../../scripts/reference-cluster/reference-cluster.ts'
import { whyUnavailable } from '../../scripts/reference-cluster/tools.ts'
import { allKinds } from '../../src/apis/all-kinds.ts'
import { departure, type Departure } from '../../src/apis/departure.ts'
import { sojournNamespace } from '../../src/apis/group.ts'
import { Client } from '../../src/client/client.ts'
import { networkTransport } from '../../src/client/network-transport.ts'
import { Door } from '../../src/departures/door/door.ts'
import { kubeSubject } from '../../src/departures/subjects/subject.ts'
import type { KubeObject, ObjectRef, StoredObject } from '../../src/kube/object.ts'
import { systemClock } from '../../src/runtime/time/clock.ts'
import { EventRecorder } from '../../src/runtime/observability/event-recorder.ts'
import { Informers } from '../../src/runtime/cache/informers.ts'
import { silentLogger } from '../../src/runtime/observability/log.ts'
import { Metrics } from '../../src/runtime/observability/metrics.ts'
import { runCommand } from '../command.ts'

const missing = await whyUnavailable('kube-controller-manager', 'kube-apiserver', 'etcd')
if (missing) console.warn(`SKIPPED: restoring on a real cluster: ${missing}`)

const wait = { timeout: 60_000, interval: 100 }

describe.skipIf(missing)('sojourn restore on a real kube-apiserver', () => {
  let cluster: ReferenceCluster
  let client: Client
  let network: ReturnType<typeof networkTransport>

  beforeAll(async () => {
    const controllers = [
      'namespace-controller',
      'serviceaccount-controller',
      'persistentvolumeclaim-protection-controller',
    ]
    cluster = await startReferenceCluster({ durable: false, controllerManager: { controllers } })
    const { url: server, ca, token } = cluster
    const config = { server, ca, namespace: 'default', credentials: () => Promise.resolve({ token }) }
    network = networkTransport(config, { userAgent: 'test' })
    client = new Client(network.transport)
    for (const { crd } of allKinds) await create(crd)
    for (const { crd } of allKinds)
      await vi.waitFor(async () => {
        client.discovery.forget()
        const { group, names } = crd.spec as { group: string; names: { plural: string } }
        expect(await client.discovery.find(`${names.plural}.${group}`)).toBeDefined()
      }, wait)
    for (const name of [sojournNamespace, 'team'])
      await create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
  }, 900_000)
  afterAll(async () => {
    network?.close()
    await cluster?.stop()
  })

  async function create(manifest: KubeObject): Promise<StoredObject> {
    const type = await client.discovery.typeOf(manifest)
    return client.create<StoredObject>(type!, manifest)
  }

  /** Lets something leave by the door, and answers with its record once it is gone. */
  async function leave(ref: ObjectRef): Promise<Departure> {
    const informers = new Informers({ clock: systemClock, log: silentLogger })
    const events = new EventRecorder('test', { client, clock: systemClock, log: silentLogger })
    const ports = { client, informers, clock: systemClock, events, log: silentLogger, metrics: new Metrics() }
    const door = new Door({ ...ports, provesRecords: () => Promise.resolve(true) })
    await door.ready()
    const type = await client.discovery.typeOf(ref)
    const { uid } = (await client.get<StoredObject>(type!, { name: ref.name })).metadata
    const subject = kubeSubject(client, type!, ref)
    await door.depart({ subject, uid, because: 'test', by: { system: 'janitor' } })
    await vi.waitFor(() => expect(client.get(type!, { name: ref.name })).rejects.toThrow('not found'), wait)
    await events.flush()
    door.close()
    informers.close()
    const { items } = await client.list<Departure>(departure.type, { labelSelector: '!sojourn.dev/page' })
    return items.find(({ spec }) => spec.object.uid === uid) as Departure
  }

  it('brings a definition back, waits for its kind, and then all objects of it', { timeout: 240_000 }, async () => {
    const name = 'guests.example.com'
    const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } }
    await create({
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name },
      spec: {
        group: 'example.com',
        scope: 'Namespaced',
        names: { kind: 'Guest', plural: 'guests', singular: 'guest', listKind: 'GuestList' },
        versions: [{ name: 'v1', served: true, storage: true, schema }],
      },
    })
    const guests = { group: 'example.com', version: 'v1', kind: 'Guest', plural: 'guests', namespaced: true }
    for (const each of ['ann', 'bob']) {
      const metadata = { name: each, namespace: 'default' }
      const guest = { apiVersion: 'example.com/v1', kind: 'Guest', metadata }
      await vi.waitFor(() => client.create(guests, guest), wait)
    }
    const record = await leave({ apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition', name })
    expect(record.spec.takes).toBe(2)
    const { code, out, err } = await runCommand(cluster.kubeconfig, 'restore', record.metadata.name)
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out).toContain(`restored CustomResourceDefinition/${name}`)
    const { items } = await client.list(guests, { namespace: 'default' })
    expect(items.map(({ metadata }) => metadata.name)).toEqual(['ann', 'bob'])
  })

  it(
    'brings a namespace back with kinds that a server does not take as it has them',
    { timeout: 240_000 },
    async () => {
      const inTeam = (name: string) => ({ name, namespace: 'team' })
      const containers = [{ name: 'a', image: 'a' }]
      const manifests: readonly KubeObject[] = [
        {
          apiVersion: 'v1',
          kind: 'Secret',
          metadata: inTeam('pull'),
          type: 'kubernetes.io/dockerconfigjson',
          stringData: { '.dockerconfigjson': '{"auths":{}}' },
        },
        {
          apiVersion: 'v1',
          kind: 'Secret',
          metadata: inTeam('key'),
          immutable: true,
          type: 'kubernetes.io/ssh-auth',
          stringData: { 'ssh-privatekey': 'key' },
        },
        {
          apiVersion: 'batch/v1',
          kind: 'Job',
          metadata: inTeam('job'),
          spec: { template: { spec: { restartPolicy: 'Never', containers } } },
        },
        { apiVersion: 'v1', kind: 'Service', metadata: inTeam('service'), spec: { ports: [{ port: 80 }] } },
        {
          apiVersion: 'v1',
          kind: 'PersistentVolumeClaim',
          metadata: inTeam('claim'),
          spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
        },
      ]
      await vi.waitFor(
        async () => expect(await client.list(serviceAccounts, { namespace: 'team' })).toMatchObject({ items: [{}] }),
        wait,
      )
      const made = await Promise.all(manifests.map(create))
      const pod = await create({ apiVersion: 'v1', kind: 'Pod', metadata: inTeam('bare'), spec: { containers } })
      const record = await leave({ apiVersion: 'v1', kind: 'Namespace', name: 'team' })
      const { code, out, err } = await runCommand(cluster.kubeconfig, 'restore', record.metadata.name)
      expect(err + out).toContain('restored Job/team/job')
      expect(code).toBe(0)
      for (const { apiVersion, kind, metadata } of [...made, pod]) {
        const type = await client.discovery.typeOf({ apiVersion, kind })
        const { name, namespace = '' } = metadata
        const back = await client.get<StoredObject>(type!, { name, namespace })
        expect(back.metadata.uid).not.toBe(metadata.uid)
      }
    },
  )
})
