import type { KubeObject, ObjectMeta } from '../kube/object.ts'
import { holdFinalizer, inUseAnnotation, inUseLabel, seedFinalizer } from './bond.ts'

/** What Bonds put on an object that they need. */
interface BondMarks {
  /** Makes it wait. */
  readonly finalizer: string
  /** Says, next to the label, which Bonds refuse its deletion. */
  readonly annotation: string
}

/** The marks of Bonds from a cluster: '' for the object's own. Others carry that cluster's id, so that nobody takes off somebody else's. */
export function marksFrom(origin: string): BondMarks {
  if (origin === '') return { finalizer: holdFinalizer, annotation: inUseAnnotation }
  return { finalizer: `${foreignFinalizer}${origin}`, annotation: `${foreignAnnotation}${origin}` }
}

/** Whether Bonds from a cluster make an object wait. */
export function isHeldFrom(origin: string, { finalizers = [] }: ObjectMeta): boolean {
  return finalizers.some((name) => isHoldFrom(origin, name))
}

/** Whether a finalizer is by what Bonds from a cluster hold. */
export function isHoldFrom(origin: string, finalizer: string): boolean {
  return finalizer === marksFrom(origin).finalizer || (origin === '' && finalizer === seedFinalizer)
}

/** Whether an object says that Bonds from a cluster refuse its deletion. */
export function isGuardedFrom(origin: string, { labels = {}, annotations = {} }: ObjectMeta): boolean {
  return labels[inUseLabel] !== undefined && annotations[marksFrom(origin).annotation] !== undefined
}

/** Whether Bonds from anywhere but this cluster refuse its deletion: then the label is theirs, too. */
export function isGuardedBeside(origin: string, { annotations = {} }: ObjectMeta): boolean {
  const own = marksFrom(origin).annotation
  return Object.keys(annotations).some((name) => isInUseAnnotation(name) && name !== own)
}

/** Whether an annotation names Bonds that refuse a deletion. */
export function isInUseAnnotation(name: string): boolean {
  return name === inUseAnnotation || name.startsWith(foreignAnnotation)
}

/** The Bonds of other clusters that refuse the deletion of an object, as the one who is refused should read them. */
export function refusedElsewhere({ metadata }: KubeObject): string | undefined {
  const { labels = {}, annotations = {} } = metadata
  if (labels[inUseLabel] === undefined) return undefined
  const said = Object.entries(annotations).filter(([name]) => name.startsWith(foreignAnnotation))
  return said.length > 0 ? said.map(([, bonds]) => bonds).join(', ') : undefined
}

const foreignFinalizer = 'sojourn.dev/held-from-'
const foreignAnnotation = `${inUseAnnotation}.`
