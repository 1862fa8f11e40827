import type { KubeObject } from '../../../kube/object.ts'
import { notFound, StatusError } from '../../../kube/status-error.ts'
import { formatTime } from '../../../kube/time.ts'
import { Document } from '../../store/document.ts'
import type { Decision, View } from '../../store/store.ts'
import { evict } from './evict-pod.ts'
import { badRequest, conflict } from '../contract/failures.ts'
import type { CreateRequest, WriteResult } from '../contract/request.ts'
import { changeTo, type WritePorts } from '../contract/write-object.ts'
import { parseWriteOptions } from '../contract/write-options.ts'

interface PodStatus {
  readonly conditions?: readonly { readonly type: string }[]
}

interface Binding {
  readonly metadata?: { readonly name?: unknown }
  readonly target?: { readonly name?: unknown }
}

/** POST of `binding` and `eviction` below a pod. */
export async function createPodSubresource(ports: WritePorts, request: CreateRequest): Promise<WriteResult> {
  const { subresource } = request
  if (subresource === 'binding') return ports.write((view) => bind(ports, view, request))
  if (subresource === 'eviction') {
    await ports.write((view) => evict(ports, view, request))
    return success
  }
  throw new StatusError('MethodNotAllowed', `the server does not allow this method on the requested resource`)
}

/** Puts a pod on a node, once. */
function bind(ports: WritePorts, view: View, request: CreateRequest): Decision<WriteResult> {
  const { type, name = '', namespace = '' } = request
  const { isDryRun } = parseWriteOptions('CreateOptions', request)
  const { metadata, target } = (request.body ?? {}) as Binding
  if (metadata?.name !== name) throw badRequest('name in URL does not match name in Binding object')
  const node = target?.name
  if (typeof node !== 'string' || node === '') throw badRequest('target.name: Required value')
  const existing = view.get({ resource: type.resource, namespace, name })
  if (!existing) throw notFound(type, name)
  const old = existing.document.value
  const { nodeName } = (old.spec ?? {}) as { readonly nodeName?: string }
  if (nodeName)
    throw conflict({ group: '', plural: 'pods/binding' }, name, `pod ${name} is already assigned to node "${nodeName}"`)
  if (isDryRun) return { answer: success, changes: [] }
  const bound = withCondition(
    { ...old, spec: { ...(old.spec as object), nodeName: node } },
    formatTime(ports.clock.now()),
  )
  const { change } = changeTo(type, bound, { kind: 'update', revision: view.nextRevision, old })
  return { answer: success, changes: [change] }
}

function withCondition(pod: KubeObject, now: string): KubeObject {
  const status = (pod.status ?? {}) as PodStatus
  const others = (status.conditions ?? []).filter(({ type }) => type !== 'PodScheduled')
  const scheduled = { type: 'PodScheduled', status: 'True', lastProbeTime: null, lastTransitionTime: now }
  return { ...pod, status: { ...status, conditions: [...others, scheduled] } }
}

const status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 }
const success: WriteResult = { document: new Document(0, JSON.stringify(status)), created: true, warnings: [] }
