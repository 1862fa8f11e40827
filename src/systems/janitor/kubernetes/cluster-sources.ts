import type { ResourceType, StoredObject } from '../../../kube/object.ts'
import { groupResource } from '../../../kube/object.ts'
import type { ClusterHandle } from '../../../runtime/clusters/clusters.ts'
import type { Informer } from '../../../runtime/cache/informer.ts'
import { InventoryError } from '../model/resource.ts'
import { isOurs } from './custom-references.ts'
import { kindAndName } from './references/detector.ts'
import { textsOf, writtenTextsOf, type MentionFinder } from './references/mentions.ts'

/** The caches of one cluster that policies need, opened when first asked for. */
export class ClusterSources {
  readonly handle: ClusterHandle
  /** By type, namespace and indexes; open until the sources are closed. */
  readonly #informers = new Map<string, Informer>()

  constructor(handle: ClusterHandle) {
    this.handle = handle
  }

  /** Everything of a type, in some namespaces or all. Throws InventoryError when that cannot be known for certain. */
  async list(
    type: ResourceType,
    namespaces: readonly string[] | undefined,
    signal: AbortSignal,
  ): Promise<readonly StoredObject[]> {
    const places = namespaces && type.namespaced ? namespaces : [undefined]
    const informers = places.map((namespace) => this.#open(type, namespace))
    await Promise.all(informers.map((informer) => current(informer, signal)))
    const [first] = informers
    return informers.length === 1 && first ? first.list() : informers.flatMap((informer) => informer.list())
  }

  /** Who mentions a text, among everything of a type. Follows each change; throws as `list` does. */
  async mentions(type: ResourceType, signal: AbortSignal): Promise<MentionFinder> {
    const informer = this.#open(type, undefined, { texts: isOurs(type) ? writtenTextsOf : textsOf })
    await current(informer, signal)
    return (text) => {
      // "Nobody mentions it" would be a lie.
      if (informer.closed) throw new InventoryError(`${groupResource(type)} are no longer followed`)
      const [by] = informer.byIndex('texts', text)
      return by && kindAndName(by)
    }
  }

  close(): void {
    for (const informer of this.#informers.values()) informer.close()
    this.#informers.clear()
    this.handle.close()
  }

  #open(type: ResourceType, namespace: string | undefined, indexes?: Record<string, typeof textsOf>): Informer {
    const key = `${groupResource(type)}/${type.version}/${namespace ?? ''}/${Object.keys(indexes ?? {}).join()}`
    const existing = this.#informers.get(key)
    if (existing) return existing
    const informer = this.handle.open(type, {
      ...(namespace === undefined ? {} : { namespace }),
      ...(indexes ? { indexes } : {}),
    })
    this.#informers.set(key, informer)
    return informer
  }
}

/** Waits until a cache has everything; one that cannot follow its cluster has nothing to say. */
async function current(informer: Informer, signal: AbortSignal): Promise<void> {
  if (!informer.synced && !informer.trouble) await syncedOrTroubled(informer, signal)
  if (informer.synced && !informer.trouble) return
  throw new InventoryError(
    `cannot list ${groupResource(informer.type)}: ${informer.trouble?.message ?? 'not listed yet'}`,
    {
      cause: informer.trouble,
    },
  )
}

async function syncedOrTroubled(informer: Informer, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const stop = informer.onTrouble((trouble) => trouble && resolve())
  try {
    await Promise.race([informer.whenSynced(signal), promise])
  } catch (error) {
    throw new InventoryError(`${groupResource(informer.type)} could not be listed in time`, { cause: error })
  } finally {
    stop()
  }
}
