import type { Client } from '../client/client.ts'
import type { ResourceType, StoredObject } from '../kube/object.ts'
import type { Clock } from './clock.ts'
import type { Informer, InformerOptions } from './informer.ts'
import type { Logger } from './log.ts'
import type { Metrics } from './metrics.ts'
import type { Random } from './random.ts'

export interface InformersPorts {
  readonly clock: Clock
  /** Defaults to the machine's. */
  readonly random?: Random
  /** Defaults to silence. */
  readonly log?: Logger
  readonly metrics?: Metrics
}

export interface InformersOptions {
  /** Deep-freeze what is cached, so that a reader who writes is found out. For tests. Defaults to false. */
  readonly freeze?: boolean
  /** How long a cache outlives its last use. Defaults to 0. */
  readonly lingerMs?: number
}

/** Every cache of the process: one per cluster, type and selection, however many use it. */
export declare class Informers {
  constructor(ports: InformersPorts, options?: InformersOptions)
  /** One more use of the cache of these objects, which starts with the first. */
  open<T extends StoredObject = StoredObject>(
    client: Client,
    type: ResourceType,
    options?: InformerOptions<T>,
  ): Informer<T>
  /** Lists everything of a cluster anew, for instance because it is reached by another way. */
  relist(cluster: string): void
  /** Ends every cache. */
  close(): void
  [Symbol.asyncDispose](): Promise<void>
}
