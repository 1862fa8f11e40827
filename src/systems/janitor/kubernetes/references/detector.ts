import type { StoredObject } from '../../../../kube/object.ts'
import type { Requirement } from '../../../../kube/selector.ts'
import type { Use } from '../../model/resource.ts'
import type { ReferrerKind } from './referrer-types.ts'

/** One cluster at one time, as detectors see it. Reading what cannot be known throws. */
export interface ClusterView {
  list(kind: ReferrerKind): readonly StoredObject[]
  /** The use of an object that only a custom resource could still refer to. */
  customUse(name: string): Use
  /** The use of a namespace in which nothing but custom resources could be; only for detectors that look inside. */
  customUseIn(namespace: string): Use
}

/** Finds out whether objects of a kind are in use. Each sort is one file; the lifecycle knows none of them. */
export interface Detector {
  /** `ConfigMap`, `Deployment.apps`. */
  readonly kinds: readonly string[]
  readonly needs: readonly ReferrerKind[]
  /** Asks what custom resources there are in a namespace. Defaults to false. */
  readonly looksInside?: boolean
  /** Looks at the cluster once, then answers for each object. */
  prepare(cluster: ClusterView): (object: StoredObject) => Use
}

export function used(by: string): Use {
  return { state: 'used', by }
}

export function unused(because: string, since?: number): Use {
  return { state: 'unused', because, ...(since === undefined ? {} : { since }) }
}

export function unknownUse(because: string): Use {
  return { state: 'unknown', because }
}

/** The use that only custom resources could still make of something; if they make none, it is unused for this reason. */
export function unlessCustomUse(use: Use, because: string): Use {
  return use.state === 'unused' ? unused(because) : use
}

/** The use of what selects pods and finds none: a custom resource may stand for pods that have these labels. */
export function selectionUse(cluster: ClusterView, requirements: readonly Requirement[], because: string): Use {
  const wanted = requirements.flatMap(({ operator, values }) => (operator === 'In' ? values : []))
  const uses = (wanted.length > 0 ? wanted : ['']).map((value) => cluster.customUse(value))
  const [first] = uses
  return first && uses.every(({ state }) => state !== 'unused') ? first : unused(because)
}

/** `Deployment web`, for evidence. */
export function kindAndName({ kind, metadata }: StoredObject): string {
  return `${kind} ${metadata.name}`
}

/** `namespace/name`: names are unique only within a namespace. */
export function namespacedName(namespace: string | undefined, name: string): string {
  return `${namespace ?? ''}/${name}`
}
