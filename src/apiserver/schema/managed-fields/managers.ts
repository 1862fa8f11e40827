import { parseTime } from '../../../kube/time.ts'
import { isRecord } from '../../../kube/basics/json.ts'
import { FieldSet, type FieldsV1 } from './field-set.ts'

/** A field manager of an object and the fields it owns. */
export interface Manager {
  readonly manager: string
  readonly operation: 'Apply' | 'Update'
  readonly apiVersion: string
  readonly subresource: string
  readonly time: string | undefined
  readonly fields: FieldSet
}

/** All managers of an object, by `managerId`. */
export type Managers = Map<string, Manager>

/** An entry of metadata.managedFields. */
export interface ManagedFieldsEntry {
  readonly manager?: string
  readonly operation?: string
  readonly apiVersion?: string
  readonly time?: string
  readonly fieldsType?: string
  readonly fieldsV1?: FieldsV1
  readonly subresource?: string
}

/** The identity of a manager: per version for Update, across versions for Apply. Sorts as the API orders conflicts. */
export function managerId({ manager, operation, apiVersion, subresource }: Omit<Manager, 'time' | 'fields'>): string {
  return JSON.stringify({
    manager: manager || undefined,
    operation,
    apiVersion: operation === 'Apply' ? undefined : apiVersion,
    subresource: subresource || undefined,
  })
}

/** Parses managedFields; undefined when the API would not accept an entry. */
export function decodeManagers(entries: unknown): Managers | undefined {
  const managers: Managers = new Map()
  if (entries === undefined || entries === null) return managers
  if (!Array.isArray(entries)) return undefined
  for (const entry of entries) {
    const decoded = isRecord(entry) ? decodeEntry(entry as ManagedFieldsEntry) : undefined
    if (!decoded) return undefined
    managers.set(managerId(decoded), decoded)
  }
  return managers
}

/** Serializes managedFields in the API's order: operation, time, manager, version, subresource. */
export function encodeManagers(managers: Managers): ManagedFieldsEntry[] {
  return [...managers.values()]
    .toSorted(compareManagers)
    .map(({ manager, operation, apiVersion, time, subresource, fields }) => ({
      ...(manager ? { manager } : {}),
      operation,
      apiVersion,
      ...(time === undefined ? {} : { time }),
      fieldsType: 'FieldsV1',
      fieldsV1: fields.toFieldsV1(),
      ...(subresource ? { subresource } : {}),
    }))
}

/** Merges the oldest Update entries into one per version until at most ten remain, as kube-apiserver does. */
export function capUpdaters(managers: Managers): void {
  const updaters = [...managers.entries()].filter(([, { operation }]) => operation === 'Update')
  if (updaters.length <= maxUpdaters) return
  updaters.sort(([a, one], [b, other]) => secondsOf(one) - secondsOf(other) || (a < b ? -1 : 1))
  const firstOfVersion = new Map<string, string>()
  let left = updaters.length
  for (const [id, updater] of updaters) {
    if (left <= maxUpdaters) return
    const first = firstOfVersion.get(updater.apiVersion)
    if (first === undefined) {
      firstOfVersion.set(updater.apiVersion, id)
      continue
    }
    const bucket = {
      manager: 'ancient-changes',
      operation: 'Update',
      apiVersion: updater.apiVersion,
      subresource: '',
    } as const
    const bucketId = managerId(bucket)
    const before = managers.get(bucketId) ?? managers.get(first)
    if (!managers.has(bucketId)) managers.delete(first)
    managers.delete(id)
    managers.set(bucketId, {
      ...bucket,
      time: updater.time,
      fields: before ? updater.fields.union(before.fields) : updater.fields,
    })
    left--
  }
}

const maxUpdaters = 10

function decodeEntry(entry: ManagedFieldsEntry): Manager | undefined {
  const { manager = '', operation, apiVersion, time, fieldsType, fieldsV1, subresource = '' } = entry
  if (operation !== 'Apply' && operation !== 'Update') return undefined
  if (!apiVersion || fieldsType !== 'FieldsV1') return undefined
  const fields = fieldsFrom(fieldsV1 ?? {})
  return fields && { manager, operation, apiVersion, subresource, time, fields }
}

function fieldsFrom(fieldsV1: unknown): FieldSet | undefined {
  try {
    return FieldSet.from(fieldsV1)
  } catch (error) {
    if (error instanceof TypeError) return undefined
    throw error
  }
}

function compareManagers(a: Manager, b: Manager): number {
  return (
    compareText(a.operation, b.operation) ||
    secondsOf(a) - secondsOf(b) ||
    compareText(a.manager, b.manager) ||
    compareText(a.apiVersion, b.apiVersion) ||
    compareText(a.subresource, b.subresource)
  )
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

function secondsOf({ time }: Manager): number {
  return Math.floor((parseTime(time) ?? 0) / 1000)
}
