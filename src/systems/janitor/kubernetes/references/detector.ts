import type { StoredObject } from '../../../../kube/object.ts'
import type { Requirement } from '../../../../kube/selector.ts'
import { unused, type Use } from '../../model/resource.ts'
import type { ReferrerKind } from './referrer-types.ts'

/** A cluster as detectors read it, at one time. Reading a list that may be incomplete throws. */
export interface ClusterView {
  list(kind: ReferrerKind): readonly StoredObject[]
  /** The use of a name by custom resources, once built-in kinds are known not to refer to it. */
  customUse(name: string): Use
  /** The use of a namespace by the custom resources in it; only for detectors with `looksInside`. */
  customUseIn(namespace: string): Use
  /** The use of a definition, `group/Kind`, by its objects; only for detectors with `looksInside`. */
  customUseOf(definition: string): Use
}

/** Determines whether objects of a kind are in use. The cycles know no kind; only detectors do. */
export interface Detector {
  /** `ConfigMap`, `Deployment.apps`. */
  readonly kinds: readonly string[]
  readonly needs: readonly ReferrerKind[]
  /** Whether it reads all custom resources, not only their texts. Defaults to false. */
  readonly looksInside?: boolean
  /** Reads the cluster once, then answers for each object. */
  prepare(cluster: ClusterView): (object: StoredObject) => Use
}

/** The use by custom resources; if there is none, the object is unused for the given reason. */
export function unlessCustomUse(use: Use, because: string): Use {
  return use.state === 'unused' ? unused(because) : use
}

/** The use of a selector that matches no pod: a custom resource may create pods with these labels later. */
export function selectionUse(cluster: ClusterView, requirements: readonly Requirement[], because: string): Use {
  const wanted = requirements.flatMap(({ operator, values }) => (operator === 'In' ? values : []))
  const uses = (wanted.length > 0 ? wanted : ['']).map((value) => cluster.customUse(value))
  const [first] = uses
  return first && uses.every(({ state }) => state !== 'unused') ? first : unused(because)
}

/** `Deployment/web`, for evidence. */
export function kindAndName({ kind, metadata }: StoredObject): string {
  return `${kind}/${metadata.name}`
}

/** `namespace/name`: names are unique only within a namespace. */
export function namespacedName(namespace: string | undefined, name: string): string {
  return `${namespace ?? ''}/${name}`
}
