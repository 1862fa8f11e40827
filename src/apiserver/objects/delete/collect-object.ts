import { parseApiVersion, type OwnerReference } from '../../../kube/object.ts'
import { isStatusError } from '../../../kube/status-error.ts'
import type { View } from '../../store/store.ts'
import { decideDelete } from './delete-object.ts'
import { parseDeleteOptions } from '../contract/delete-options.ts'
import type { DeleteRequest } from '../contract/request.ts'
import type { WritePorts } from '../contract/write-object.ts'

/** An object that has to go because its owners are gone. */
export interface Orphaned {
  readonly request: DeleteRequest
  /** The owners by which it was judged. */
  readonly owners: readonly OwnerReference[]
}

/**
 * Deletes an object if, at the very moment it is deleted, none of its owners keeps it. The check and the delete are one decision, and decisions run in
 * the order in which they are asked for: a whole tree may be asked for at once, owners first.
 */
export function collectObject(
  ports: WritePorts,
  { request, owners }: Orphaned,
): Promise<'gone' | 'leaving' | 'changed'> {
  const options = parseDeleteOptions(request)
  return ports.store.write((view) => {
    if (owners.some((owner) => isKept(view, owner, request))) return { answer: 'changed' as const, changes: [] }
    try {
      const { changes } = decideDelete(ports, view, { request, options })
      return {
        answer: changes.at(-1)?.type === 'delete' ? ('gone' as const) : ('leaving' as const),
        changes,
      }
    } catch (error) {
      if (isStatusError(error, 'NotFound')) return { answer: 'gone' as const, changes: [] }
      if (isStatusError(error, 'Conflict')) return { answer: 'changed' as const, changes: [] }
      throw error
    }
  })
}

/**
 * Whether an owner still keeps its dependent: one in another namespace never does, nor one that is not what the reference says; one that goes in the
 * foreground waits for it to go.
 */
function isKept(
  view: View,
  { uid, apiVersion, kind, name }: OwnerReference,
  { namespace = '' }: DeleteRequest,
): boolean {
  const address = view.addressOf(uid)
  if (!address || address.name !== name || (address.namespace !== '' && address.namespace !== namespace)) return false
  const owner = view.get(address)?.document.value
  if (!owner || owner.kind !== kind || parseApiVersion(owner.apiVersion).group !== parseApiVersion(apiVersion).group)
    return false
  const { deletionTimestamp, finalizers = [] } = owner.metadata
  return !(deletionTimestamp && finalizers.includes('foregroundDeletion'))
}
