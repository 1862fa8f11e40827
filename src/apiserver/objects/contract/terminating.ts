import { definitionResource } from '../../kinds/definitions/definition.ts'
import type { ServedKind } from '../../kinds/contract/served-kind.ts'
import type { View } from '../../store/store.ts'

/** Whether the kind's CustomResourceDefinition is being deleted in this view: no new objects of it may be stored then. */
export function isTerminating({ custom }: ServedKind, view: View): boolean {
  if (!custom) return false
  const record = view.get({ resource: definitionResource, namespace: '', name: custom.definition })
  return record?.document.value.metadata.deletionTimestamp !== undefined
}
