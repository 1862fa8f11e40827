import { bond, type Bond } from '../../../apis/bond.ts'
import type { Client } from '../../../client/client.ts'
import { sentenceOf } from '../../../departures/door/because.ts'
import type { SystemPorts } from '../../../departures/door/door.ts'
import { RecordWriter } from '../../../departures/records/record-writer.ts'
import { kubeSubject } from '../../../departures/subjects/subject.ts'
import { keyOf, type Key } from '../../../kube/key.ts'
import { refOf, type KubeObject, type ResourceType, type StoredObject } from '../../../kube/object.ts'
import { deepEqual } from '../../../kube/patches/patch.ts'
import { ignoring, isStatusError } from '../../../kube/status-error.ts'
import { Controller } from '../../../runtime/controller/controller.ts'
import type { Change } from '../../../runtime/cache/informer.ts'
import { settled, wakeAt, type Outcome } from '../../../runtime/controller/outcome.ts'
import type { Actor, ActsFor } from '../../../tenancy/act-as.ts'
import { setBondFinalizer, unblockOwners, BondMarker } from './bond-marker.ts'
import { decideBond, type BondDecision, type DependentsFact, statusOf, type BondFindings } from './bond-decide.ts'
import { isIdle } from './edges-of-bonds.ts'
import { BondObserver, type FoundDependency, withTimeout } from './bond-observe.ts'
import type { BondEdges } from '../graph/bond-edges.ts'

export interface BondOptions extends SystemPorts {
  /** Whose rights bound what a Bond deletes. */
  readonly actAs: ActsFor
  /** The client of another cluster; undefined while it cannot be reached. */
  readonly clusterClient?: (cluster: string) => Client | undefined
  /** Why a cluster cannot be reached, for the Bond's condition. */
  readonly whyUnreachable?: (cluster: string) => string
  /** Calls the listener with a cluster whose reachability changed. */
  readonly onClusterChange?: (listener: (cluster: string) => void) => void
  /** Whether objects that Bonds protect need a label, for the cluster's admission policy. Defaults to false: the embedded server asks Bonds itself. */
  readonly needsLabels?: boolean
  /** Where Bonds are kept as edges, for previews and cycles. */
  readonly bondEdges?: BondEdges
  /** The uids that wait for each other in a cycle with an object that is being deleted. Defaults to none. */
  readonly cycleOf?: (uid: string) => ReadonlySet<string>
}

/** The controller of Bonds: pins the dependency, marks it, deletes dependents that must follow it, and takes its marks off again. */
export function bondController(options: BondOptions): Controller {
  return new BondReconciler(options).controller
}

/** A right that is granted counts within this time. */
const refusedRetryMs = 60_000

class BondReconciler {
  readonly controller: Controller
  readonly #options: BondOptions
  readonly #marker: BondMarker
  readonly #observer: BondObserver
  readonly #writer: RecordWriter
  /** Kinds of this cluster that Bonds refer to, by `plural.group`. */
  readonly #watched = new Set<string>()

  constructor(options: BondOptions) {
    const { client, informers, ports, clusterClient, whyUnreachable, needsLabels = false } = options
    this.#options = options
    this.#writer = new RecordWriter({ client, keys: options.door.keys })
    this.#marker = new BondMarker({ client, informers, needsLabels })
    this.controller = new Controller({
      name: 'bonds',
      reconcile: (key) => this.#reconcile(key),
      ports,
      concurrency: 8,
    })
    this.#observer = new BondObserver({
      client,
      clock: ports.clock,
      onType: (type) => this.#watch(type),
      asksBonds: !needsLabels,
      refusalToRead: (self, access) => this.#actorOf(self, { readsElsewhere: true }).refusalOf(access),
      ...(clusterClient ? { clusterClient } : {}),
      ...(whyUnreachable ? { whyUnreachable } : {}),
    })
    this.controller.watch(this.#marker.bonds)
    this.controller.watch(this.#marker.namespaces, (change) => this.#bondsInto(change))
    options.onClusterChange?.((cluster) => this.#enqueueWhere(({ spec }) => spec.dependency.cluster === cluster))
  }

  async #reconcile(key: Key): Promise<Outcome> {
    const self = this.#marker.bonds.get(key.namespace, key.name)
    if (!self) {
      this.#options.bondEdges?.delete(nameOf(key))
      await this.#marker.markNamespaces()
      return settled
    }
    const dependents = await this.#observer.dependents(self)
    const found = await this.#observer.dependency(self)
    const findings = { decision: this.#decide(self, dependents, found), dependents, found }
    this.#updateEdge(key, self, findings)
    const current = await this.#writeStatus(key, self, findings)
    return current ? this.#carryOut(current, findings) : settled
  }

  #decide(self: Bond, dependents: DependentsFact, found: FoundDependency): BondDecision {
    const { spec, status, metadata } = self
    const isDeleted = found.fact.is === 'present' && found.fact.isMarked
    return decideBond({
      spec,
      phase: status?.phase,
      isMarked: metadata.deletionTimestamp !== undefined,
      pinnedUid: spec.dependency.uid ?? status?.dependencyUid,
      dependency: found.fact,
      dependents,
      isGranted: found.isGranted,
      namespace: metadata.namespace ?? '',
      origin: found.origin,
      denial: found.denial,
      cycle: (isDeleted && this.#options.cycleOf?.(found.object?.metadata.uid ?? '')) || new Set(),
    })
  }

  async #carryOut(self: Bond, { decision, dependents, found }: BondFindings): Promise<Outcome> {
    const { client } = this.#options
    const isMarked = self.metadata.deletionTimestamp !== undefined
    // The Bond's own finalizer comes first: it keeps the Bond until its marks elsewhere are taken off.
    if (decision.phase === 'Active' && found.isGranted && self.spec.onDelete !== 'Orphan' && !isMarked)
      if (!(await setBondFinalizer(client, self, true))) return settled
    const marking = await this.#mark(self, decision, found)
    const isRefused = marking === 'refused'
    if (isMarked && decision.phase === 'Active') await unblockOwners(client, self)
    if (isMarked && decision.phase === 'Released' && !isRefused) await setBondFinalizer(client, self, false)
    if (decision.removesDependents && dependents.are === 'known')
      return this.#deleteDependents(self, dependents.objects, found)
    if (isRefused) return this.#after(60_000)
    if (decision.retry) return this.#after(15_000)
    if (!self.spec.dependency.cluster) return settled
    // Another cluster is polled, not watched: soon after our own mark has changed there.
    return this.#after(marking === 'changed' ? 1000 : 30_000)
  }

  /** Brings all marks in line with the decision. A refusal is reported as an Event, so that an administrator can grant the right. */
  async #mark(
    self: Bond,
    { mark }: BondDecision,
    { home, object, type, origin, namespaceObject }: FoundDependency,
  ): Promise<'changed' | 'unchanged' | 'refused'> {
    const { events, ports } = this.#options
    const marker = this.#marker
    const work = async () => {
      // The namespace first: once the object is free it may go, and its absence has to be confirmed before the rest is taken off.
      const isSpaceMarked =
        home && namespaceObject
          ? await marker.markRemoteNamespace({ home, object: namespaceObject, origin }, self)
          : false
      await marker.markNamespaces(self)
      if (!home || !object || !type || !mark) return isSpaceMarked
      return (await marker.mark({ home, type, object, origin, namespaceObject }, mark, self)) || isSpaceMarked
    }
    try {
      return (await (origin === '' ? work() : withTimeout(ports.clock, work))) ? 'changed' : 'unchanged'
    } catch (error) {
      if (!isStatusError(error, 'Forbidden')) throw error
      events.record(self, { type: 'Warning', reason: 'MarkRefused', message: error.message })
      return 'refused'
    }
  }

  /** Deletes the dependents with the propagation policy of their dependency: what that one also owns must not depend on which deletion comes first. */
  async #deleteDependents(self: Bond, objects: readonly StoredObject[], found: FoundDependency): Promise<Outcome> {
    const { client, ports } = this.#options
    const { object: needed, type: neededType, home } = found
    const follows = self.spec.dependency.uid ?? self.status?.dependencyUid
    // A restore of this record brings the dependents back, too. A dependency that did not wait was recorded by the embedded server when it was removed.
    if (needed && neededType && home === client && needed.metadata.uid === follows)
      await this.#writer.recordNeeded(neededType, needed, ports.clock.now())
    const propagation = needed?.metadata.finalizers?.includes('foregroundDeletion') ? 'Foreground' : 'Background'
    let retryAt: number | undefined
    for (const object of objects) {
      if (object.metadata.deletionTimestamp) continue
      const until = await this.#deleteDependent(self, object, { propagation, follows })
      if (until !== undefined) retryAt = Math.min(retryAt ?? Infinity, until)
    }
    return retryAt === undefined ? this.#after(5000) : wakeAt(retryAt)
  }

  /** Asks the door to delete a dependent. Returns when to ask again if the door holds it. */
  async #deleteDependent(
    self: Bond,
    object: StoredObject,
    {
      propagation,
      follows,
    }: { readonly propagation: 'Foreground' | 'Background'; readonly follows: string | undefined },
  ): Promise<number | undefined> {
    const { client, door, ports } = this.#options
    const type = await client.discovery.typeOf(object)
    if (!type) return undefined
    const refusal = await this.#refusalOf(self, type, object)
    if (refusal !== undefined) {
      this.#reportKept(self, object, refusal)
      return ports.clock.now() + refusedRetryMs
    }
    const answer = await door.depart({
      subject: kubeSubject(client, type, refOf(object)),
      uid: object.metadata.uid,
      because: 'requirement-gone',
      propagation,
      follows,
      by: { system: 'collector', object: refOf(self) },
    })
    if (answer.result === 'refused') this.#reportKept(self, object, sentenceOf(answer))
    return answer.result === 'held' ? (answer.until ?? ports.clock.now() + 60_000) : undefined
  }

  /** Why the Bond's creator may not have the dependent deleted; rights may have changed since the Bond was written. */
  async #refusalOf(self: Bond, type: ResourceType, { metadata }: StoredObject): Promise<string | undefined> {
    const { group, plural: resource } = type
    const access = { verb: 'delete', group, resource, namespace: metadata.namespace ?? '', name: metadata.name }
    return (await this.#actorOf(self).refusalOf(access))?.message
  }

  #actorOf(self: Bond, reach: Parameters<ActsFor['for']>[1] = {}): Actor {
    return this.#options.actAs.for(self as unknown as KubeObject, reach)
  }

  #reportKept(self: Bond, object: StoredObject, why: string): void {
    const message = `${object.kind} ${object.metadata.name} is kept: ${why}`
    this.#options.events.record(self, { type: 'Warning', reason: 'DependentSpared', message })
  }

  /** Keeps the Bond as an edge of the graph while it binds something in this cluster. */
  #updateEdge(key: Key, { metadata, spec, status }: Bond, { decision, dependents, found }: BondFindings): void {
    const { bondEdges } = this.#options
    const dependency = decision.pin ?? spec.dependency.uid ?? status?.dependencyUid
    const isEdge =
      dependents.are === 'known' &&
      dependency !== undefined &&
      !isIdle(decision, dependents.objects.length) &&
      !spec.dependency.cluster &&
      spec.onDelete !== 'Orphan'
    if (!isEdge) return bondEdges?.delete(nameOf(key))
    bondEdges?.set({
      bond: nameOf(key),
      uid: metadata.uid,
      dependency,
      dependents: dependents.objects.map(({ metadata: { uid } }) => uid),
      cascades: spec.onDelete === 'Cascade',
      holds: found.isGranted && spec.onDelete !== 'Deny',
      denies: found.isGranted && spec.onDelete === 'Deny',
    })
  }

  /** Returns the Bond with its new status; undefined when it is gone. */
  async #writeStatus(key: Key, self: Bond, findings: BondFindings): Promise<Bond | undefined> {
    const { client, ports } = this.#options
    const status = statusOf(self, findings, ports.clock.now())
    if (deepEqual(self.status ?? {}, status)) return self
    const written = await client.updateStatus<Bond>(bond.type, self, status).catch(ignoring('NotFound'))
    if (written) this.controller.expect(key, written.metadata.resourceVersion)
    return written
  }

  /** Watches a kind that Bonds refer to; a change enqueues the Bonds it may concern. */
  #watch(type: ResourceType): void {
    const { client, informers } = this.#options
    const name = `${type.plural}.${type.group}`
    if (this.#watched.has(name)) return
    this.#watched.add(name)
    informers.open(client, type, { metadataOnly: true }).subscribe(({ object, initial }) => {
      if (!initial) this.#enqueueWhere((candidate) => refersTo(candidate, type, object))
    })
  }

  #enqueueWhere(isConcerned: (candidate: Bond) => boolean): void {
    for (const found of this.#marker.bonds.list()) if (isConcerned(found)) this.controller.enqueue(keyOf(found))
  }

  /** The Bonds whose dependency is in a namespace that changed: its permissions may have. */
  #bondsInto({ object, initial }: Change): readonly Key[] {
    if (initial) return []
    const { name } = object.metadata
    return this.#marker.bonds
      .list()
      .filter(({ spec, status }) => [spec.dependency.namespace, status?.dependencyNamespace].includes(name))
      .map((found) => keyOf(found))
  }

  #after(delayMs: number): Outcome {
    return wakeAt(this.#options.ports.clock.now() + delayMs)
  }
}

function nameOf({ namespace, name }: Key): string {
  return `${namespace}/${name}`
}

/** Whether an object may be the dependency or a dependent of a Bond. */
function refersTo({ spec, metadata }: Bond, type: ResourceType, { metadata: changed }: StoredObject): boolean {
  const { dependency, dependent } = spec
  const isKind = (kind: string) => kind.toLowerCase() === type.kind.toLowerCase()
  if (
    isKind(dependency.kind) &&
    dependency.name === changed.name &&
    (!type.namespaced || (dependency.namespace ?? metadata.namespace) === changed.namespace)
  )
    return true
  if (!isKind(dependent.kind) || (type.namespaced && metadata.namespace !== changed.namespace)) return false
  return dependent.name === undefined || dependent.name === changed.name
}
