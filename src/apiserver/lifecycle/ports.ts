import type { StoredObject } from '../../kube/object.ts'
import type { Kinds } from '../kinds/kinds.ts'
import type { Objects } from '../objects/objects.ts'
import type { User } from '../objects/contract/request.ts'
import { systemUser } from '../objects/contract/system-user.ts'
import type { Clock } from '../store/clock.ts'
import type { Store } from '../store/store.ts'
import type { ServedKind } from '../kinds/contract/served-kind.ts'

/** What the server's own controllers work with. */
export interface LifecyclePorts {
  readonly store: Store
  readonly objects: Objects
  readonly kinds: Kinds
  readonly clock: Clock
  /** PEM of the authority that every namespace is told about. */
  readonly authority: string
  /** Asked before a namespace is emptied. */
  beforeEmptying(namespace: StoredObject): Promise<void>
  /** Told of failures that are tried again. */
  onError(error: unknown, controller: string, key: string): void
}

/** A controller that runs until it is closed. */
export interface LifecycleController {
  close(): Promise<void>
}

/** As whom the server's own controllers act. */
export const asSystem: { readonly user: User; readonly fieldManager: string } = {
  user: systemUser,
  fieldManager: 'kube-apiserver',
}

/** A built-in kind, which is always served. */
export function builtin(kinds: Kinds, group: string, plural: string): ServedKind {
  const found = kinds.find({ group, version: 'v1', plural })
  if (!found) throw new Error(`${plural}.${group} is not served`)
  return found
}
