import { apiVersionOf, type KubeObject } from '../../../kube/object.ts'
import type { ObjectSchema } from '../types/object-schema.ts'
import { isRecord, jsonIn } from '../../../kube/basics/json.ts'
import { compare } from './compare.ts'
import { fieldSetOf } from './extract.ts'
import type { FieldSet } from './field-set.ts'

const annotation = 'kubectl.kubernetes.io/last-applied-configuration'

/** An apply, of which only those by kubectl concern the annotation. */
interface ByKubectl {
  readonly schema: ObjectSchema
  readonly manager: string
  readonly live: KubeObject | undefined
  readonly applied: KubeObject
}

/**
 * Fields that kubectl may take over without force: those it applied client-side and that have not changed since.
 * Undefined for other managers, and for objects that were never applied client-side.
 */
export function allowedByLastApplied({ schema, manager, live }: ByKubectl): FieldSet | undefined {
  const text = live?.metadata.annotations?.[annotation]
  if (manager !== 'kubectl' || !live || !text) return undefined
  const last = jsonIn(text)
  if (!isRecord(last) || last.apiVersion !== apiVersionOf(schema.gvk)) return undefined
  const { modified, added, removed } = compare(last, live, schema.root)
  return fieldSetOf(last, schema.root).difference(modified).difference(added).difference(removed)
}

/** Updates the last-applied annotation when kubectl applies server-side, so that client-side apply keeps working. */
export function renewLastApplied(object: KubeObject, { manager, applied }: ByKubectl): KubeObject {
  if (manager !== 'kubectl' || !object.metadata.annotations?.[annotation]) return object
  const { [annotation]: _, ...annotations } = applied.metadata?.annotations ?? {}
  const last = { ...applied, metadata: { ...applied.metadata, annotations } }
  const metadata = {
    ...object.metadata,
    annotations: { ...object.metadata.annotations, [annotation]: `${JSON.stringify(last)}\n` },
  }
  return { ...object, metadata }
}
