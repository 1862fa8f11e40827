import { podAdmission } from '../../src/admission/registered/kubernetes-admission.ts'
import type { StoredObject } from '../../src/kube/object.ts'
import type { WatchEvent } from '../../src/kube/transport.ts'
import { Kinds } from '../../src/apiserver/kinds/kinds.ts'
import type { ServedKind } from '../../src/apiserver/kinds/contract/served-kind.ts'
import { openMemoryStore } from '../../src/apiserver/store/sqlite-store.ts'
import type { Store } from '../../src/apiserver/store/store.ts'
import { SetClock } from './test-stores.ts'
import { Objects, type ObjectsOptions } from '../../src/apiserver/objects/objects.ts'
import type {
  DeleteQuery,
  ListRequest,
  User,
  WatchEventText,
  WatchRequest,
  WriteQuery,
} from '../../src/apiserver/objects/contract/request.ts'

type Fields = Readonly<Record<string, unknown>>

export const someone: User = { name: 'someone', groups: ['system:masters'] }

/** The objects layer on a store of its own, with short words for what tests do with it. */
export class TestObjects {
  readonly clock = new SetClock()
  readonly store: Store
  readonly kinds: Kinds
  readonly objects: Objects

  constructor(options: Partial<ObjectsOptions> = {}) {
    let uids = 0
    let seed = 42
    this.store = options.store ?? openMemoryStore(this.clock)
    this.kinds = new Kinds({ clock: this.clock })
    this.kinds.follow(this.store)
    this.objects = new Objects({
      store: this.store,
      kinds: this.kinds,
      clock: this.clock,
      random: () => (seed = (seed * 16807) % 2147483647) / 2147483647,
      uid: () => `00000000-0000-4000-8000-${String(++uids).padStart(12, '0')}`,
      ...options,
      admission: [...podAdmission, ...(options.admission ?? [])],
    })
  }

  /** The served kind behind `v1/pods`, `apps/v1/deployments`. */
  type(path: string): ServedKind {
    const [plural = '', version = '', group = ''] = path.split('/').reverse()
    const type = this.kinds.find({ group, version, plural })
    if (!type) throw new Error(`${path} is not served`)
    return type
  }

  at(path: string, name: string, namespace = 'default') {
    const type = this.type(path)
    return { type, name, user: someone, ...(type.namespaced ? { namespace } : {}) }
  }

  async create(path: string, body: Fields, options: WriteQuery & { namespace?: string } = {}): Promise<StoredObject> {
    const type = this.type(path)
    const { namespace = 'default', ...rest } = options
    const place = type.namespaced ? { namespace } : {}
    const { document } = await this.objects.create({ type, user: someone, ...place, body, ...rest })
    return document.object
  }

  async get(path: string, name: string, namespace?: string): Promise<StoredObject> {
    return (await this.objects.get(this.at(path, name, namespace))).object
  }

  async update(
    path: string,
    body: StoredObject,
    options: WriteQuery & { subresource?: string } = {},
  ): Promise<StoredObject> {
    const at = this.at(path, body.metadata.name, body.metadata.namespace)
    return (await this.objects.update({ ...at, body, ...options })).document.object
  }

  async merge(path: string, name: string, body: Fields, options: { subresource?: string } = {}): Promise<StoredObject> {
    const request = { ...this.at(path, name), patchType: 'merge' as const, body, ...options }
    return (await this.objects.patch(request)).document.object
  }

  async apply(path: string, body: Fields & { metadata: { name: string } }, fieldManager: string, force = false) {
    const request = { ...this.at(path, body.metadata.name), patchType: 'apply' as const, body, fieldManager, force }
    return this.objects.patch(request)
  }

  async delete(path: string, name: string, options: { body?: unknown; query?: DeleteQuery } = {}) {
    return this.objects.delete({ ...this.at(path, name), ...options })
  }

  async list(path: string, options: Partial<ListRequest> = {}) {
    const { metadata, items } = await this.objects.list({ type: this.type(path), user: someone, ...options })
    const found: StoredObject[] = []
    for await (const chunk of items) found.push(...chunk.map(({ object }) => object))
    return { metadata, items: found, names: found.map((object) => object.metadata.name) }
  }

  /** Opens a watch and notes all that it hears. */
  watch(path: string, options: Partial<WatchRequest> = {}): RecordingSink {
    const heard = new RecordingSink()
    heard.watch = this.objects.watch({ type: this.type(path), user: someone, ...options }, heard)
    return heard
  }

  /** Lets everything that is under way come to rest. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < 5; turn++) await this.clock.breathe()
  }

  async close(): Promise<void> {
    this.objects.close()
    await this.store.close()
  }
}

/** A sink that keeps everything, and can be full. */
export class RecordingSink {
  readonly events: WatchEvent<StoredObject>[] = []
  readonly lines: string[] = []
  isFull = false
  hasEnded = false
  watch: { resume(): void; close(): void } = { resume() {}, close() {} }

  deliver(events: readonly WatchEventText[]): boolean {
    for (const { type, document, line } of events) {
      this.events.push({ type, object: document.object })
      this.lines.push(line.toString())
    }
    return !this.isFull
  }

  end(): void {
    this.hasEnded = true
  }

  /** `ADDED one`, in order. */
  get story(): readonly string[] {
    return this.events.map(({ type, object }) => `${type} ${object.metadata.name ?? ''}`.trim())
  }
}

/** A world with the namespace `default` in it. */
export async function openTestObjects(options: Partial<ObjectsOptions> = {}): Promise<TestObjects> {
  const world = new TestObjects(options)
  await world.create('v1/namespaces', { metadata: { name: 'default' } })
  return world
}
