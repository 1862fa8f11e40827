import { createHash } from 'node:crypto'
import type { Client } from '../../client/client.ts'
import { BoundedMap } from '../../kube/basics/bounded-map.ts'
import { configMaps } from '../../kube/core-types.ts'
import { Serializer } from '../controller/serializer.ts'
import type { Clock } from '../time/clock.ts'
import { writeSettings } from './shared-settings.ts'

export interface HourlyLimitsOptions {
  readonly client: Client
  readonly clock: Clock
  /** The ConfigMap that keeps what is used, for the next start and for other replicas. */
  readonly place: { readonly namespace: string; readonly name: string }
}

/** What may happen so many times in an hour. */
export interface Limited {
  readonly key: string
  readonly perHour: number
}

const hourMs = 3_600_000
const rereadMs = 60_000
/** What is used less is not stored: forgetting it gives at most so much again. */
const minStored = 0.5

/** Counts by key what may happen so many times in an hour, across restarts. What is used is free again evenly over the hour. */
export class HourlyLimits {
  readonly #options: HourlyLimitsOptions
  /** By digest of the key: which part of its limit was used at that time. */
  readonly #used = new BoundedMap<string, { readonly part: number; readonly at: number }>(50_000)
  /** What the ConfigMap holds, by the same digests. */
  #stored: ReadonlySet<string> = new Set()
  readonly #turns = new Serializer()
  #readAt = -Infinity

  constructor(options: HourlyLimitsOptions) {
    this.#options = options
  }

  /** Counts one more of each, and answers undefined; or names the first that is used up, and counts none. Rejects when the use cannot be read or stored. */
  take<T extends Limited>(all: readonly T[]): Promise<T | undefined> {
    return this.#turns.run('', async () => {
      const now = this.#options.clock.now()
      if (now - this.#readAt >= rereadMs) await this.#read(now)
      const after = all.map(({ key, perHour }) => ({ id: digestOf(key), part: this.#partOf(key, now) + 1 / perHour }))
      const exceeded = all.find((_, index) => after[index]!.part > 1.000_001)
      if (exceeded) return exceeded
      const heavy = after.filter(({ part }) => part > minStored)
      // Stored first: whatever happens to this process, it is counted.
      if (heavy.length > 0) await this.#store(heavy, now)
      for (const { id, part } of after) this.#used.set(id, { part, at: now })
      return undefined
    })
  }

  #partOf(key: string, now: number): number {
    const used = this.#used.get(digestOf(key))
    return used ? Math.max(0, used.part - Math.max(0, now - used.at) / hourMs) : 0
  }

  async #read(now: number): Promise<void> {
    const { client, place } = this.#options
    const fieldSelector = `metadata.name=${place.name}`
    const { items } = await client.list(configMaps, { namespace: place.namespace, fieldSelector })
    const data = (items[0]?.data ?? {}) as Readonly<Record<string, string>>
    for (const [id, text] of Object.entries(data)) {
      const [part = Number.NaN, at = Number.NaN] = text.split(' ').map(Number)
      // Another replica may have used more, and this one more than it has stored.
      if (part >= 0 && at > (this.#used.get(id)?.at ?? 0)) this.#used.set(id, { part, at: Math.min(at, now) })
    }
    this.#stored = new Set(Object.keys(data))
    this.#readAt = now
  }

  async #store(heavy: readonly { readonly id: string; readonly part: number }[], now: number): Promise<void> {
    const { client, place } = this.#options
    const change: Record<string, string | null> = {}
    for (const id of this.#stored) if (now - (this.#used.get(id)?.at ?? 0) >= hourMs) change[id] = null
    for (const { id, part } of heavy) change[id] = `${part.toFixed(4)} ${now}`
    await writeSettings(client, place, change)
  }
}

/** Names and addresses of people are not stored as they are. */
function digestOf(key: string): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 24)
}
