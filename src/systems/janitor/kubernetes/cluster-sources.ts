import type { Client } from '../../../client/client.ts'
import { groupResource, type ResourceType, type StoredObject } from '../../../kube/object.ts'
import type { ClusterHandle } from '../../../runtime/clusters/clusters.ts'
import type { Informer } from '../../../runtime/cache/informer.ts'
import { InventoryError } from '../model/resource.ts'
import { isOurs } from './custom-references.ts'
import { kindAndName } from './references/detector.ts'
import { textsOf, writtenTextsOf, type MentionFinder } from './references/mentions.ts'

/** The informers of one cluster that policies need, opened on first use. */
export class ClusterSources {
  readonly handle: ClusterHandle
  /** By type, namespace and indexes; open until the sources are closed. */
  readonly #informers = new Map<string, Informer>()

  constructor(handle: ClusterHandle) {
    this.handle = handle
  }

  /** Throws InventoryError when the cluster cannot be reached. */
  get client(): Client {
    const { client, status, name } = this.handle
    if (client && status.state === 'reachable') return client
    const because = 'because' in status ? status.because : status.state
    throw new InventoryError(`cluster ${name || 'home'} cannot be reached: ${because}`)
  }

  /** Lists a type, in some namespaces or all. Throws InventoryError when the cache may be incomplete. */
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

  /** Lists what may be deleted, as `list` does. Where this process may follow only some namespaces, those are all there is to delete. */
  async candidates(
    type: ResourceType,
    namespaces: readonly string[] | undefined,
    signal: AbortSignal,
  ): Promise<readonly StoredObject[]> {
    if (namespaces) return this.list(type, namespaces, signal)
    const informer = this.#open(type, undefined)
    await listed(informer, signal)
    const followed = informer.namespaces ?? []
    if (followed.length === 0 || followed.some((namespace) => informer.errorIn(namespace)))
      return this.list(type, undefined, signal)
    await informer.whenSynced(signal)
    return informer.list()
  }

  /** Finds mentions among all objects of a type, from a live index. Throws as `list` does. */
  async mentions(type: ResourceType, signal: AbortSignal): Promise<MentionFinder> {
    const informer = this.#open(type, undefined, { texts: isOurs(type) ? writtenTextsOf : textsOf })
    await current(informer, signal)
    return (text) => {
      // A closed informer finds nothing, which must not read as "unused".
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

/** Waits until an informer has synced; throws when it cannot watch its cluster. */
async function current(informer: Informer, signal: AbortSignal): Promise<void> {
  await listed(informer, signal)
  if (informer.synced && !informer.lastError) return
  throw new InventoryError(
    `cannot list ${groupResource(informer.type)}: ${informer.lastError?.message ?? 'not listed yet'}`,
    {
      cause: informer.lastError,
    },
  )
}

async function listed(informer: Informer, signal: AbortSignal): Promise<void> {
  await informer.whenListed(signal).catch((cause: unknown) => {
    throw new InventoryError(`${groupResource(informer.type)} could not be listed in time`, { cause })
  })
}
