import type { Client } from '../client/client.ts'
import { groupResource, type ResourceType, type Place } from '../kube/object.ts'
import { isStatusError } from '../kube/status-error.ts'

/** Reads with a caller's rights. Kinds that the caller may not read are remembered, so that they are not taken for empty. */
export class Reader {
  readonly client: Client
  readonly #unread = new Set<string>()
  readonly #peeked = new Map<string, Promise<unknown>>()

  constructor(client: Client) {
    this.client = client
  }

  /** Kinds that were refused so far, as `bonds.sojourn.dev`. */
  get unread(): readonly string[] {
    return [...this.#unread]
  }

  /** All of a kind, or those in a namespace. A kind that is not served has none. */
  async list<T>(
    type: ResourceType,
    options: { readonly namespace?: string | undefined; readonly labelSelector?: string } = {},
  ): Promise<readonly T[]> {
    const { namespace, ...rest } = options
    const where = namespace && type.namespaced ? { namespace } : {}
    const found = await this.#tolerating(type, () => this.client.list<T>(type, { ...rest, ...where }))
    return found?.items ?? []
  }

  /** One object; undefined when it is not there, or may not be read. */
  get<T>(type: ResourceType, place: Place, options: { readonly subresource?: string } = {}): Promise<T | undefined> {
    return this.#tolerating(type, () => this.client.get<T>(type, place, options))
  }

  /** The same, once for many questions about one object. */
  peek<T>(type: ResourceType, place: Place): Promise<T | undefined> {
    const key = `${groupResource(type)}/${place.namespace ?? ''}/${place.name}`
    return this.#peeked.getOrInsertComputed(key, () => this.get<T>(type, place)) as Promise<T | undefined>
  }

  async #tolerating<T>(type: ResourceType, read: () => Promise<T>): Promise<T | undefined> {
    try {
      return await read()
    } catch (error) {
      if (isStatusError(error, 'Forbidden')) this.#unread.add(groupResource(type))
      else if (!isStatusError(error, 'NotFound')) throw error
      return undefined
    }
  }
}
