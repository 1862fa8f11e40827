import type { KubeObject, OwnerReference, StoredObject } from '../../../kube/object.ts'
import { keepsDependent, ownerStateOf } from '../../../kube/owner-rule.ts'
import { isStatusError, notFound, type Status } from '../../../kube/status-error.ts'
import { formatTime, parseTime } from '../../../kube/time.ts'
import type { ServedKind } from '../../kinds/contract/served-kind.ts'
import type { Document } from '../../store/document.ts'
import type { Decision, View } from '../../store/store.ts'
import { validate } from '../contract/admission.ts'
import { parseDeleteOptions, type DeleteOptions, type Propagation } from '../contract/delete-options.ts'
import { conflict, detailsOf } from '../contract/failures.ts'
import { noteRecord, storeDeletionRecord } from '../ending/store-deletion-record.ts'
import type { DeleteRequest, DeleteResult } from '../contract/request.ts'
import { isReadyToRemove } from '../write/revise-object.ts'
import { changeTo, unstored, type WritePorts } from '../contract/write-object.ts'

/** Krake's finalizer: the object stays until what depends on it is gone. */
export const cascadeFinalizer = 'cascade_deletion'

const collectorFinalizers: Readonly<Record<Propagation, readonly string[]>> = {
  Background: [],
  Foreground: ['foregroundDeletion'],
  Orphan: ['orphan'],
}

/** Removes an object or, while something holds it, marks it for deletion. */
export async function deleteObject(ports: WritePorts, request: DeleteRequest): Promise<DeleteResult> {
  const options = parseDeleteOptions(request)
  return ports.write((view) => decideDelete(ports, view, { request, options }))
}

/** A dependent that the collector found to have no owner left. */
export interface UnownedDelete {
  readonly request: DeleteRequest
  /** The owner references by which the collector judged it. */
  readonly owners: readonly OwnerReference[]
  /** Whether a foreground deletion of an owner leaves it in place. */
  readonly outlivesForeground: boolean
}

/**
 * Deletes a dependent if no owner keeps it inside the transaction that deletes it; `changed` if one does. Transactions run in the order of the calls, so the
 * collector may ask for a whole tree at once, owners first.
 */
export function deleteIfUnowned(ports: WritePorts, unowned: UnownedDelete): Promise<'gone' | 'leaving' | 'changed'> {
  const { request, owners } = unowned
  const options = parseDeleteOptions(request)
  return ports.write((view) => {
    if (owners.some((reference) => isKeptBy(view, reference, unowned))) return { answer: 'changed', changes: [] }
    try {
      const { changes } = decideDelete(ports, view, { request, options })
      return { answer: changes.at(-1)?.type === 'delete' ? 'gone' : 'leaving', changes }
    } catch (error) {
      if (isStatusError(error, 'NotFound')) return { answer: 'gone', changes: [] }
      if (isStatusError(error, 'Conflict')) return { answer: 'changed', changes: [] }
      throw error
    }
  })
}

/** The owner rule on the store itself: what the store does not have does not exist. */
function isKeptBy(view: View, reference: OwnerReference, { request, outlivesForeground }: UnownedDelete): boolean {
  const address = view.addressOf(reference.uid)
  const owner = address && view.get(address)?.document.value
  if (!owner) return false
  const state = ownerStateOf(reference, owner, { namespace: request.namespace, outlivesForeground })
  return state !== 'mismatch' && keepsDependent(state)
}

/** A delete with its options checked. */
export interface Deletion {
  readonly request: DeleteRequest
  readonly options: DeleteOptions
}

/** Decides a delete. */
export function decideDelete(ports: WritePorts, view: View, { request, options }: Deletion): Decision<DeleteResult> {
  const { type, name, namespace = '', user } = request
  const existing = view.get({ resource: type.resource, namespace, name })
  if (!existing) throw notFound(type, name)
  const current = type.serve(existing.document)
  const old = current.value
  checkPreconditions(type, old, options)
  const warnings = validate(ports.hooks, {
    operation: 'DELETE',
    type,
    namespace,
    name,
    subresource: '',
    user,
    isDryRun: options.isDryRun,
    object: undefined,
    old,
    propagation: options.propagation,
    view,
  })
  const marked = mark(ports, view, { type, old, options })
  const isGone = isReadyToRemove(type, marked)
  const result = { warnings, code: options.isLegacy && !isGone ? (202 as const) : (200 as const) }
  if (isGone && !isMarked(old)) return gone(ports, view, { type, object: old, old, options, result })
  if (isGone) return gone(ports, view, { type, object: marked, old, options, result })
  return kept(ports, view, { type, marked, current, options, result })
}

interface Ending {
  readonly type: ServedKind
  readonly options: DeleteOptions
  readonly result: { readonly code: 200 | 202; readonly warnings: readonly string[] }
}

function gone(
  ports: WritePorts,
  view: View,
  { type, object, old, options, result }: Ending & { readonly object: KubeObject; readonly old: StoredObject },
): Decision<DeleteResult> {
  const status = type.rules.returnsDeletedObject ? undefined : success(type, old)
  if (options.isDryRun)
    return { answer: { ...result, ...(status ? { status } : { document: unstored(object) }) }, changes: [] }
  const recorded = storeDeletionRecord(ports, view, { object: old, cascadeRecord: options.cascadeRecord })
  const revision = view.nextRevision + recorded.length
  const { change, document } = changeTo(type, object, { kind: 'delete', revision, old })
  return { answer: { ...result, ...(status ? { status } : { document }) }, changes: [...recorded, change] }
}

function kept(
  ports: WritePorts,
  view: View,
  { type, marked, current, options, result }: Ending & { readonly marked: KubeObject; readonly current: Document },
): Decision<DeleteResult> {
  if (marked === current.value) return { answer: { ...result, document: current }, changes: [] }
  if (options.isDryRun) return { answer: { ...result, document: unstored(marked) }, changes: [] }
  const old = current.value
  const noted = isMarked(old) ? marked : noteRecord(ports, view, { object: marked, record: options.cascadeRecord })
  const { change, document } = changeTo(type, noted, { kind: 'update', revision: view.nextRevision, old })
  return { answer: { ...result, document }, changes: [change] }
}

interface Marking {
  readonly type: ServedKind
  readonly old: StoredObject
  readonly options: DeleteOptions
}

/** The object as it is once its deletion was asked for; the very same when that changes nothing. */
function mark(ports: WritePorts, view: View, { type, old, options }: Marking): KubeObject {
  const nowMs = ports.clock.now()
  const finalizers = finalizersOf(ports, view, { type, old, options })
  const times = deletionTimes(old, graceOf(type, old, options), nowMs)
  if (isMarked(old) && !times && sameItems(finalizers, old.metadata.finalizers ?? [])) return old
  const { finalizers: _finalizers, ...metadata } = old.metadata
  const generation = isMarked(old) || !metadata.generation ? {} : { generation: metadata.generation + 1 }
  const object: KubeObject = {
    ...old,
    metadata: { ...metadata, ...(finalizers.length > 0 ? { finalizers } : {}), ...times, ...generation },
  }
  return isMarked(old) ? object : (type.rules.prepareDelete?.(object, formatTime(nowMs)) ?? object)
}

/** When it has to be gone; undefined where an earlier delete has said so, which can only be shortened. */
function deletionTimes({ metadata }: StoredObject, graceSeconds: number, nowMs: number) {
  const { deletionTimestamp, deletionGracePeriodSeconds = 0 } = metadata
  const askedAt =
    deletionTimestamp === undefined
      ? nowMs
      : (parseTime(deletionTimestamp) ?? nowMs) - deletionGracePeriodSeconds * 1000
  if (deletionTimestamp !== undefined && graceSeconds >= deletionGracePeriodSeconds) return undefined
  return { deletionTimestamp: formatTime(askedAt + graceSeconds * 1000), deletionGracePeriodSeconds: graceSeconds }
}

function graceOf({ rules }: ServedKind, old: StoredObject, { graceSeconds }: DeleteOptions): number {
  if (!rules.graceSeconds) return 0
  return rules.graceSeconds(old, graceSeconds ?? old.metadata.deletionGracePeriodSeconds)
}

function finalizersOf(ports: WritePorts, view: View, { type, old, options }: Marking): readonly string[] {
  const present = old.metadata.finalizers ?? []
  const others = present.filter((name) => name !== 'orphan' && name !== 'foregroundDeletion')
  const chosen =
    options.propagation ?? propagationOf(present) ?? (type.rules.orphansByDefault ? 'Orphan' : 'Background')
  const cascade =
    !isMarked(old) && !others.includes(cascadeFinalizer) && ports.cascades(old, view) ? [cascadeFinalizer] : []
  return [...others, ...collectorFinalizers[chosen], ...cascade]
}

function propagationOf(finalizers: readonly string[]): Propagation | undefined {
  if (finalizers.includes('orphan')) return 'Orphan'
  return finalizers.includes('foregroundDeletion') ? 'Foreground' : undefined
}

function checkPreconditions(
  type: ServedKind,
  { metadata }: StoredObject,
  { uid, resourceVersion }: DeleteOptions,
): void {
  const { name } = metadata
  const kind = { group: type.group, plural: type.kind }
  if (uid !== undefined && uid !== metadata.uid)
    throw conflict(
      kind,
      name,
      `the UID in the precondition (${uid}) does not match the UID in record (${metadata.uid}). The object might have been deleted and then recreated`,
    )
  if (resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion)
    throw conflict(
      kind,
      name,
      `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${metadata.resourceVersion}). The object might have been modified`,
    )
}

function success(type: ServedKind, { metadata }: StoredObject): Status {
  const details = { ...detailsOf(type, metadata.name), uid: metadata.uid }
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details, code: 200 }
}

function isMarked({ metadata }: KubeObject): boolean {
  return metadata.deletionTimestamp !== undefined
}

function sameItems(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length && left.every((item, index) => item === right[index])
}
