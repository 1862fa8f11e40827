import type { StoredObject } from '../../../kube/object.ts'
import type { Use } from '../resource.ts'
import type { WellKnown } from './well-known.ts'

/** One cluster at one time, as detectors see it. Reading what cannot be known throws. */
export interface World {
  list(kind: WellKnown): readonly StoredObject[]
  /** The use of an object that only a custom resource could still refer to. */
  customUse(name: string): Use
}

/** Finds out whether objects of a kind are in use. Each sort is one file; the lifecycle knows none of them. */
export interface Detector {
  /** `ConfigMap`, `Deployment.apps`. */
  readonly kinds: readonly string[]
  readonly needs: readonly WellKnown[]
  /** Looks at the cluster once, then answers for each object. */
  prepare(world: World): (object: StoredObject) => Use
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

/** `Deployment web`, for evidence. */
export function called({ kind, metadata }: StoredObject): string {
  return `${kind} ${metadata.name}`
}

/** `namespace/name`: names are unique only within a namespace. */
export function placeKey(namespace: string | undefined, name: string): string {
  return `${namespace ?? ''}/${name}`
}
