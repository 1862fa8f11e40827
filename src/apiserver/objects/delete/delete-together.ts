import { keyOf } from '../../store/record-cache.ts'
import { kindOf, type KubeObject, type StoredObject } from '../../../kube/object.ts'
import { isStatusError, StatusError } from '../../../kube/status-error.ts'
import type { ServedKind } from '../../kinds/contract/served-kind.ts'
import type { Address, Change, View } from '../../store/store.ts'
import { requireNamespace } from '../admission/namespace-lifecycle.ts'
import { Question } from '../contract/admission.ts'
import type { NamedRequest } from '../contract/request.ts'
import { isTerminating } from '../contract/terminating.ts'
import type { WritePorts } from '../contract/write-object.ts'
import { putRecord } from '../ending/store-deletion-record.ts'
import { decideDelete } from './delete-object.ts'

/** Runs work that deletes several objects and records them, in one transaction. The work must be free of side effects. */
export function deleteTogether<T>(ports: WritePorts, work: (together: Together) => T): Promise<T> {
  return ports.write((view) => {
    const together = new Together(ports, view)
    return { answer: work(together), changes: together.changes }
  })
}

/** One transaction with several deletes. Reads see the deletes before them. */
export class Together {
  readonly changes: Change[] = []
  readonly #ports: WritePorts
  readonly #view: View
  /** Addresses that this transaction has deleted. */
  readonly #gone = new Set<string>()

  constructor(ports: WritePorts, view: View) {
    this.#ports = ports
    this.#view = view
  }

  read(type: ServedKind, place: { readonly namespace?: string; readonly name: string }): StoredObject | undefined {
    const record = this.#get({ resource: type.resource, namespace: place.namespace ?? '', name: place.name })
    return record && type.serve(record.document).value
  }

  /** Runs a step. Nothing of it happens if it answers false, or if the server refuses one of its deletes. */
  attempt(step: () => boolean): boolean {
    const before = this.changes.length
    try {
      if (step()) return true
    } catch (error) {
      // What a webhook has to be asked about is deleted on its own.
      if (!isStatusError(error) && !(error instanceof Question)) throw error
    }
    for (const change of this.changes.splice(before)) this.#gone.delete(keyOf(change))
    return false
  }

  /** Deletes this version of an object for good. False where more than that would happen: something holds it, or its dependents need a record of it. */
  remove(request: NamedRequest, version: { readonly uid: string; readonly resourceVersion: string }): boolean {
    const { changes } = decideDelete(this.#ports, this.#now(), { request, options: { ...inBackground, ...version } })
    // A record, or the mark of something that waits, would be the first change.
    const [change] = changes
    if (change?.type !== 'delete') return false
    this.changes.push(change)
    this.#gone.add(keyOf(change))
    return true
  }

  /** Stores an object of the application, without admission. */
  put(object: KubeObject): void {
    const { namespace = '', name = '' } = object.metadata
    const type = this.#ports.kinds.ofKind(kindOf(object))
    const view = this.#now()
    if (!type || isTerminating(type, view)) throw new StatusError('NotFound', `${object.kind} is not served`)
    requireNamespace({ type, namespace, name, view })
    this.changes.push(putRecord(this.#ports, view, { type, object }))
  }

  #now(): View {
    const nextRevision = this.#view.nextRevision + this.changes.length
    return { ...this.#view, nextRevision, get: (address) => this.#get(address) }
  }

  #get(address: Address) {
    return this.#gone.has(keyOf(address)) ? undefined : this.#view.get(address)
  }
}

const inBackground = {
  graceSeconds: undefined,
  propagation: 'Background',
  isLegacy: false,
  isDryRun: false,
  cascadeRecord: undefined,
} as const
