import { parseApiVersion, type KubeObject, type StoredObject } from '../../kube/object.ts'
import { ignoring } from '../../kube/status-error.ts'
import type { ServiceAccountTokens } from '../auth/service-account-tokens.ts'
import type { Kinds } from '../kinds/kinds.ts'
import type { User } from '../objects/contract/request.ts'
import { KeyedLoop } from '../objects/upkeep/keyed-loop.ts'
import type { UpkeepPorts } from '../objects/upkeep/upkeep.ts'
import { systemUser } from '../objects/contract/system-user.ts'
import type { ServedKind } from '../kinds/contract/served-kind.ts'

/** What the server's own controllers need. */
export interface LifecyclePorts extends Pick<UpkeepPorts, 'store' | 'objects' | 'kinds' | 'clock'> {
  /** PEM of the CA that every namespace gets in a ConfigMap. */
  readonly authority: string
  /** Signs the tokens of ServiceAccounts. */
  readonly tokens: ServiceAccountTokens
  /** Runs before the contents of a namespace are deleted; a rejection postpones that. */
  beforeEmptying(namespace: StoredObject): Promise<void>
  /** Called with errors that are retried. */
  onError(error: unknown, controller: string, key: string): void
}

/** A controller that runs until it is closed. */
export interface LifecycleController {
  readonly close: () => Promise<void>
}

/** Runs a controller until it is closed: `reconcile` is called for the keys that `follow` adds, one at a time. */
export function runController(
  ports: LifecyclePorts,
  name: string,
  does: { reconcile(key: string): Promise<void>; follow(add: (key: string) => void): () => void },
): LifecycleController {
  const onError = (error: unknown, key: string) => ports.onError(error, name, key)
  const loop = new KeyedLoop({ clock: ports.clock, work: (key) => does.reconcile(key), onError })
  const unfollow = does.follow((key) => loop.add(key))
  return {
    close: () => {
      unfollow()
      return loop.close()
    },
  }
}

/** Creates an object, or gives an existing one these fields. A patch that changes nothing writes nothing, and so makes no event. */
export async function ensureObject({ objects, kinds }: LifecyclePorts, body: KubeObject): Promise<void> {
  const { name = '', namespace = '' } = body.metadata
  const type = kinds.ofKind({ ...parseApiVersion(body.apiVersion), kind: body.kind })
  if (!type) throw new Error(`${body.kind} is not served`)
  const request = { type, namespace, ...asSystem, body }
  const found = await objects
    .patch({ ...request, name, patchType: 'merge' })
    .catch(ignoring('NotFound', 'Conflict', 'Forbidden'))
  // Forbidden: the namespace is terminating. NotFound: it has been deleted.
  if (!found) await objects.create(request).catch(ignoring('AlreadyExists', 'Forbidden', 'NotFound'))
}

/** The identity of the server's own controllers. */
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
