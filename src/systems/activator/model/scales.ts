import type { Client } from '../../../client/client.ts'
import { keyOf, keyToString, type Key } from '../../../kube/key.ts'
import { refOf, type ResourceType, type StoredObject, placeOf } from '../../../kube/object.ts'
import { powerKindOf } from './power-kinds.ts'

/** An object's scale, whatever its own shape. */
export interface Scale extends StoredObject {
  readonly spec?: { readonly replicas?: number }
}

interface Known {
  readonly uid: string
  readonly generation: number | undefined
  readonly replicas: number
}

/**
 * How many replicas objects ask for. Where the object itself does not say, its scale
 * subresource is read, once for each generation.
 */
export class Scales {
  readonly #client: Client
  readonly #onRead: (key: Key) => void
  readonly #known = new Map<string, Known>()
  readonly #reading = new Set<string>()

  constructor(client: Client, onRead: (key: Key) => void) {
    this.#client = client
    this.#onRead = onRead
  }

  /** Undefined while it has to be read; `onRead` tells when that has been done. */
  of(type: ResourceType, object: StoredObject): number | undefined {
    const kind = powerKindOf(type)
    if (kind) return kind.replicas(object)
    const known = this.#known.get(idOf(object))
    if (known && isOf(known, object)) return known.replicas
    void this.#read(type, object)
    return undefined
  }

  /** As it was when last read, though the object may have changed since. */
  lastOf(type: ResourceType, object: StoredObject): number | undefined {
    return this.of(type, object) ?? this.#known.get(idOf(object))?.replicas
  }

  async #read(type: ResourceType, object: StoredObject): Promise<void> {
    const id = idOf(object)
    if (this.#reading.has(id)) return
    this.#reading.add(id)
    const { namespace, name, uid, generation } = object.metadata
    try {
      const place = placeOf({ name, namespace })
      const scale = await this.#client.get<Scale>(type, place, { subresource: 'scale' })
      if (scale.metadata.uid === uid) this.#known.set(id, { uid, generation, replicas: scale.spec?.replicas ?? 0 })
    } catch {
      // The replicas stay unknown; the reconciler asks again after a while.
      return
    } finally {
      this.#reading.delete(id)
    }
    this.#onRead(keyOf(refOf(object)))
  }
}

function isOf({ uid, generation }: Known, { metadata }: StoredObject): boolean {
  return uid === metadata.uid && generation === metadata.generation
}

/** One string per object. */
export function idOf(object: StoredObject): string {
  return keyToString(keyOf(refOf(object)))
}
