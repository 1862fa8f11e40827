import { FieldSet } from './field-set.ts'
import { decodeManagers, encodeManagers, type ManagedFieldsEntry, type Managers } from './managers.ts'
import type { PathElement } from './path-element.ts'

/** How the managedFields of an object and of its scale subresource correspond. */
export interface ScaleMapping {
  /** Version of the object that is written: `apps/v1`. */
  readonly apiVersion: string
  /** Dotted path of the replicas field per served version: `{ 'apps/v1': 'spec.replicas' }`. */
  readonly replicasPaths: Readonly<Record<string, string>>
}

const scaleVersion = 'autoscaling/v1'
const scaleReplicas = ['f:spec', 'f:replicas']

/** The managers of an object's replicas, as managers of the Scale's. */
export function toScaleEntries(entries: unknown, { replicasPaths }: ScaleMapping): ManagedFieldsEntry[] {
  const scale: Managers = new Map()
  for (const [id, manager] of decodeManagers(entries) ?? []) {
    const path = pathOf(replicasPaths[manager.apiVersion])
    if (!path || !manager.fields.has(path)) continue
    scale.set(id, { ...manager, apiVersion: scaleVersion, fields: FieldSet.of(scaleReplicas) })
  }
  return encodeManagers(scale)
}

/** The object's managedFields after a write of its Scale: managers that lost the replicas there lose them here. */
export function fromScaleEntries(entries: unknown, scaleEntries: unknown, mapping: ScaleMapping): ManagedFieldsEntry[] {
  const { apiVersion, replicasPaths } = mapping
  const scale = decodeManagers(scaleEntries) ?? new Map()
  const result: Managers = new Map()
  for (const [id, manager] of decodeManagers(entries) ?? []) {
    if (!Object.hasOwn(replicasPaths, manager.apiVersion)) continue
    const path = pathOf(replicasPaths[manager.apiVersion])
    if (!path || !manager.fields.has(path) || scale.delete(id)) {
      result.set(id, manager)
      continue
    }
    const fields = manager.fields.difference(FieldSet.of(path))
    if (!fields.isEmpty) result.set(id, { ...manager, fields })
  }
  const path = pathOf(replicasPaths[apiVersion])
  for (const [id, manager] of scale) {
    if (path && manager.fields.has(scaleReplicas)) result.set(id, { ...manager, apiVersion, fields: FieldSet.of(path) })
  }
  return encodeManagers(result)
}

function pathOf(dotted: string | undefined): readonly PathElement[] | undefined {
  return dotted?.split('.').map((name) => `f:${name}`)
}
