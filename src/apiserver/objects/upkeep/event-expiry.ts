import { chunks } from '../../../kube/basics/chunks.ts'
import type { StoredObject } from '../../../kube/object.ts'
import { ignoring } from '../../../kube/status-error.ts'
import { parseTime } from '../../../kube/time.ts'
import type { Document } from '../../store/document.ts'
import type { StoreEvent } from '../../store/store.ts'
import { systemUser } from '../contract/system-user.ts'
import type { UpkeepPorts } from './upkeep.ts'

const lifetimeMs = 60 * 60_000
const chunkSize = 500

/** Deletes Events an hour after they were last written. */
export class EventExpiry {
  readonly #ports: UpkeepPorts
  /** When each Event was last written, by `namespace/name`; oldest first. */
  readonly #writtenAt = new Map<string, number>()
  readonly #unsubscribe: () => void
  #isLoaded = false

  constructor(ports: UpkeepPorts) {
    this.#ports = ports
    this.#unsubscribe = ports.store.subscribe((events) => events.forEach((event) => this.#note(event)))
  }

  /** Deletes expired Events. */
  async run(): Promise<void> {
    if (!this.#isLoaded) await this.#load()
    const before = this.#ports.clock.now() - lifetimeMs
    for (const chunk of chunks(this.#due(before), chunkSize)) await Promise.all(chunk.map((key) => this.#remove(key)))
  }

  close(): void {
    this.#unsubscribe()
  }

  #due(before: number): readonly string[] {
    const due: string[] = []
    for (const [key, at] of this.#writtenAt) {
      if (at > before) break
      due.push(key)
    }
    return due
  }

  async #remove(key: string): Promise<void> {
    const [namespace = '', name = ''] = key.split('/')
    const type = this.#ports.kinds.ofResource('events')
    if (!type) return
    await this.#ports.objects.delete({ type, namespace, name, user: systemUser }).catch(ignoring('NotFound'))
    this.#writtenAt.delete(key)
  }

  #note({ resource, namespace, name, type }: StoreEvent): void {
    if (resource !== 'events') return
    const key = `${namespace}/${name}`
    this.#writtenAt.delete(key)
    if (type !== 'delete') this.#writtenAt.set(key, this.#ports.clock.now())
  }

  /** Reads the Events written before this process started; their own timestamps say when. */
  async #load(): Promise<void> {
    this.#isLoaded = true
    const { store, clock } = this.#ports
    const found: [string, number][] = []
    for (let after: { namespace: string; name: string } | undefined; ;) {
      const records = store.scan({ resource: 'events', limit: chunkSize, ...(after ? { after } : {}) })
      for (const { namespace, name, document } of records) found.push([`${namespace}/${name}`, lastWritten(document)])
      after = records.at(-1)
      if (records.length < chunkSize) break
      await clock.breathe()
    }
    const before = found.filter(([key]) => !this.#writtenAt.has(key)).sort((left, right) => left[1] - right[1])
    const all = [...before, ...this.#writtenAt]
    this.#writtenAt.clear()
    for (const [key, at] of all) this.#writtenAt.set(key, at)
  }
}

function lastWritten({ value }: Document): number {
  const { lastTimestamp, eventTime, series } = value as StoredObject & {
    readonly lastTimestamp?: string | null
    readonly eventTime?: string | null
    readonly series?: { readonly lastObservedTime?: string }
  }
  const times = [value.metadata.creationTimestamp, lastTimestamp, eventTime, series?.lastObservedTime]
  return Math.max(...times.map((time) => parseTime(time ?? undefined) ?? 0))
}
