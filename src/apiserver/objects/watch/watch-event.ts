import { apiVersionOf, type StoredObject } from '../../../kube/object.ts'
import type { StatusError } from '../../../kube/status-error.ts'
import type { ServedKind } from '../../kinds/contract/served-kind.ts'
import { Document } from '../../store/document.ts'
import type { StoreEvent } from '../../store/store.ts'
import type { WatchEventText } from '../contract/request.ts'
import type { Filter } from '../read/selection.ts'

/** A store event as watches of one version see it. Each form is serialized once and shared by all watches. */
export class ServedEvent {
  readonly event: StoreEvent
  readonly #type: ServedKind
  readonly #texts = new Map<string, WatchEventText>()
  #current: Document | undefined
  #previous: Document | undefined

  constructor(event: StoreEvent, type: ServedKind) {
    this.event = event
    this.#type = type
  }

  get revision(): number {
    return this.event.document.revision
  }

  /** The event for a watch with this filter, or undefined. An object that stops matching is reported as DELETED. */
  textFor(filter: Filter, namespace: string | undefined): WatchEventText | undefined {
    if (namespace !== undefined && namespace !== this.event.namespace) return undefined
    if (filter.onlyName !== undefined && filter.onlyName !== this.event.name) return undefined
    const { type, previous } = this.event
    if (filter.selectsAll)
      return type === 'create' ? this.#added() : type === 'update' ? this.#modified() : this.#deleted()
    const before = previous !== undefined && filter.accepts(this.#servedPrevious(previous))
    if (type === 'delete') return before ? this.#deleted() : undefined
    const now = filter.accepts(this.#served())
    if (now) return before ? this.#modified() : this.#added()
    return before && previous ? this.#filteredOut(previous) : undefined
  }

  #added(): WatchEventText {
    return this.#text('ADDED', () => this.#served())
  }

  #modified(): WatchEventText {
    return this.#text('MODIFIED', () => this.#served())
  }

  #deleted(): WatchEventText {
    return this.#text('DELETED', () => this.#served())
  }

  /** DELETED with the last state that matched, at the resourceVersion of the change. */
  #filteredOut(previous: Document): WatchEventText {
    return this.#text('DELETED', () => withRevision(this.#servedPrevious(previous), this.revision))
  }

  #text(type: 'ADDED' | 'MODIFIED' | 'DELETED', document: () => Document): WatchEventText {
    const known = this.#texts.get(type)
    if (known) return known
    const text = eventText(type, document())
    this.#texts.set(type, text)
    return text
  }

  #served(): Document {
    return (this.#current ??= this.#type.serve(this.event.document))
  }

  #servedPrevious(previous: Document): Document {
    return (this.#previous ??= this.#type.serve(previous))
  }
}

/** An event with its serialized line, which is built on first use: watches in the same process never need it. */
export function eventText(type: WatchEventText['type'], document: Document): WatchEventText {
  let line: Buffer | undefined
  return {
    type,
    document,
    get line() {
      return (line ??= Buffer.from(`{"type":"${type}","object":${document.text}}\n`))
    },
  }
}

/** A BOOKMARK event; `isInitialEnd` marks the end of the initial state. */
export function bookmark(type: ServedKind, revision: number, isInitialEnd = false): WatchEventText {
  const { kind } = type
  const annotations = isInitialEnd ? { annotations: { 'k8s.io/initial-events-end': 'true' } } : {}
  const metadata = { resourceVersion: String(revision), ...annotations }
  const text = JSON.stringify({ kind, apiVersion: apiVersionOf(type), metadata })
  return eventText('BOOKMARK', new Document(revision, text))
}

/** The ERROR event that ends a failed watch. */
export function failureEvent(error: StatusError): WatchEventText {
  return eventText('ERROR', new Document(0, JSON.stringify(error.toStatus())))
}

function withRevision(document: Document, revision: number): Document {
  const { metadata, ...rest } = document.value
  const { apiVersion, kind, ...fields } = rest
  const object: StoredObject = {
    apiVersion,
    kind,
    metadata: { ...metadata, resourceVersion: String(revision) },
    ...fields,
  }
  return new Document(revision, JSON.stringify(object), object)
}
