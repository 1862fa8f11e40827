import type { KubeObject, ObjectMeta } from '../kube/object.ts'
import { holdFinalizer, inUseAnnotation, inUseLabel, seedFinalizer } from './bond.ts'

/** What Bonds set on their dependency. */
interface BondMarks {
  /** Delays its deletion. */
  readonly finalizer: string
  /** Names the Bonds that deny its deletion; set together with the label. */
  readonly annotation: string
}

/** The marks of Bonds from a cluster: '' for the object's own. Others carry the cluster's ID, so that each Sojourn removes only its own. */
export function marksFrom(origin: string): BondMarks {
  if (origin === '') return { finalizer: holdFinalizer, annotation: inUseAnnotation }
  return { finalizer: `${foreignFinalizer}${origin}`, annotation: `${foreignAnnotation}${origin}` }
}

/** Whether Bonds from a cluster delay the deletion of an object. */
export function isHeldFrom(origin: string, { finalizers = [] }: ObjectMeta): boolean {
  return finalizers.some((name) => isHoldFrom(origin, name))
}

/** Whether a finalizer was set by Bonds from a cluster. */
export function isHoldFrom(origin: string, finalizer: string): boolean {
  return finalizer === marksFrom(origin).finalizer || (origin === '' && finalizer === seedFinalizer)
}

/** Whether Bonds from a cluster deny the deletion of an object, by its marks. */
export function isGuardedFrom(origin: string, { labels = {}, annotations = {} }: ObjectMeta): boolean {
  return labels[inUseLabel] !== undefined && annotations[marksFrom(origin).annotation] !== undefined
}

/** Whether Bonds from any other cluster deny the deletion: then the label is theirs too, and must stay. */
export function isGuardedBeside(origin: string, { annotations = {} }: ObjectMeta): boolean {
  const own = marksFrom(origin).annotation
  return Object.keys(annotations).some((name) => isInUseAnnotation(name) && name !== own)
}

/** Whether an annotation names Bonds that deny a deletion. */
export function isInUseAnnotation(name: string): boolean {
  return name === inUseAnnotation || name.startsWith(foreignAnnotation)
}

/** The Bonds of other clusters that deny the deletion of an object, for the rejection message. */
export function refusedElsewhere({ metadata }: KubeObject): string | undefined {
  const { labels = {}, annotations = {} } = metadata
  if (labels[inUseLabel] === undefined) return undefined
  const said = Object.entries(annotations).filter(([name]) => name.startsWith(foreignAnnotation))
  return said.length > 0 ? said.map(([, bonds]) => bonds).join(', ') : undefined
}

const foreignFinalizer = 'sojourn.dev/held-from-'
const foreignAnnotation = `${inUseAnnotation}.`
