import type { StoredObject } from '../../../kube/object.ts'
import { parseTime } from '../../../kube/time.ts'
import { used, type Resource, type Use } from '../model/resource.ts'
import { trackedBy } from './references/known-consumers.ts'

/** A Kubernetes object as a resource. Properties are computed on demand, because policies list very many objects. */
export class KubeResource implements Resource {
  readonly provider = 'kubernetes'
  readonly object: StoredObject
  readonly cluster: string
  readonly #includeOwned: boolean
  readonly #detect: (object: StoredObject) => Use
  #use: Use | undefined

  constructor(
    object: StoredObject,
    options: {
      readonly cluster: string
      readonly includeOwned: boolean
      readonly detect: (object: StoredObject) => Use
    },
  ) {
    this.object = object
    this.cluster = options.cluster
    this.#includeOwned = options.includeOwned
    this.#detect = options.detect
  }

  get kind(): string {
    return this.object.kind
  }

  get apiVersion(): string {
    return this.object.apiVersion
  }

  get namespace(): string | undefined {
    return this.object.metadata.namespace
  }

  get name(): string {
    return this.object.metadata.name
  }

  get uid(): string {
    return this.object.metadata.uid
  }

  get resourceVersion(): string {
    return this.object.metadata.resourceVersion
  }

  get createdAt(): number | undefined {
    return createdAtOf(this.object)
  }

  get labels(): Readonly<Record<string, string>> {
    return this.object.metadata.labels ?? none
  }

  get tags(): Readonly<Record<string, string>> {
    const { labels, annotations } = this.object.metadata
    if (!labels || !annotations) return labels ?? annotations ?? none
    return { ...labels, ...annotations }
  }

  get use(): Use {
    if (this.#use) return this.#use
    const tracker = trackedBy(this.object)
    return (this.#use = tracker === undefined ? this.#detect(this.object) : used(tracker))
  }

  get group(): string | undefined {
    const labels = this.labels
    return labels['app.kubernetes.io/instance'] ?? labels.app
  }

  get shield(): Resource['shield'] {
    const owner = this.object.metadata.ownerReferences?.[0]
    return owner && !this.#includeOwned ? { because: 'owned', detail: `${owner.kind} ${owner.name}` } : undefined
  }
}

const none: Readonly<Record<string, string>> = {}

/** Cached, because every cycle asks for the age of every object. */
const creationTimes = new WeakMap<StoredObject, number>()

function createdAtOf(object: StoredObject): number | undefined {
  const known = creationTimes.get(object)
  if (known !== undefined) return known
  const at = parseTime(object.metadata.creationTimestamp)
  if (at !== undefined) creationTimes.set(object, at)
  return at
}
