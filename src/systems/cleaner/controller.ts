import { DepartTogether, type Transact } from '../../departures/door/depart-together.ts'
import { transactOverApi } from '../../departures/door/transact-over-api.ts'
import type { SystemPorts } from '../../departures/door/door.ts'
import { sojournGroup } from '../../apis/group.ts'
import { customResourceDefinitions } from '../../kube/core-types.ts'
import { keyOf, keyToString, type Key } from '../../kube/key.ts'
import type { ResourceType, StoredObject } from '../../kube/object.ts'
import { parseLongDuration, parseTime } from '../../kube/time.ts'
import { Controller } from '../../runtime/controller/controller.ts'
import type { Informer } from '../../runtime/cache/informer.ts'
import type { Informers } from '../../runtime/cache/informers.ts'
import type { Http } from '../../runtime/http/http.ts'
import { settled, type Outcome } from '../../runtime/controller/outcome.ts'
import type { ActsFor } from '../../tenancy/act-as.ts'
import { commit, deleteSelf, report } from './act.ts'
import { sendEvent } from './outbox.ts'
import { decide, type Decision, type Observed } from './decision/decide.ts'
import { readModel } from './decision/read-model.ts'
import { isCommitted } from './decision/recorded-decision.ts'
import { planTogether } from './expire-together.ts'
import { Finalizers } from './finalizers.ts'
import { isHeld } from './status.ts'
import { observeCached, observeLive } from './observe.ts'
import { actorOf, type CleanerPorts, type Notices } from './ports.ts'
import { TargetWatches } from './target-watches.ts'
import { tell } from './tell.ts'

export interface CleanerOptions extends SystemPorts {
  /** How it acts for the Cleaners' authors. */
  readonly actAs: ActsFor
  /** Cleaner or ConditionalTTL: one controller each, the same in all but the type. */
  readonly type: ResourceType
  /** Reaches the sinks that users name. */
  readonly http: Http
  /** How people are told of deletions. Without it, Cleaners with `spec.warn` keep everything. */
  readonly notices?: Notices
  /** Posts a CloudEvent to a sink. Defaults to `sendEvent`. */
  readonly send?: CleanerPorts['send']
  /** Transactions of the embedded server's store, where it runs in this process. Defaults to requests. */
  readonly transact?: Transact | undefined
}

/** Reconciles the Cleaners of one kind: waits for their TTL, watches their targets, deletes what they ask for. */
export function cleanerController(options: CleanerOptions): Controller {
  return new CleanerReconciler(options).controller
}

class CleanerReconciler {
  readonly controller: Controller
  readonly #ports: CleanerPorts
  readonly #cleaners: Informer
  readonly #watches: TargetWatches
  readonly #finalizers: Finalizers
  readonly #transact: Transact
  readonly #together: DepartTogether
  /** Cleaners with a target whose kind the cluster does not serve; reconciled when a CustomResourceDefinition changes. */
  readonly #awaitingKind = new Map<string, Key>()

  constructor(options: CleanerOptions) {
    const { client, informers, door, events, actAs, ports, type, http, send, transact, notices = noNotices } = options
    this.controller = new Controller({
      name: type.group === sojournGroup.group ? 'cleaner' : `cleaner-${type.kind.toLowerCase()}`,
      reconcile: (key) => this.#reconcile(key),
      ports,
      concurrency: transact ? 256 : 64,
    })
    this.#ports = {
      client,
      door,
      events,
      actAs,
      type,
      notices,
      log: ports.log,
      clock: ports.clock,
      enqueue: (self) => this.#enqueue(self),
      expect: (written) => this.controller.expect(keyOf(written, client.cluster), written.metadata.resourceVersion),
      send: send ?? ((sink, event) => sendEvent(http, sink, event)),
    }
    this.#cleaners = informers.open(client, type)
    this.#watches = new TargetWatches({ client, informers }, (key) => this.controller.enqueue(key))
    this.#finalizers = new Finalizers(this.#ports)
    const { clock, log } = ports
    this.#transact = transact ?? transactOverApi(client)
    this.#together = new DepartTogether({ door, transact: this.#transact, clock, events, log })
    this.#subscribe(informers)
  }

  /** Observe, decide, act. A deletion is decided twice: from the caches, then from what the API server says itself. */
  async #reconcile(key: Key): Promise<Outcome> {
    const self = this.#cleaners.get(key.namespace, key.name)
    if (!self) return this.#forget(key)
    if (self.metadata.deletionTimestamp) {
      this.#watches.set(key, [])
      return this.#finalizers.run(self)
    }
    const reading = readModel(self)
    if (isCommitted(self) && 'model' in reading) return deleteSelf(this.#ports, self, reading.model)
    const { client, clock } = this.#ports
    const actor = actorOf(this.#ports, self)
    const cached = await observeCached({ client, clock, watches: this.#watches }, { self, reading, actor })
    // A cache that is still being filled proves nothing; it enqueues the Cleaner once it is synced.
    if (!cached) return settled
    const decision = decide(cached, clock.now())
    if (decision.do !== 'delete') return this.#report(key, cached, decision)
    const { isAtomic } = this.#transact
    const plan = await planTogether(this.#ports, { self, model: decision.model, actor, isAtomic })
    if (plan && (await this.#together.carryOut(plan))) return settled
    const live = await observeLive(client, { self, reading, actor })
    const confirmed = decide(live, clock.now())
    return confirmed.do === 'delete' ? commit(this.#ports, live, confirmed) : this.#report(key, live, confirmed)
  }

  #report(key: Key, observed: Observed, decision: Decision): Promise<Outcome> {
    if (decision.because === 'kind-not-found') this.#awaitingKind.set(keyToString(key), key)
    return decision.do === 'tell' ? tell(this.#ports, observed, decision) : report(this.#ports, observed, decision)
  }

  #forget(key: Key): Outcome {
    this.#watches.set(key, [])
    this.#awaitingKind.delete(keyToString(key))
    return settled
  }

  #subscribe(informers: Informers): void {
    const { client, door } = this.#ports
    const definitions = informers.open(client, customResourceDefinitions, { metadataOnly: true })
    definitions.subscribe(({ initial }) => !initial && this.#retryAwaitingKind())
    this.controller.watch(this.#cleaners, ({ object, initial }) => (initial ? [] : [keyOf(object, client.cluster)]))
    // After a start, perhaps days after the last one, Cleaners are reconciled in the order in which they expired.
    this.#cleaners.whenSynced().then(
      () => {
        for (const self of byExpiry(this.#cleaners.list()))
          this.controller.enqueue(keyOf(self, client.cluster), 'initial')
      },
      () => {},
    )
    door.onChange(() => {
      for (const self of this.#cleaners.list()) if (isHeld(self)) this.#enqueue(self)
    })
  }

  #retryAwaitingKind(): void {
    this.#ports.client.discovery.forget()
    for (const key of this.#awaitingKind.values()) this.controller.enqueue(key)
    this.#awaitingKind.clear()
  }

  #enqueue(self: StoredObject): void {
    this.controller.enqueue(keyOf(self, this.#ports.client.cluster))
  }
}

const noNotices: Notices = {
  openChannel: () => {
    throw new Error('this process sends no notices')
  },
  publicUrl: () => undefined,
  linkKey: () => Promise.reject(new Error('this process sends no notices')),
}

/** Earliest expiry first; Cleaners whose expiry cannot be read come last. */
function byExpiry(cleaners: readonly StoredObject[]): readonly StoredObject[] {
  const expiryAt = (object: StoredObject) => {
    const { ttl } = (object.spec ?? {}) as { ttl?: unknown }
    const ttlMs = typeof ttl === 'string' ? parseLongDuration(ttl) : undefined
    return (parseTime(object.metadata.creationTimestamp) ?? Infinity) + (ttlMs ?? Infinity)
  }
  const sorted = cleaners.map((object) => ({ object, at: expiryAt(object) }))
  sorted.sort((left, right) => (left.at < right.at ? -1 : left.at > right.at ? 1 : 0))
  return sorted.map(({ object }) => object)
}
