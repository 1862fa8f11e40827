import type { Client } from '../../client/client.ts'
import { groupResource, type ResourceType, type StoredObject } from '../../kube/object.ts'
import { isStatusError } from '../../kube/status-error.ts'
import { isOurs } from '../../systems/janitor/kubernetes/custom-references.ts'
import type { UseSource } from '../../systems/janitor/kubernetes/detection.ts'
import { mentionsIn } from '../../systems/janitor/kubernetes/references/mentions.ts'
import { InventoryError } from '../../systems/janitor/model/resource.ts'

/** The lists that detectors need, each read once and with the caller's rights. Nothing is watched. */
export class UseLists implements UseSource {
  readonly client: Client
  readonly mode = 'Scan'
  readonly #signal: AbortSignal | undefined
  /** By `plural.group`. A failed list stays failed: all verdicts rest on the same lists. */
  readonly #lists = new Map<string, Promise<readonly StoredObject[]>>()

  constructor(client: Client, signal?: AbortSignal) {
    this.client = client
    this.#signal = signal
  }

  /** The same lists, where custom resources count differently. */
  withMode(mode: UseSource['mode']): UseSource {
    return { client: this.client, mode, list: this.list, mentions: this.mentions }
  }

  readonly list = (type: ResourceType): Promise<readonly StoredObject[]> => {
    const key = groupResource(type)
    const known = this.#lists.get(key)
    if (known) return known
    const reading = this.#read(type).catch((error: unknown) => {
      if (isStatusError(error, 'Forbidden')) throw new InventoryError(`you may not list ${key}`, { cause: error })
      throw new InventoryError(`cannot list ${key}: ${(error as Error).message}`, { cause: error })
    })
    // Every reader of the list sees the failure; without a reader it must not end the process.
    reading.catch(() => undefined)
    this.#lists.set(key, reading)
    return reading
  }

  readonly mentions: UseSource['mentions'] = async (type) => {
    const objects = await this.list(type)
    // A name in a status that Sojourn itself wrote is no use.
    return mentionsIn(isOurs(type) ? objects.map(({ status: _, ...written }) => written) : objects)
  }

  /** Everything that was read so far. */
  async everything(): Promise<readonly StoredObject[]> {
    const lists = await Promise.all([...this.#lists.values()].map((list) => list.catch(() => [])))
    return lists.flat()
  }

  async #read(type: ResourceType): Promise<readonly StoredObject[]> {
    const objects: StoredObject[] = []
    const apiVersion = type.group ? `${type.group}/${type.version}` : type.version
    const options = this.#signal ? { signal: this.#signal } : {}
    for await (const { items } of this.client.listAll(type, options))
      // Managed fields are half of a small object, and no detector reads them.
      for (const {
        metadata: { managedFields: _, ...metadata },
        ...rest
      } of items)
        objects.push({ ...rest, apiVersion, kind: type.kind, metadata } as StoredObject)
    return objects
  }
}
