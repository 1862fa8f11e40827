import { definitionResource } from '../../kinds/definitions/definition.ts'
import type { ServedKind } from '../../kinds/contract/served-kind.ts'
import type { View } from '../../store/store.ts'

/** Whether the kind's CRD is being deleted: no objects of the kind may be created then. */
export function isTerminating({ custom }: ServedKind, view: View): boolean {
  if (!custom) return false
  const record = view.get({ resource: definitionResource, namespace: '', name: custom.definition })
  return record?.document.value.metadata.deletionTimestamp !== undefined
}
