import { namespaces } from '../../../kube/core-types.ts'
import { bond, inUseLabel, type Bond } from '../../../apis/bond.ts'
import { grants, guardedNamespace, keptNamespace } from '../../../apis/bond-guard.ts'
import type { Client } from '../../../client/client.ts'
import { sentenceOf } from '../../../departures/door/because.ts'
import type { Door } from '../../../departures/door/door.ts'
import { recordNeeded } from '../../../departures/records/record-leaving.ts'
import { kubeSubject } from '../../../departures/subjects/subject.ts'
import { keyOf, type Key } from '../../../kube/key.ts'
import { refOf, type ResourceType, type StoredObject } from '../../../kube/object.ts'
import { deepEqual } from '../../../kube/patch.ts'
import { ignoring, isStatusError } from '../../../kube/status-error.ts'
import { Controller, type ControllerPorts } from '../../../runtime/controller/controller.ts'
import type { EventRecorder } from '../../../runtime/observability/event-recorder.ts'
import type { Informer } from '../../../runtime/cache/informer.ts'
import type { Informers } from '../../../runtime/cache/informers.ts'
import { settled, wakeAt, type Outcome } from '../../../runtime/controller/outcome.ts'
import { markDependency, markNamespace, setBondFinalizer, unblockOwners, type Dependency } from './bond-act.ts'
import { decideBond, type Mark } from './bond-decide.ts'
import { statusOf, type BondFindings } from './bond-status.ts'
import { isIdle } from './edges-of-bonds.ts'
import { BondObserver, type FoundDependency } from './bond-observe.ts'
import { withTimeout } from './with-timeout.ts'
import type { BondEdges } from '../graph/bond-edges.ts'

export interface BondOptions {
  /** Where the Bonds are. */
  readonly client: Client
  readonly informers: Informers
  readonly door: Door
  readonly events: EventRecorder
  readonly ports: ControllerPorts
  /** The client of another cluster; undefined while it cannot be reached. */
  readonly clusterClient?: (cluster: string) => Client | undefined
  /** Why a cluster cannot be reached, for whoever waits for it. */
  readonly whyUnreachable?: (cluster: string) => string
  /** Calls with a cluster that can be reached again, or no longer. */
  readonly onClusterChange?: (listener: (cluster: string) => void) => void
  /** Whether what Bonds guard needs a label, for the cluster's admission policy. Defaults to no: the embedded server asks Bonds itself. */
  readonly guards?: boolean
  /** Where Bonds are kept as edges, for previews and cycles. */
  readonly bondEdges?: BondEdges
  /** Which uids go in a circle with one that leaves. Defaults to none. */
  readonly cycleOf?: (uid: string) => ReadonlySet<string>
}

/** Looks after Bonds: pins, holds, lets follow, lets go. */
export function bondController(options: BondOptions): Controller {
  const { client, informers, door, events, ports, clusterClient, whyUnreachable, bondEdges, guards = false } = options
  const cycleOf = options.cycleOf ?? (() => new Set<string>())
  const bonds = informers.open<Bond>(client, bond.type, { indexes: { guards: guardedNamespaces } })
  const namespaceInformer = informers.open(client, namespaces, { metadataOnly: true, indexes: { mark: marks } })
  const controller = new Controller({ name: 'bonds', reconcile, ports, concurrency: 8 })
  /** Caches of the kinds that Bonds speak of in this cluster. */
  const watched = new Map<string, Informer>()
  const observer = new BondObserver({
    client,
    clock: ports.clock,
    onType: watch,
    asksBonds: !guards,
    ...(clusterClient ? { clusterClient } : {}),
    ...(whyUnreachable ? { whyUnreachable } : {}),
  })
  controller.watch(bonds)
  controller.watch(namespaceInformer, ({ object, initial }) =>
    initial
      ? []
      : bonds
          .list()
          .filter(({ spec, status }) =>
            [spec.dependency.namespace, status?.dependencyNamespace].includes(object.metadata.name),
          )
          .map((found) => keyOf(found)),
  )
  options.onClusterChange?.((cluster) => {
    for (const found of bonds.list()) if (found.spec.dependency.cluster === cluster) controller.enqueue(keyOf(found))
  })
  return controller

  async function reconcile(key: Key): Promise<Outcome> {
    const self = bonds.get(key.namespace, key.name)
    if (!self) {
      bondEdges?.unbind(nameOf(key))
      await markNamespaces()
      return settled
    }
    const dependents = await observer.dependents(self)
    const found = await observer.dependency(self)
    const { isGranted } = found
    const isLeaving = found.fact.is === 'present' && found.fact.isMarked
    const decision = decideBond({
      spec: self.spec,
      phase: self.status?.phase,
      isMarked: self.metadata.deletionTimestamp !== undefined,
      pinnedUid: self.spec.dependency.uid ?? self.status?.dependencyUid,
      dependency: found.fact,
      dependents,
      isGranted,
      namespace: self.metadata.namespace ?? '',
      origin: found.origin,
      denial: found.denial,
      ring: isLeaving ? cycleOf(found.object?.metadata.uid ?? '') : new Set(),
    })
    tie(key, self, { decision, dependents, found })
    const current = await writeStatus(key, self, { decision, dependents, found })
    return current ? carryOut(current, { decision, dependents, found }) : settled
  }

  async function carryOut(self: Bond, { decision, dependents, found }: BondFindings): Promise<Outcome> {
    const isMarked = self.metadata.deletionTimestamp !== undefined
    const { object, type, home, origin, isGranted } = found
    // First the Bond's own finalizer: what it marks elsewhere must not outlive it.
    if (decision.phase === 'Active' && isGranted && self.spec.onDelete !== 'Orphan' && !isMarked)
      if (!(await setBondFinalizer(client, self, true))) return settled
    let isMarkedAnew = false
    const marking = async () => {
      if (home && object && type && decision.mark)
        isMarkedAnew = await mark({ home, type, object, origin, space: found.space }, decision.mark, self)
      await markNamespaces(self)
      if (home && found.space && (await markSpace({ home, object: found.space, origin }, self))) isMarkedAnew = true
    }
    const isRefused = await refused(self, () => (origin === '' ? marking() : withTimeout(ports.clock, marking)))
    if (isMarked && decision.phase === 'Active') await unblockOwners(client, self)
    if (isMarked && decision.phase === 'Released' && !isRefused) await setBondFinalizer(client, self, false)
    if (decision.removesDependents && dependents.are === 'known')
      return removeDependents(self, dependents.objects, found)
    if (isRefused) return wakeAt(ports.clock.now() + 60_000)
    if (decision.retry) return wakeAt(ports.clock.now() + 15_000)
    if (!self.spec.dependency.cluster) return settled
    // Another cluster is not watched, but asked now and then; soon where we have just put our mark.
    return wakeAt(ports.clock.now() + (isMarkedAnew ? 1000 : 30_000))
  }

  /** Whether marks could not be put on or taken off for want of a right to it; who can give that is told. */
  async function refused(self: Bond, marking: () => Promise<void>): Promise<boolean> {
    try {
      await marking()
      return false
    } catch (error) {
      if (!isStatusError(error, 'Forbidden')) throw error
      events.record(self, { type: 'Warning', reason: 'MarkRefused', message: error.message })
      return true
    }
  }

  /** Puts one mark of a Bond on what it needs and takes off the others, unless other Bonds want them. */
  async function mark(dependency: Dependency, wanted: Mark, self: Bond): Promise<boolean> {
    const { uid } = dependency.object.metadata
    const rivals = othersThan(self).filter(
      (other) => other.status?.dependencyUid === uid && isInForce(other) && leavesSameMarks(other, self),
    )
    const others = await permittedBonds(dependency, rivals)
    // Where the server asks Bonds itself it needs no mark.
    const isMarked = guards || dependency.origin !== ''
    const denying = isMarked ? others.filter(({ spec }) => spec.onDelete === 'Deny') : []
    return markDependency(dependency, {
      mark: wanted,
      isHeldByOthers: others.some(({ spec }) => spec.onDelete === 'Cascade' || spec.onDelete === 'Hold'),
      denying: wanted === 'guard' ? [self, ...denying] : denying,
    })
  }

  /** Those that may hold up the deletion of something: what others say of themselves gives them no power over it. */
  async function permittedBonds(
    { home, object, origin, space }: Dependency,
    candidates: readonly Bond[],
  ): Promise<readonly Bond[]> {
    const { namespace } = object.metadata
    const isAtHome = (each: Bond) => origin === '' && namespace !== undefined && each.metadata.namespace === namespace
    if (candidates.every(isAtHome)) return candidates
    const grantor = namespace ? (space ?? (await home.get<StoredObject>(namespaces, { name: namespace }))) : object
    return candidates.filter((each) => isAtHome(each) || grants(grantor, each.metadata.namespace, origin))
  }

  /** Every namespace says for which Bonds it must stay whole; the cache may not have seen the newest word of this one yet. */
  async function markNamespaces(self?: Bond): Promise<void> {
    if (!guards) return
    const own = self && guardedNamespace(self)
    const concerned = new Set(namespaceInformer.byIndex('mark', 'in-use').map(({ metadata }) => metadata.name))
    for (const name of own === undefined ? concerned : concerned.add(own)) {
      const namespace = namespaceInformer.get('', name)
      const others = bonds.byIndex('guards', name).filter(({ metadata }) => metadata.uid !== self?.metadata.uid)
      const bound = self && own === name ? [...others, self] : others
      if (namespace) await markNamespace({ home: client, object: namespace, origin: '' }, bound)
    }
  }

  /** The same for the one namespace of another cluster that a Bond speaks of: for those Bonds only that it has given leave. */
  async function markSpace(space: Omit<Dependency, 'type'>, self: Bond): Promise<boolean> {
    const { object, origin } = space
    const keeps = (each: Bond) =>
      isSameCluster(each, self) &&
      keptNamespace(each) === object.metadata.name &&
      grants(object, each.metadata.namespace, origin)
    return markNamespace(space, [...othersThan(self), self].filter(keeps))
  }

  function othersThan({ metadata }: Bond): readonly Bond[] {
    return bonds.list().filter((other) => other.metadata.uid !== metadata.uid)
  }

  /** Lets those go who need something, in the same manner as that: what it also owns must not depend on who tells it first. */
  async function removeDependents(
    self: Bond,
    objects: readonly StoredObject[],
    { object: needed, type: neededType, home }: FoundDependency,
  ): Promise<Outcome> {
    const propagation = needed?.metadata.finalizers?.includes('foregroundDeletion') ? 'Foreground' : 'Background'
    const follows = self.spec.dependency.uid ?? self.status?.dependencyUid
    // With its record they come back as they went, together. One that did not wait was recorded by our own server as it went.
    if (needed && neededType && home === client && needed.metadata.uid === follows)
      await recordNeeded(client, ports.clock, { type: neededType, object: needed })
    let again: number | undefined
    for (const object of objects) {
      if (object.metadata.deletionTimestamp) continue
      const type = await client.discovery.typeOf(object)
      if (!type) continue
      const answer = await door.depart({
        subject: kubeSubject(client, type, refOf(object)),
        uid: object.metadata.uid,
        because: 'requirement-gone',
        propagation,
        follows,
        by: { system: 'collector', object: refOf(self) },
      })
      if (answer.result === 'held') again = Math.min(again ?? Infinity, answer.until ?? ports.clock.now() + 60_000)
      if (answer.result === 'refused')
        events.record(self, {
          type: 'Warning',
          reason: 'DependentSpared',
          message: `${object.kind} ${object.metadata.name} stays: ${sentenceOf(answer)}`,
        })
    }
    return again === undefined ? wakeAt(ports.clock.now() + 5000) : wakeAt(again)
  }

  /** The Bond as an edge of the graph: with what it means now. */
  function tie(
    key: Key,
    { metadata, spec, status }: Bond,
    { decision, dependents, found: { isGranted } }: BondFindings,
  ): void {
    const dependency = decision.pin ?? spec.dependency.uid ?? status?.dependencyUid
    if (dependents.are === 'unknown') return bondEdges?.unbind(nameOf(key))
    if (dependency === undefined || isIdle(decision, dependents.objects.length)) return bondEdges?.unbind(nameOf(key))
    if (spec.dependency.cluster || spec.onDelete === 'Orphan') return bondEdges?.unbind(nameOf(key))
    bondEdges?.bind({
      bond: nameOf(key),
      uid: metadata.uid,
      dependency,
      dependents: dependents.objects.map(({ metadata }) => metadata.uid),
      cascades: spec.onDelete === 'Cascade',
      holds: isGranted && spec.onDelete !== 'Deny',
      denies: isGranted && spec.onDelete === 'Deny',
    })
  }

  /** The Bond with its status as it is now; undefined when it is gone. */
  async function writeStatus(key: Key, self: Bond, facts: BondFindings): Promise<Bond | undefined> {
    const status = statusOf(self, facts, ports.clock.now())
    if (deepEqual(self.status ?? {}, status)) return self
    const written = await client
      .update<Bond>(bond.type, { ...self, status }, { subresource: 'status' })
      .catch(ignoring('NotFound'))
    if (written) controller.expect(key, written.metadata.resourceVersion)
    return written
  }

  /** Follows a kind that Bonds speak of; any change of it may concern them. */
  function watch(type: ResourceType): void {
    const name = `${type.plural}.${type.group}`
    if (watched.has(name)) return
    const informer = informers.open(client, type, { metadataOnly: true })
    watched.set(name, informer)
    informer.subscribe(({ object, initial }) => {
      if (initial) return
      for (const candidate of bonds.list()) if (speaksOf(candidate, type, object)) controller.enqueue(keyOf(candidate))
    })
  }
}

/** Whether a Bond holds or refuses something at the moment. */
function isInForce({ status }: Bond): boolean {
  return status?.phase !== 'Released' && status?.phase !== 'Pending' && (status?.dependents ?? 0) > 0
}

/** Whether what two Bonds need is in the same cluster, which may go by several names. */
function isSameCluster(one: Bond, other: Bond): boolean {
  const ids = [one, other].map(({ status }) => status?.dependencyCluster)
  if (ids.every((each) => each !== undefined)) return ids[0] === ids[1]
  return one.spec.dependency.cluster === other.spec.dependency.cluster
}

/** Whether two Bonds mark what they need alike: those of this cluster, or those of others. */
function leavesSameMarks({ spec: one }: Bond, { spec: other }: Bond): boolean {
  return Boolean(one.dependency.cluster) === Boolean(other.dependency.cluster)
}

function nameOf({ namespace, name }: Key): string {
  return `${namespace}/${name}`
}

function guardedNamespaces(found: Bond): readonly string[] {
  const namespace = guardedNamespace(found)
  return namespace === undefined ? [] : [namespace]
}

function marks({ metadata }: StoredObject): readonly string[] {
  return metadata.labels?.[inUseLabel] === undefined ? [] : ['in-use']
}

function speaksOf({ spec, metadata }: Bond, type: ResourceType, { metadata: changed }: StoredObject): boolean {
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
