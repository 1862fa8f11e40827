import type { KubeObject } from '../../../kube/object.ts'
import { notFound } from '../../../kube/status-error.ts'
import { formatTime } from '../../../kube/time.ts'
import type { Change, Decision, StoredRecord, View } from '../../store/store.ts'
import { decideDelete } from './delete-object.ts'
import { parseDeleteOptions } from '../contract/delete-options.ts'
import { budgetsOf, spend, type Budget } from './disruption-budget.ts'
import { badRequest } from '../contract/failures.ts'
import type { CreateRequest } from '../contract/request.ts'
import { changeTo, type WritePorts } from '../contract/write-object.ts'
import { parseWriteOptions } from '../contract/write-options.ts'

interface PodStatus {
  readonly phase?: string
  readonly conditions?: readonly { readonly type: string; readonly status?: string }[]
}

interface Eviction {
  readonly metadata?: { readonly name?: unknown }
  readonly deleteOptions?: unknown
}

/** Deletes a pod unless its disruption budget forbids that: TooManyRequests then. */
export function evict(ports: WritePorts, view: View, request: CreateRequest): Decision<undefined> {
  const { type, name = '', namespace = '', user } = request
  const eviction = (request.body ?? {}) as Eviction
  if (eviction.metadata?.name !== name) throw badRequest('name in URL does not match name in Eviction object')
  const options = parseDeleteOptions(eviction.deleteOptions === undefined ? {} : { body: eviction.deleteOptions })
  const isDryRun = options.isDryRun || parseWriteOptions('CreateOptions', request).isDryRun
  const existing = view.get({ resource: type.resource, namespace, name })
  if (!existing) throw notFound(type, name)
  const spent = mayGoAnyway(existing.document.value) ? [] : spendBudget(ports, view, existing)
  const marked = isDryRun ? [] : [markEvicted(ports, existing, { type, revision: view.nextRevision + spent.length })]
  const before = isDryRun ? [] : [...spent, ...marked]
  const { changes } = decideDelete(ports, after(view, before), {
    request: { type, name, namespace, user },
    options: withVersion({ ...options, isDryRun }, existing, marked),
  })
  return { answer: undefined, changes: [...before, ...changes] }
}

/** Evicting a Pod that has not started, or has finished, disrupts nothing. */
function mayGoAnyway({ metadata, status }: KubeObject): boolean {
  const { phase = 'Pending' } = (status ?? {}) as PodStatus
  return metadata.deletionTimestamp !== undefined || phase !== 'Running'
}

function spendBudget(ports: WritePorts, view: View, pod: StoredRecord): readonly Change[] {
  const object = pod.document.value
  const [budget, second] = budgetsOf(ports, object)
  if (!budget) return []
  if (second)
    throw badRequest('This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.')
  if (!isReady(object) && mayLoseUnready(budget)) return []
  const now = formatTime(ports.clock.now())
  return [changeTo(budget.type, spend(budget, pod.name, now), updateOf(view.nextRevision, budget.object)).change]
}

/** Whether the budget lets pods go that do not serve: always, or while enough others do. */
function mayLoseUnready({ spec, status }: Budget): boolean {
  if (spec.unhealthyPodEvictionPolicy === 'AlwaysAllow') return true
  const { currentHealthy = 0, desiredHealthy = 0 } = status
  return currentHealthy >= desiredHealthy && desiredHealthy > 0
}

function isReady({ status }: KubeObject): boolean {
  const { conditions = [] } = (status ?? {}) as PodStatus
  return conditions.some(({ type, status: value }) => type === 'Ready' && value === 'True')
}

function markEvicted(
  ports: WritePorts,
  { document }: StoredRecord,
  { type, revision }: { readonly type: CreateRequest['type']; readonly revision: number },
): Change {
  const old = document.value
  const status = (old.status ?? {}) as PodStatus
  const condition = {
    type: 'DisruptionTarget',
    status: 'True',
    lastTransitionTime: formatTime(ports.clock.now()),
    reason: 'EvictionByEvictionAPI',
    message: 'Eviction API: evicting',
  }
  const others = (status.conditions ?? []).filter((each) => each.type !== condition.type)
  const marked = { ...old, status: { ...status, conditions: [...others, condition] } }
  return changeTo(type, marked, updateOf(revision, old)).change
}

function updateOf(revision: number, old: KubeObject) {
  return { kind: 'update' as const, revision, old }
}

/** A version that was asked for is that of the pod before we marked it. */
function withVersion<T extends { readonly resourceVersion?: string | undefined }>(
  options: T,
  { document }: StoredRecord,
  [marked]: readonly Change[],
): T {
  if (!marked || options.resourceVersion !== String(document.revision)) return options
  return { ...options, resourceVersion: String(marked.document.revision) }
}

/** What a decision sees after the first of its own changes. */
function after(view: View, changes: readonly Change[]): View {
  const changed = (address: Parameters<View['get']>[0]) =>
    changes.find(
      ({ resource, namespace, name }) =>
        resource === address.resource && namespace === address.namespace && name === address.name,
    )
  return {
    nextRevision: view.nextRevision + changes.length,
    get: (address) => changed(address) ?? view.get(address),
    dependentsOf: (uid, limit) => view.dependentsOf(uid, limit),
    countBlocking: (uid) => view.countBlocking(uid),
    addressOf: (uid) => view.addressOf(uid),
  }
}
