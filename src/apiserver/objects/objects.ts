import { notFound, StatusError } from '../../kube/status-error.ts'
import type { Document } from '../store/document.ts'
import { writeWithAnswers, type AdmissionHook } from './contract/admission.ts'
import { decideCreate } from './write/create-object.ts'
import { decodeBody } from './write/decode-body.ts'
import { deleteCollection } from './delete/delete-collection.ts'
import { deleteTogether, type Together } from './delete/delete-together.ts'
import { deleteIfUnowned, deleteObject, type UnownedDelete } from './delete/delete-object.ts'
import { jsonValue } from './contract/json-value.ts'
import { Turns } from '../store/clock.ts'
import { listObjects, type ReadPorts } from './read/list-objects.ts'
import { namespaceLifecycle } from './admission/namespace-lifecycle.ts'
import { patchObject } from './write/patch-object.ts'
import { createPodSubresource } from './delete/pod-subresources.ts'
import { waitForRevision } from './read/wait-for-revision.ts'
import type { DeletionRecords } from './contract/deletion-record.ts'
import type {
  CreateRequest,
  DeleteCollectionRequest,
  DeleteRequest,
  DeleteResult,
  GetRequest,
  ListRequest,
  ListResult,
  PatchRequest,
  UpdateRequest,
  Watch,
  WatchRequest,
  WatchSink,
  WriteResult,
} from './contract/request.ts'
import { parseResourceVersion } from './contract/resource-version.ts'
import { scaleOf } from './read/scale.ts'
import { ServiceAddresses } from './admission/service-addresses.ts'
import { updateObject } from './write/update-object.ts'
import { WatchHub } from './watch/watch-hub.ts'
import { unstored, type WritePorts } from './contract/write-object.ts'
import { parseWriteOptions } from './contract/write-options.ts'

/** What the objects layer needs. */
export interface ObjectsOptions extends Pick<WritePorts, 'store' | 'kinds' | 'clock' | 'random' | 'uid'> {
  /** Admission hooks that run after the built-in ones. Defaults to none. */
  readonly admission?: readonly AdmissionHook[]
  /** Whether a delete of an object must wait for its dependents. Defaults to never. */
  readonly cascades?: WritePorts['cascades']
  /** How deletions are recorded. Defaults to not at all. */
  readonly deletionRecords?: DeletionRecords
  /** Whether new objects get managedFields. Defaults to true. */
  readonly tracksFields?: boolean
}

/** The verbs of the Kubernetes API on stored objects. `kinds` must already follow the same store. */
export class Objects implements Disposable {
  readonly #ports: WritePorts
  readonly #reads: ReadPorts
  readonly #hub: WatchHub
  readonly #stop: readonly (() => void)[]

  constructor(options: ObjectsOptions) {
    const { store, kinds, clock, random, uid, admission = [], tracksFields = true } = options
    const { cascades = () => false, deletionRecords } = options
    const addresses = new ServiceAddresses(store)
    const hooks: readonly AdmissionHook[] = [namespaceLifecycle, addresses, ...admission]
    const write = writeWithAnswers(store, () => hooks.some((hook) => hook.isAsking?.() ?? false))
    this.#ports = { store, write, kinds, clock, random, uid, hooks, cascades, deletionRecords, tracksFields }
    const turns = new Turns(clock)
    this.#reads = {
      store,
      clock: { after: (delayMs, callback) => clock.after(delayMs, callback), breathe: () => turns.next() },
    }
    this.#hub = new WatchHub({ ...this.#reads, random })
    const unsubscribe = kinds.subscribe((gone) => this.#hub.endAll((type) => gone.includes(type)))
    this.#stop = [unsubscribe, () => addresses.close(), () => this.#hub.close()]
  }

  /** The number of open watches. */
  get watches(): number {
    return this.#hub.size
  }

  async get({ type, namespace = '', name, subresource = '', resourceVersion }: GetRequest): Promise<Document> {
    const atLeast = parseResourceVersion(resourceVersion) ?? 0
    if (atLeast > this.#ports.store.revision) await waitForRevision(this.#ports, atLeast)
    const record = this.#ports.store.get({ resource: type.resource, namespace, name })
    if (!record) throw notFound(type, name)
    await this.#ports.store.whenDurable(record.document.revision)
    const document = type.serve(record.document)
    return subresource === 'scale' ? unstored(scaleOf(type, document.value)) : document
  }

  list(request: ListRequest): Promise<ListResult> {
    return listObjects(this.#reads, request)
  }

  watch(request: WatchRequest, sink: WatchSink): Watch {
    return this.#hub.open(request, sink)
  }

  async create(request: CreateRequest): Promise<WriteResult> {
    const { type, namespace = '', user, subresource } = request
    if (subresource) return createPodSubresource(this.#ports, withJsonBody(request))
    if (type.namespaced && namespace === '')
      throw new StatusError('BadRequest', 'an empty namespace may not be set during creation')
    const options = parseWriteOptions('CreateOptions', request)
    const { object, warnings } = decodeBody(type, withJsonBody(request), options)
    return this.#ports.write((view) =>
      decideCreate(this.#ports, view, { type, namespace, object, user, options, warnings }),
    )
  }

  update(request: UpdateRequest): Promise<WriteResult> {
    return updateObject(this.#ports, withJsonBody(request))
  }

  patch(request: PatchRequest): Promise<WriteResult> {
    return patchObject(this.#ports, withJsonBody(request))
  }

  delete(request: DeleteRequest): Promise<DeleteResult> {
    return deleteObject(this.#ports, withJsonBody(request))
  }

  /** Deletes a dependent for the collector, unless an owner keeps it: check and delete share one store transaction. */
  deleteIfUnowned(unowned: UnownedDelete): Promise<'gone' | 'leaving' | 'changed'> {
    return deleteIfUnowned(this.#ports, unowned)
  }

  /** Deletes several objects for a caller in this process, in one transaction. */
  deleteTogether<T>(work: (together: Together) => T): Promise<T> {
    return deleteTogether(this.#ports, work)
  }

  deleteCollection(request: DeleteCollectionRequest): Promise<ListResult> {
    return deleteCollection(this.#ports, withJsonBody(request))
  }

  close(): void {
    for (const stop of this.#stop) stop()
  }

  [Symbol.dispose](): void {
    this.close()
  }
}

/** Normalizes the body of a request to what JSON can express. */
function withJsonBody<T extends { readonly body?: unknown }>(request: T): T {
  const body = jsonValue(request.body)
  return body === request.body ? request : { ...request, body }
}
