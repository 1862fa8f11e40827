import { randomUUID } from 'node:crypto'
import { expect, it } from 'vitest'
import { startTestServer } from '../../../test/apiserver/test-server.ts'
import { openMemoryStore } from '../../apiserver/store/sqlite-store.ts'
import { Client } from '../../client/client.ts'
import type { ObjectMeta } from '../../kube/object.ts'
import { systemClock } from '../../runtime/time/clock.ts'
import { KubernetesAdmission } from './kubernetes-admission.ts'

interface Named {
  readonly kind: string
  readonly metadata: ObjectMeta
  readonly [field: string]: unknown
}

const ingress = { defaultBackend: { service: { name: 's', port: { number: 80 } } } }
const claim = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } }
const marks = {
  StorageClass: 'storageclass.kubernetes.io/is-default-class',
  IngressClass: 'ingressclass.kubernetes.io/is-default-class',
}

it('gives what names no class the default one, and leaves the rest as it is', async () => {
  const store = openMemoryStore(systemClock)
  const kubernetes = new KubernetesAdmission(store)
  await using server = await startTestServer({ clock: systemClock, store, admission: [kubernetes.hook] })
  const call = () => Promise.reject(new Error('no webhook is called here'))
  kubernetes.start({ server, uid: randomUUID, clock: systemClock, onError: () => {}, call })
  const client = new Client(server.transport)
  const create = (plural: string, apiVersion: string, object: Named) => {
    const [group = '', version = ''] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion]
    const type = { group, version, kind: object.kind, plural, namespaced: object.metadata.namespace !== undefined }
    return client.create(type, { apiVersion, ...object })
  }
  const named = (name: string, annotations = {}) => ({ name, annotations })
  const inDefault = (name: string, annotations = {}) => ({ ...named(name, annotations), namespace: 'default' })
  const priority = (name: string, value: number) =>
    create('priorityclasses', 'scheduling.k8s.io/v1', {
      kind: 'PriorityClass',
      metadata: named(name),
      value,
      globalDefault: value === 7,
    })
  await priority('usual', 7)
  await priority('high', 9)
  for (const [name, value] of [
    ['a', 'false'],
    ['b', 'true'],
  ] as const) {
    const storage = { kind: 'StorageClass', metadata: named(name, { [marks.StorageClass]: value }), provisioner: 'x/y' }
    await create('storageclasses', 'storage.k8s.io/v1', storage)
    const metadata = named(name, { [marks.IngressClass]: value })
    await create('ingressclasses', 'networking.k8s.io/v1', {
      kind: 'IngressClass',
      metadata,
      spec: { controller: 'x/y' },
    })
  }
  const pod = (name: string, spec = {}) =>
    create('pods', 'v1', {
      kind: 'Pod',
      metadata: inDefault(name),
      spec: { containers: [{ name: 'c', image: 'none' }], ...spec },
    })
  const volume = (name: string, spec = {}) =>
    create('persistentvolumeclaims', 'v1', {
      kind: 'PersistentVolumeClaim',
      metadata: inDefault(name),
      spec: { ...claim, ...spec },
    })
  const route = (name: string, annotations = {}) =>
    create('ingresses', 'networking.k8s.io/v1', {
      kind: 'Ingress',
      metadata: inDefault(name, annotations),
      spec: ingress,
    })
  expect((await pod('p')).spec).toMatchObject({ priorityClassName: 'usual', priority: 7 })
  expect((await pod('q', { priorityClassName: 'high' })).spec).toMatchObject({ priority: 9 })
  expect((await volume('p')).spec).toMatchObject({ storageClassName: 'b' })
  expect((await volume('q', { storageClassName: '' })).spec).toMatchObject({ storageClassName: '' })
  expect((await route('p')).spec).toMatchObject({ ingressClassName: 'b' })
  expect((await route('q', { 'kubernetes.io/ingress.class': 'x' })).spec).not.toHaveProperty('ingressClassName')
})
